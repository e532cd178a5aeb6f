"""A log of another agent: its own context management is a row beside the strategies, and its counts are compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from thimble.agent.budget import Budget
from thimble.agent.messages import Message
from thimble.agent.protocols import UNKNOWN_MODEL
from thimble.commands.as_recorded import as_recorded
from thimble.commands.replay import AS_RECORDED
from thimble.commands.trajectories import PromptStart, Trajectory, read_trajectories
from thimble.lab.replay.calibration import measure_calibration
from thimble.lab.replay.command import main
from thimble.lab.replay.recorded_replay import counter_of
from thimble.logs.log import LoggedCall, Reported

COUNTER = counter_of("")


def line(**fields: Any) -> str:
    return json.dumps({"timestamp": "2026-01-01T00:00:00Z", **fields})


def message(role: str, text: str, **more: Any) -> str:
    return line(type="message", message={"role": role, "content": [{"type": "text", "text": text}], **more})


def session(folder: Path) -> Path:
    """Three turns; before the third a compaction keeps the second question on."""
    replies = [("It is two.", 110), ("It is three.", 140), ("Yes.", 95)]
    said = [message("assistant", text, usage={"input": tokens, "output": 3}) for text, tokens in replies]
    lines = [
        line(type="session", id="run", cwd="/"),
        message("user", "How many are there? " * 9),
        said[0],
        message("user", "And now?"),
        said[1],
        line(type="compaction", summary="There were two, then three.", firstKeptEntryIndex=3, tokensBefore=140),
        message("user", "Is that so?"),
        said[2],
    ]
    file = folder / "session.jsonl"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_prompts_as_recorded_begin_with_the_summary_and_what_the_agent_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = session(tmp_path)
    (run,) = read_trajectories([file])
    assert [one.content for one in run.messages if one.role == "user"][1:] == ["And now?", "Is that so?"]
    sizes = {one.content: COUNTER.count(one) for one in (*run.messages, *run.sent[-1].base)}
    first = next(size for text, size in sizes.items() if text.startswith("How"))
    prompts = [
        first,
        first + sizes["It is two."] + sizes["And now?"],
        sizes["There were two, then three."] + sizes["And now?"] + sizes["It is three."] + sizes["Is that so?"],
    ]
    capsys.readouterr()
    main([str(file), "--strategy", "none", "--model", "", "--price", "cached=0.1", "--json"], "thimble lab replay")
    rows = {row["strategy"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows[AS_RECORDED]["prompt_tokens"] == sum(prompts) + 3 * COUNTER.overhead(()) < rows["none"]["prompt_tokens"]
    assert rows[AS_RECORDED]["summaries_missing"] == 1
    assert "summaries_missing" not in rows["none"]


def test_what_a_log_leaves_out_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = session(tmp_path)
    file.write_text(file.read_text() + line(type="label", id="x") + "\n")
    (run,) = read_trajectories([file])
    assert run.remarks[-1] == "Left out: 1 label."
    main([str(file), "--strategy", "none", "--model", ""], "thimble lab replay")
    assert "Left out: 1 label." in capsys.readouterr().err


def logged(*contexts: list[tuple[int, int | None, int | None]]) -> tuple[Trajectory, list[tuple[int, int]]]:
    """A run with a reply for each of these, in contexts: our tokens, and those of the provider, cached and in all."""
    rows = [row for context in contexts for row in context]
    messages = [Message(f"m{at}", "assistant", "Yes.") for at in range(len(rows))]
    reported = {f"m{at}": Reported(prompt - (read or 0), read) for at, (_, read, prompt) in enumerate(rows) if prompt}
    sent = [PromptStart(sum(map(len, contexts[:at])), ()) for at in range(len(contexts))]
    calls = {id_: LoggedCall(0, own) for id_, own in reported.items()}
    return Trajectory("run", messages, sent=sent, logged=calls), [(ours, ours) for ours, *_ in rows]


def test_counts_are_compared_by_a_line_through_each_context() -> None:
    first = [(ours, 1000 + 11 * ours // 10, 1000 + 11 * ours // 10) for ours in (100, 200, 300)]
    second = [(ours, 11 * ours // 10, 11 * ours // 10) for ours in (50, 700, 900)]
    found = measure_calibration(*logged(first, [*second, (7, None, None)], [(9, 9, 9)] * 2))
    assert found == {"reported_calls": 6, "close_calls": 6, "unseen_tokens": 500, "token_ratio": 1.1}
    assert (
        measure_calibration(*logged(first, [*second, (1000, 0, 1100)]))["close_calls"] == 6
    )  # nothing of it was cached
    assert measure_calibration(*logged(first, [*second, (1000, None, 1100)]))["close_calls"] == 7
    assert measure_calibration(*logged(first, [*second, (1000, 1300, 1300)]))["close_calls"] < 4
    assert measure_calibration(*logged([(5, 9, 9)]))["reported_calls"] == 0


def told(file: Path, capsys: pytest.CaptureFixture[str]) -> str:
    main([str(file), "--strategy", "none", "--model", "", "--price", "cached=0.1", "--jobs", "1"], "thimble lab replay")
    return " ".join(capsys.readouterr().out.partition("All tokens together")[0].split())


def test_how_near_counts_are_is_said_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = told(session(tmp_path), capsys)
    assert said.startswith("The provider measured no call. All figures below are estimates. as-recorded lacks")
    assert "as-recorded lacks 1 call that wrote a summary: the file does not have them." in said
    lines = [line(type="session", id="run", cwd="/")]
    for at, prompt in enumerate((110, 140, 995, 200)):
        usage = {"input": prompt, "output": 3}
        lines += [message("user", "How many? " * 9), message("assistant", f"It is {at}.", usage=usage)]
    (tmp_path / "far.jsonl").write_text("\n".join(lines) + "\n")
    assert "of 4 calls. All figures below are estimates, and far off for the other calls" in told(
        tmp_path / "far.jsonl", capsys
    )


@pytest.mark.parametrize("recorded", [True, False])
def test_the_call_of_a_summary_costs_where_the_file_has_it(recorded: bool) -> None:
    (run,) = [
        Trajectory("run", [Message(f"m{at}", role, "word " * 30) for at, role in enumerate(["user", "assistant"] * 3)])
    ]
    summary = Message("s9", "user", "words")
    run = replace(run, sent=[PromptStart(0, ()), PromptStart(4, [summary], asked=recorded)])
    budget = Budget(10**9, COUNTER, COUNTER.overhead(()))
    views, asked = zip(*as_recorded(run, budget, UNKNOWN_MODEL), strict=True)
    assert [len(calls) for calls in asked] == [0, 0, 1]
    (call,) = asked[2]
    assert bool(call.error) != recorded
    assert views[2].tokens == budget.size([summary, run.messages[4]])
    assert (call.prompt_tokens, call.shared) == (budget.size(run.messages[:4]), views[1].tokens)
    assert call.usage.output_tokens == COUNTER.count(summary)
