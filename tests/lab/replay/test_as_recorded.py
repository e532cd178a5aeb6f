"""A log of another agent: its own context management is a row beside the strategies, and its counts are compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from thimble.commands.as_recorded import AS_RECORDED
from thimble.commands.trajectories import read
from thimble.lab.replay.calibration import calibrated
from thimble.lab.replay.command import main
from thimble.lab.replay.recorded_replay import counter_of

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
    (run,) = read([file])
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
    assert rows[AS_RECORDED]["reported_calls"] == 3
    assert "reported_calls" not in rows["none"]


def test_what_a_log_leaves_out_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = session(tmp_path)
    file.write_text(file.read_text() + line(type="label", id="x") + "\n")
    (run,) = read([file])
    assert run.remarks[-1] == "Left out: 1 label."
    main([str(file), "--strategy", "none", "--model", ""], "thimble lab replay")
    assert "Left out: 1 label." in capsys.readouterr().err


def test_counts_are_compared_by_the_line_through_them() -> None:
    predicted = [100, 200, 300, 400, None, 500]
    found = calibrated(predicted, [1110, 1220, 1330, 1440, 7, None])
    assert found == {"reported_calls": 4, "close_calls": 4, "unseen_tokens": 1000, "token_ratio": 1.1}
    assert calibrated([100, 200, 300, 400], [100, 200, 300, 800])["close_calls"] < 4
    assert calibrated([5], [9])["token_ratio"] is None
