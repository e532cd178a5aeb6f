from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from tests.support.scripted import Reply, Scripted
from thimble.agent.errors import UsageError
from thimble.agent.messages import ToolCall
from thimble.agent.protocols import Text, Thinking, Usage
from thimble.repl.cli import headless
from thimble.session.journal.journal import Journal
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.session.totals import add_up

LOOK = (Text("I look."), ToolCall("c1", "list_articles", "{}"))


@pytest.fixture
def articles(folder: Path) -> Path:
    return folder / "articles"


def scripted(articles: Path, *steps: Reply, **settings: Any) -> Session:
    """A session whose model says these things."""
    session = Session(Settings(backend="reader", corpus=articles, files=articles, **settings))
    model = Scripted(steps)
    session.agent.backend = model
    session.agent.side.backend = model
    return session


def lines(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def answers(session: Session, prompts: Sequence[str], as_json: bool = False) -> int:
    return headless.answer(session, iter(prompts), as_json)


# ---- answers ----


def test_standard_output_is_the_answers_and_what_commands_print_in_their_order(
    articles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = scripted(articles, LOOK, "The first\nanswer.", "The second.\n\n", "Third.")
    assert answers(session, ["one?", "two?", "/budget 4000", "three?"]) == headless.DONE
    captured = capsys.readouterr()
    first, second, budget, third = captured.out.split("\n\n")
    assert (first, second, third) == ("The first\nanswer.", "The second.", "Third.\n")
    assert budget.startswith("The budget is 4,000")
    for told in ("I look.", "list_articles", "turns 2", "turns 1"):
        assert told in captured.err
        assert told not in captured.out
    assert session.agent.limit == 4000


def test_what_was_not_read_is_told_beside_the_words_of_the_model(
    articles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = scripted(articles, "So it is [made-up:3].", "That cannot be answered from here.")
    assert answers(session, ["one?"]) == headless.DONE
    captured = capsys.readouterr()
    assert captured.out == "So it is [made-up:3].\n"
    assert "turns 1 · from memory · ctx " in captured.err
    assert "  ! cited but not read: made-up\n" in captured.err
    assert answers(session, ["two?"]) == headless.REFUSED == 5
    captured = capsys.readouterr()
    assert captured.out == "That cannot be answered from here.\n"
    assert "from memory" not in captured.err
    assert session.agent.history[-3].content == "So it is [made-up:3]."


def test_no_answer_is_told_and_the_next_question_still_asked(
    articles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = scripted(articles, " \n", "Two.")
    assert answers(session, ["one?", "two?"]) == headless.NOT_ANSWERED
    captured = capsys.readouterr()
    assert captured.out == "Two.\n"
    assert "thimble: the model returned an empty answer\nfix: " in captured.err


# ---- commands ----


@pytest.mark.parametrize(
    ("line", "hint"), [("/budget 3", "500 to 2,000,000"), ("/etc/passwd is what?", "/help lists the commands")]
)
def test_a_wrong_command_is_never_sent_and_ends_it(
    articles: Path, capsys: pytest.CaptureFixture[str], line: str, hint: str
) -> None:
    session = scripted(articles)
    assert answers(session, [line, "never asked"]) == headless.USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert hint in captured.err.splitlines()[-1]
    assert session.agent.history == []


# ---- JSON Lines ----


def test_every_event_is_a_line_with_a_type(articles: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = scripted(articles, (Thinking("hm"), *LOOK), "The answer.")
    assert answers(session, ["one?"], as_json=True) == headless.DONE
    found = lines(capsys.readouterr().out)
    turn = ["preparing", "prepared"]
    assert [line["type"] for line in found] == [
        *("asked", *turn, "thinking", "text", "replied", "tool_called", "tool_returned"),
        *(*turn, "text", "replied", "answered", "session"),
    ]
    by_type = {line["type"]: line for line in found}
    assert by_type["asked"]["text"] == "one?"
    assert by_type["tool_returned"]["text"].startswith("1 article\n1. thimbles")
    assert by_type["tool_returned"]["call_id"] == by_type["tool_called"]["call_id"] == "c1"
    grounds = {"from_memory": False, "invented": [], "passage": ""}
    assert by_type["answered"] == {"type": "answered", "text": "The answer.", "ending": "answered", **grounds}
    sums = add_up(session.agent.ledger.calls)
    assert by_type["session"]["prompt_tokens"] == asdict(sums.prompt)
    assert by_type["session"]["turns"] == 2
    assert len(by_type["prepared"]["fates"]) == 4


def test_every_command_has_a_form_in_json(articles: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line a command: what it printed, and its tables apart."""
    from thimble.repl.commands.table import COMMANDS

    typed = {
        "strategy": "/strategy none",
        "why": "/why 1",
        "drop": "/drop 3",
        "edit": "/edit 3 Two.",
        "pin": "/pin 3",
        "plant": "/plant The code is 7.",
        "predict": "/predict",
        "save": "/save a talk",
        "fork": "/fork none",
        "export": f"/export {articles}/x.json",
    }
    left_out = {"compact", "quit", "pull", "load", "doctor", "retry", "probe", "model"}
    names = sorted(COMMANDS.keys() - left_out, key=lambda name: {"undo": 1, "reset": 2}.get(name, 0))
    session = scripted(articles, "One.")
    asked = ["one?", *(typed.get(name, f"/{name}") for name in names)]
    assert answers(session, asked, as_json=True) == headless.DONE
    captured = capsys.readouterr()
    found = [line for line in lines(captured.out) if line["type"] == "command"]
    assert [line["command"] for line in found] == asked[1:]
    assert all(line["text"].strip() for line in found)
    for line in found:
        assert line["text"] in captured.err
        for table in line["tables"]:
            assert all(len(row) == len(table["columns"]) for row in table["rows"])
            assert table["title"] in line["text"]
    assert {"/stats", "/articles"} <= {line["command"] for line in found if line["tables"]}


def test_a_refusal_has_an_exit_code_of_its_own(articles: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = Usage(finish="refusal")
    session = scripted(articles, (Text("I cannot help with that."), refused), refused, "I cannot, in words.")
    assert answers(session, ["one?", "two?"], as_json=True) == headless.REFUSED == 5
    captured = capsys.readouterr()
    found = lines(captured.out)
    assert [line["ending"] for line in found if line["type"] == "answered"] == ["refused", "refused"]
    assert [line["code"] for line in found if line["type"] == "error"] == [5, 5]
    assert "thimble: the model said that it cannot answer\nfix: " in captured.err
    assert answers(session, ["three?"]) == headless.DONE, "words alone are an answer"


# ---- prompts ----


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def pipe(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return pipe


def test_piped_lines_are_prompts(piped: Any) -> None:
    piped("\ufeff one? \r\n\n   \n/stats\ntwo? – yes".encode())
    assert list(headless.iter_prompts([])) == ["one?", "/stats", "two? – yes"]


def test_a_dash_is_all_of_standard_input(piped: Any) -> None:
    piped(b"\nfirst line\n\nsecond line\n")
    assert list(headless.iter_prompts(["before", "-", " after "])) == ["before", "first line\n\nsecond line", "after"]


@pytest.mark.parametrize(
    ("given_", "data", "what"),
    [
        ([], b"", "standard input is empty"),
        ([], b"\n \n", "standard input is empty"),
        (["-"], b"\n", "the prompt is empty"),
        (["", "x"], b"", "the prompt is empty"),
        (["-", "-"], b"x", "only once"),
        ([], b"one\ntw\xf6\n", "not UTF-8 text (line 2, byte 3)"),
        (["-"], b"\xff\xfeo\x00", "not UTF-8 text (line 1, byte 1)"),
    ],
)
def test_prompts_that_are_none_are_refused(piped: Any, given_: list[str], data: bytes, what: str) -> None:
    piped(data)
    with pytest.raises(UsageError) as caught:
        list(headless.iter_prompts(given_))
    assert what in caught.value.what
    assert caught.value.fix


def test_every_field_is_documented(articles: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = scripted(
        articles, LOOK, (Thinking("hm"), Text("One.")), *["Said."] * 9, strategy="summary-buffer", budget=2800
    )
    answers(session, ["please " * 250] * 6 + ["/nothing"], as_json=True)
    documented = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "reference" / "formats.md").read_text()))
    found = lines(capsys.readouterr().out)
    called = next(line for line in found if line["type"] == "side_called")
    assert (called["usage"]["output_tokens"] > 0, called["error"]) == (True, None)
    types = {line["type"] for line in found}
    assert len(types) == 13
    assert types <= documented
    fields = {field for line in found for field in (*line, *line.get("usage", {}))}
    assert fields <= documented


def test_load_hands_the_next_prompts_to_the_other_session(articles: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two", "three"):
        settings = Settings(backend="reader", corpus=articles, files=articles, session_dir=articles)
        session = Session(settings, Journal(articles / f"{name}.jsonl"))
        prompts = ["mine?", "/load one", "/budget 3000", "/load two", "/budget 3000"] if name == "three" else ["mine?"]
        assert answers(session, prompts) in (headless.DONE, headless.REFUSED)
    for name, changes in (("one", 1), ("two", 1), ("three", 0)):
        written = (articles / f"{name}.jsonl").read_text()
        assert written.count('"budget","value":3000') == changes, name
