"""What eats the tokens: sums that add up to the prompts, and a session by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.support.histories import sound_histories
from thimble.agent.budget import UNLIMITED, Prices
from thimble.agent.messages import Message, ToolCall
from thimble.commands.replay import AS_RECORDED
from thimble.commands.trajectories import PromptStart, Trajectory
from thimble.lab.__main__ import main
from thimble.lab.blame.command import Blame, pieces
from thimble.lab.replay.command import ReplayCase
from thimble.lab.replay.recorded_replay import ReplaySetting, counter_of
from thimble.logs.log import LoggedCall, Reported

COUNTER = counter_of("")
SCHEMA = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}


@given(sound_histories())
def test_the_kinds_are_all_that_prompts_held(history: list[Message]) -> None:
    run = Trajectory("run", history)
    found = [piece for piece in pieces(run, COUNTER) if "kind" in piece[3]]
    sent = sum(COUNTER.count(message) for _, _, messages in run.prompts() for message in messages)
    most = sum(calls for _, calls, _, _ in found)  # each is rounded down
    empty = sum(
        COUNTER.count(message)
        for _, _, messages in run.prompts()
        for message in messages
        if not (message.content or message.thinking or message.calls)
    )
    assert sent - most - empty <= sum(tokens * calls for tokens, calls, _, _ in found) <= sent
    assert all(computed == min(calls, 1) for _, calls, computed, _ in found)  # nothing was edited


def session() -> Trajectory:
    """Four reads of one file. Before the third is a compaction; then a result is cleared, then the summary dropped."""
    made = [Message("s", "system", "You help."), Message("u", "user", "What is in it?")]
    for at in range(4):
        call = ToolCall(f"c{at}", "read", json.dumps({"path": "shop/prices.py"}))
        made.append(Message(f"a{at}", "assistant", "", "I think about it.", calls=(call,)))
        made.append(Message(f"r{at}", "tool", "price, " * 50, call_id=call.id, name="read"))
    made += [Message(f"end{at}", "assistant", "Prices.") for at in range(3)]
    summary, cleared = Message("s1", "user", "A file was read."), Message("s2", "tool", "[cleared]", call_id="c2")
    sent = [
        PromptStart(0, ()),
        PromptStart(6, [made[0], summary]),
        PromptStart(10, [made[0], summary, made[6], cleared, *made[8:10]]),
        PromptStart(11, [made[0], made[6], cleared]),
        PromptStart(12, [made[0]]),
    ]
    calls = {"a0": LoggedCall(0, Reported(90, 0)), "a1": LoggedCall(0, Reported(100, 9))}
    return Trajectory("run", made, [SCHEMA], sent=sent, logged=calls)


def test_a_session_by_hand() -> None:
    run, price = session(), Prices(0.5)
    size = {message.id: COUNTER.count(message) for one in run.sent for message in [*run.messages, *one.base]}
    assert [[message.id for message in messages] for _, _, messages in run.prompts()] == [
        ["s", "u"],
        ["s", "u", "a0", "r0"],
        ["s", "s1"],
        ["s", "s1", "a2", "r2"],
        ["s", "s1", "a2", "s2", "a3", "r3"],
        ["s", "a2", "s2"],
        ["s"],
    ]
    rows = Blame().measure(ReplayCase(run, ReplaySetting(AS_RECORDED, UNLIMITED, price, "", 0), ()))
    found = {(row["by"], row["name"]): row for row in rows}
    assert {key: found[key]["parts"] for key in found if key[0] == "break"} == {
        ("break", "unknown, as reported"): 1,
        ("break", "compaction"): 1,
        ("break", "cleared result"): 1,
        ("break", "unknown"): 1,
        ("break", "rewind"): 1,
    }
    assert found["break", "unknown, as reported"]["tokens"] == 90 - 9
    assert found["break", "unknown"]["tokens"] == size["a2"] + size["s2"]  # behind the dropped summary
    assert found["kind", "system"]["token_calls"] == 7 * size["s"]
    assert found["kind", "system"]["cost"] == round(size["s"] * (1 + 6 * 0.5))
    assert found["kind", "summary"]["token_calls"] == 3 * size["s1"]
    assert found["kind", "result"]["token_calls"] == size["r0"] + size["r2"] + size["r3"] + 2 * size["s2"]
    assert found["kind", "result"]["cost"] == size["r0"] + size["r2"] + size["r3"] + 2 * size["s2"]  # s2 computed twice
    repeats = found["repeat", 'read {"path": "shop/prices.py"}']
    assert repeats["tokens"] == size["r2"] + size["r3"] + size["s2"]  # r0 came first, r1 was never sent
    assert found["file", "shop/prices.py"]["token_calls"] == found["tool", "read"]["token_calls"]
    assert found["schema", "read"]["token_calls"] == 7 * (COUNTER.overhead([SCHEMA]) - COUNTER.overhead(()))
    assert ("kind", "not in the file") not in found  # two reports are too few


def test_one_screen_of_eighty_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[dict[str, Any]] = [{"type": "session", "id": "run", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"}]
    for at in range(9):
        block = {
            "type": "toolCall",
            "id": f"c{at}",
            "name": f"tool{at}",
            "arguments": {"path": f"folder/{'x' * 50}{at}.py"},
        }
        text = {"type": "text", "text": "words " * 9}
        usage = {"input": 4000 + 90 * at, "output": 3}
        said = [
            {"role": "user", "content": [text]},
            {"role": "assistant", "content": [text, block], "usage": usage},
            {"role": "toolResult", "toolCallId": f"c{at}", "content": [text]},
        ]
        lines += [{"type": "message", "message": one} for one in said]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    assert main(["blame", str(tmp_path / "log.jsonl"), "--model", "", "--jobs", "1"]) == 0
    shown = capsys.readouterr().out.partition("share")[2].splitlines()[1:]
    assert 5 < len(shown) <= 24
    assert max(map(len, map(str.rstrip, shown))) <= 80
    (unseen,) = [line for line in shown if "not in the file" in line]
    assert "   9  " in unseen
