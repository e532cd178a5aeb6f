"""`thimble prepare`: whatever conversation goes in, what comes out is valid, within the budget, and told truly."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.conversations import Entry, conversations, objections
from tests.support.embedding import Counting
from tests.support.estimate import EstimateCounter
from tests.support.histories import LIMITS, Story, TinyCounter, outcome, react40, sound_histories
from tests.support.specs import EVERY, SUMMARISERS, Summariser, specs
from thimble.agent.budget import Budget
from thimble.agent.errors import BudgetError, UsageError
from thimble.agent.side import SideModel
from thimble.models import chat
from thimble.repl.cli import prepare as filter
from thimble.strategies.spec import make_strategy

every_strategy = pytest.mark.parametrize("name", EVERY)


def prepared(document: object, spec: str, limit: int, answer: str = "short") -> dict[str, Any]:
    """What the filter makes of a document, counted four characters a token."""
    side = SideModel(Summariser(SUMMARISERS[answer]), Counting())
    made = filter.read_document(json.dumps(document).encode())
    counter = TinyCounter()
    allowed = Budget(limit, counter, counter.overhead(made.tools))
    result = filter.prepare_document(made, spec, make_strategy(spec, side), allowed, side)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    return result


def written(story: Sequence[Any]) -> list[Entry]:
    """A history as another program would have written it, with keys of its own."""
    return [{**chat.write_message(message), "x_number": number} for number, message in enumerate(story)]


# --- laws -------------------------------------------------------------------------------------------------------------


@every_strategy
@given(st.data())
def test_prepare_output_is_valid_within_the_budget_and_told_truly(name: str, data: st.DataObject) -> None:
    spec = data.draw(specs(name))
    entries = written(data.draw(sound_histories()))
    limit = data.draw(LIMITS)
    before = json.dumps(entries)
    try:
        result = prepared(entries, spec, limit)
    except BudgetError:
        return
    messages, report = result["messages"], result["report"]
    assert json.dumps(entries) == before
    assert objections(messages) == []
    assert "notes" not in report
    assert report["tokens_after"] == 3 + sum(map(TinyCounter().count, chat.read_messages(messages)))
    masks_all = any(part.split(":")[0] in ("hybrid", "observation-masking") for part in spec.split("+"))
    assert report["tokens_after"] <= report["tokens_before"] or masks_all  # a mask may be longer than its result
    assert report["tokens_after"] <= limit or spec.rpartition("+")[2] == "none"
    assert (report["strategy"], report["budget"]) == (spec, limit)
    check_fates(entries, messages, report)


def check_fates(entries: list[Entry], messages: list[Entry], report: dict[str, Any]) -> None:
    """Each message that went in has a fate, and what came out is what the fates say."""
    assert len(report["fates"]) == len(entries)
    shown = {entry["x_number"]: entry for entry in messages if "x_number" in entry}
    assert [at for at, entry in enumerate(messages) if "x_number" not in entry] == report["inserted"]
    assert list(shown) == sorted(shown)
    for entry, fate in zip(entries, report["fates"], strict=True):
        out = shown.get(entry["x_number"])
        if fate == "kept":
            assert json.dumps(out) == json.dumps(entry)
        elif fate == "dropped" or out is None:
            assert out is None
            assert fate in ("dropped", "summarised")
        else:
            assert out != entry
            assert {**out, "content": entry["content"]} == entry


@every_strategy
@given(st.data())
def test_any_conversation_comes_out_valid(name: str, data: st.DataObject) -> None:
    entries = data.draw(conversations())
    result = prepared(entries, data.draw(specs(name)), 2_000)
    assert objections(result["messages"]) == []
    assert len(result["report"]["fates"]) == len(entries)


@given(st.binary(max_size=40) | st.text('[]{}":,0user\\ ', max_size=40).map(str.encode))
def test_no_input_is_worse_than_a_usage_error(data: bytes) -> None:
    read = outcome(lambda: filter.read_document(data))
    assert isinstance(read, chat.Conversation) or (isinstance(read, UsageError) and read.fix)


# --- what it tells ----------------------------------------------------------------------------------------------------


def test_edits_are_what_a_session_would_have_made() -> None:
    entries = written(react40())
    assert prepared(entries, "none", 8_000)["report"]["edits"] == 0
    assert prepared(entries, "observation-masking:window=10,when=always", 80_000)["report"]["edits"] == 30
    rare = prepared(entries, "observation-masking", 8_000)["report"]
    assert 0 < rare["edits"] < 8
    assert rare["fates"].count("masked") > 25


def test_a_summary_is_folded_as_in_a_session(capsys: pytest.CaptureFixture[str]) -> None:
    result = prepared(written(react40()), "summary-buffer", 8_000)
    calls = [line for line in capsys.readouterr().err.splitlines() if "∑ summary asked of tiny" in line]
    assert len(calls) == result["report"]["edits"] > 1
    (at,) = result["report"]["inserted"]
    assert result["messages"][at]["role"] == "user"
    assert result["report"]["fates"].count("summarised") > 50


def test_a_broken_history_is_mended_with_notes(capsys: pytest.CaptureFixture[str]) -> None:
    story = written(Story().ask("?").turn(60, 60).answer("!").ask("??").messages)
    orphan = {"role": "tool", "tool_call_id": "gone", "content": "x", "x_number": 9}
    entries = [*story[1:4], *story[5:], story[0], orphan]
    result = prepared(entries, "none", 8_000)
    assert objections(result["messages"]) == []
    assert [entry["role"] for entry in result["messages"]] == [
        *("system", "user", "assistant", "tool", "tool", "assistant", "user")
    ]
    assert result["report"]["fates"] == [*["kept"] * 6, "dropped"]
    assert result["report"]["inserted"] == [4]
    assert result["report"]["notes"] == [
        "moved the system message to the front",
        "left out a result without a call",
        "filled in the missing result of read_article",
    ]
    system = len(story[0]["content"])
    assert (result["report"]["characters_mended"], result["report"]["characters_left_out"]) == (system + 1, 1)
    assert [line.strip(" !") for line in capsys.readouterr().err.splitlines()] == result["report"]["notes"]


def with_shell(turns: int, says: str = "OBSERVATION:") -> list[Entry]:
    """A run of an agent whose results are user messages."""
    entries: list[Entry] = [{"role": "user", "content": "Find the fault."}]
    for turn in range(turns):
        entries.append({"role": "assistant", "content": f"I look.\n```\ncat part{turn}.log\n```"})
        entries.append({"role": "user", "content": f"{says}\n" + f"part {turn} is ready\n" * 60, "x_number": turn})
    return entries


@pytest.mark.parametrize("spec", ["observation-masking", "offload", "compress", "hybrid", "thrifty"])
def test_observations_of_a_text_protocol_are_observations(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    entries, side = with_shell(12), SideModel(Summariser(SUMMARISERS["short"]), Counting())
    counter = EstimateCounter()
    document = filter.read_document(json.dumps(entries).encode())
    made = filter.prepare_document(document, spec, make_strategy(spec, side), Budget(2_000, counter), side)
    messages, report = made["messages"], made["report"]
    assert {entry["role"] for entry in messages} == {"user", "assistant"}
    assert not any("tool_calls" in entry for entry in messages)
    assert {*report["fates"][2:20:2]} & {"masked", "offloaded", "shortened", "summarised"}
    assert report["tokens_before"] == sum(map(counter.count, chat.read_messages(entries)))
    assert report["tokens_after"] == sum(map(counter.count, chat.read_messages(messages))) <= 2_000
    assert "! observations recognised in user messages: 12\n" in capsys.readouterr().err


@pytest.mark.parametrize(("spec", "said"), [("observation-masking", True), ("truncate", False)])
def test_a_strategy_of_observations_says_where_none_is_recognised(
    spec: str, said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    prepared(with_shell(12, "It prints:"), spec, 2_000)
    assert ("0 observations recognised: --observations PATTERN" in capsys.readouterr().err) == said


def test_a_pattern_says_what_an_observation_is() -> None:
    document = json.dumps(with_shell(3, "It prints:")).encode()
    assert [message.role for message in filter.read_document(document, "^It prints:").repaired.messages][2::2] == [
        "tool"
    ] * 3


def test_messages_of_one_turn_share_a_fate_and_notes_are_counted() -> None:
    calls = [{"id": id_, "type": "function", "function": {"name": "look", "arguments": "{}"}} for id_ in "abc"]
    split = [{"role": "assistant", "content": f"I look {call['id']}.", "tool_calls": [call]} for call in calls]
    results = [{"role": "tool", "tool_call_id": id_, "content": f"result {id_}"} for id_ in "abc"]
    result = prepared([{"role": "user", "content": "?"}, *split, *results], "none", 8_000)
    assert result["messages"][1]["content"] == "I look a.\nI look b.\nI look c."
    assert result["messages"][1]["tool_calls"] == calls
    assert result["messages"][2:] == results
    assert result["report"]["fates"] == ["kept"] * 7
    assert result["report"]["notes"] == ["moved a result up to its call (2 times)", "joined 3 messages of one turn"]


# --- whole processes --------------------------------------------------------------------------------------------------


def thimble(*arguments: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "thimble", "prepare", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=60)


def test_prepare_as_a_pipe() -> None:
    entries = written(react40())
    entries[1]["content"] = [
        {"type": "text", "text": "\x1b[31mé\ud800\x7f"},
        {"type": "image_url", "image_url": {"url": "x"}},
    ]
    run = thimble("--budget", "4000", stdin=b"\xef\xbb\xbf" + json.dumps({"messages": entries}).encode())
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout.count(b"\n") == 1
    assert all(0x20 <= byte < 0x7F for byte in run.stdout[:-1])
    result = json.loads(run.stdout)
    assert result["messages"][:2] == entries[:2]
    assert result["report"]["tokens_after"] <= 4_000 < result["report"]["tokens_before"]
    assert list(result["report"]) == [
        *("strategy", "budget", "tokens_before", "tokens_after", "fates", "inserted", "edits")
    ]


def test_what_a_strategy_of_ones_own_prints_and_counts_on_goes_to_standard_error(folder: Path) -> None:
    (folder / "mine.py").write_text(
        "tools = ('recall',)\ndef prepare(messages, budget):\n    print('here')\n    return messages\n"
    )
    run = thimble("--strategy", "./mine.py", stdin=b'[{"role": "user", "content": "?"}]')
    assert json.loads(run.stdout)["report"]["fates"] == ["kept"]
    assert (
        run.stderr == b"  your code prints: here\n"
        b"  ! the strategy needs the tool recall: your program must offer it to the model\n"
    )
