"""A recorded run of another agent as a session: as it was sent, as it was counted, with its tools answered from it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tests.logs.samples import ANSWER, ASK, OUTPUT, THOUGHT, claude, lines, tool_result, tool_use, usage
from tests.support.scripted import Scripted
from tests.support.sessions import Paper, ask, tool_call, type_command
from thimble.agent.errors import ToolError
from thimble.agent.events import ToolReturned
from thimble.agent.messages import Message
from thimble.agent.prompts import SYSTEM_PROMPT
from thimble.commands.open_run import open_run, path_of
from thimble.commands.replay import AS_RECORDED, replay_session
from thimble.commands.trajectories import Trajectory, read_trajectories
from thimble.repl.__main__ import main
from thimble.session.journal.folder import reopen_session
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.tools.recorded import recorded_tools

COMPACTED = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": "a2", "sessionId": "s"}
RUN = [
    claude("user", "u0", None, "<reminder>", isMeta=True),
    claude("user", "u1", "u0", ASK),
    claude("assistant", "a1", "u1", tool_use(), id="m1", usage=usage(3, 100, 9)),
    claude("user", "u2", "a1", tool_result()),
    claude("assistant", "a2", "u2", [{"type": "text", "text": THOUGHT}], id="m2", usage=usage(2, 130, 8)),
    {**COMPACTED, "compactMetadata": {"trigger": "auto"}},
    claude("user", "u3", "b", "It was about a report.", isCompactSummary=True),
    claude("user", "u4", "u3", "And the price?"),
    claude("assistant", "a3", "u4", tool_use("c2"), id="m3", usage=usage(2, 40, 4)),
    claude("user", "u5", "a3", tool_result("c2", "42 pages, new")),
    claude("assistant", "a4", "u5", [{"type": "text", "text": ANSWER}], id="m4", usage=usage(1, 60, 5)),
]


def run_in(folder: Path, *values: Any) -> Trajectory:
    (folder / "run.jsonl").write_bytes(lines(*(values or RUN)))
    (run,) = read_trajectories([folder / "run.jsonl"])
    return run


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(backend="reader", session_dir=tmp_path / "sessions", budget=2000)


@pytest.fixture
def session(tmp_path: Path, settings: Settings) -> Session:
    return open_run(run_in(tmp_path), settings)


def test_every_message_is_there_and_every_call_has_the_counts_of_its_provider(session: Session) -> None:
    said = [(one.role, one.content.strip()) for one in session.agent.history[1:]]
    assert said == [
        ("user", "<reminder>"),
        ("user", ASK),
        ("assistant", ""),
        ("tool", OUTPUT),
        ("assistant", THOUGHT),
        ("user", "And the price?"),
        ("assistant", ""),
        ("tool", "42 pages, new"),
        ("assistant", ANSWER),
    ]
    calls = session.agent.ledger.calls
    assert [(one.exchange, one.prompt.tokens, one.cached.tokens, one.output.tokens) for one in calls] == [
        (1, 108, 100, 9),
        (1, 137, 130, 8),
        (2, 47, 40, 4),
        (2, 66, 60, 5),
    ]
    assert all(one.prompt.exact and str(one.model) == "Claude Code/claude" for one in calls)
    assert {one.strategy for one in calls} == {AS_RECORDED}


def test_a_compaction_of_the_agent_is_seen_as_fates(session: Session) -> None:
    view = session.agent.ledger.view
    assert view
    assert Counter(view.fates) == {"kept": 4, "summarised": 5}
    (summary,) = (view.messages[at] for at in view.inserted)
    assert summary.content == "It was about a report."
    assert len(summary.covers) == 5
    paper = Paper(width=200)
    type_command(session, "/why 3", paper.console)
    assert "summarised" in paper.text
    assert "the summary that Claude Code wrote" in paper.text
    type_command(session, "/context", paper.console)
    assert "+1 Claude Code " in paper.text
    assert "thimble" not in paper.text


def test_only_the_session_has_a_budget(session: Session) -> None:
    paper = Paper(width=120)
    type_command(session, "/stats", paper.console)
    type_command(session, "/context", paper.console)
    assert "budget 2,000" in paper.text
    assert paper.text.count("budget") == 1
    assert "the largest prompt is 137" in paper.text


def test_each_step_took_the_seconds_since_the_one_before(tmp_path: Path, settings: Settings) -> None:
    times = (f"2026-01-02T03:04:{at:02}Z" for at in (0, 1, 3, 6, 10, 15, 15, 20, 22, 25, 29))
    timed = [{**line, "timestamp": time} for line, time in zip(RUN, times, strict=True)]
    session = open_run(run_in(tmp_path, *timed), settings)
    assert [call.seconds for call in session.agent.ledger.calls] == [2, 4, 2, 4]
    assert [tool.seconds for tool in session.agent.ledger.tools] == [3, 3]
    paper = Paper()
    type_command(session, "/timeline 1", paper.console)
    assert "9.0 s in all · agent 6.0 s · tools 3.0 s" in paper.text


def test_seconds_that_no_file_has_are_not_shown(session: Session) -> None:
    paper = Paper()
    type_command(session, "/timeline", paper.console)
    assert "no finished step has a recorded time" in paper.text
    type_command(session, "/stats all", paper.console)
    assert "0.0" not in paper.text


def test_a_session_that_is_opened_again_stands_as_it_did(session: Session, settings: Settings, tmp_path: Path) -> None:
    session.leave()
    path = path_of(run_in(tmp_path), settings.session_dir)
    again = Session(*reopen_session(settings, path))
    assert again.agent.history == session.agent.history
    assert again.agent.ledger.calls == session.agent.ledger.calls
    assert again.agent.ledger.view == session.agent.ledger.view
    assert [*again.agent.tools] == ["look"]


def test_a_fork_goes_on_with_the_tools_of_the_run(session: Session) -> None:
    paper = Paper()
    type_command(session, "/fork 1.1 none", paper.console)
    assert "after turn 1 of exchange 1" in paper.text
    assert len(session.agent.history) == 5
    calls = tool_call("look", page="report"), tool_call("look", 2, page="letter"), "Done."
    session.agent.use(Scripted([*calls]))
    results = [event for event in ask(session, "Go on.") if isinstance(event, ToolReturned)]
    assert [one.ok for one in results] == [True, False]
    assert results[0].message.content == "42 pages, new"  # of two results the newest
    assert '{"page": "report"}' in results[1].message.content
    assert session.agent.state.system != SYSTEM_PROMPT


def test_it_is_a_row_beside_the_strategies(session: Session) -> None:
    found, none = replay_session(session, AS_RECORDED), replay_session(session, "none")
    views = [call.prompt for call in session.agent.ledger.calls]
    assert none.next
    assert found.next
    assert found.next.tokens < none.next.tokens
    assert len(views) == 4
    assert found.prompt < none.prompt
    assert found.fates["summarised"] == 5
    paper = Paper(width=120)
    type_command(session, "/compare", paper.console)
    assert AS_RECORDED in paper.text
    ask(session, "What is masking?")
    paper = Paper(width=120)
    type_command(session, "/compare", paper.console)
    assert AS_RECORDED not in paper.text


def test_a_call_of_the_run_is_looked_at_by_its_place(session: Session) -> None:
    paper = Paper(width=100)
    type_command(session, "/context 1.2", paper.console)
    assert "turn 2 of exchange 1 · as-recorded" in paper.text
    assert "summarised" not in paper.text
    type_command(session, "/context 2.1", paper.console)
    assert "summarised" in paper.text
    type_command(session, "/context 2.9", paper.console)
    assert "no call 2.9" in paper.text


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [({"page": "report"}, OUTPUT), ({"page": "x"}, None), ({}, None), ({"page": "report", "more": 1}, None)],
)
def test_a_recorded_tool_knows_only_what_was_recorded(arguments: Mapping[str, Any], answer: str | None) -> None:
    call = tool_call("look", page="report")
    tool = recorded_tools([Message("m1", "assistant", calls=(call,)), Message("m2", "tool", OUTPUT, call_id="c1")])
    assert tool["look"].schema["function"]["parameters"]["required"] == ["page"]
    if answer is not None:
        assert tool["look"].run(arguments) == answer
    else:
        with pytest.raises(ToolError, match="recorded no call of look"):
            tool["look"].run(arguments)


def test_half_of_a_run_leaves_no_file(tmp_path: Path, settings: Settings) -> None:
    run = run_in(tmp_path)
    last = run.messages[-1].id
    broken = replace(run.logged[last], model=cast("Any", object()))
    with pytest.raises((AttributeError, TypeError)):
        open_run(replace(run, logged={**run.logged, last: broken}), settings)
    assert not path_of(run, settings.session_dir).exists()


def test_the_command_opens_a_run_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_in(tmp_path)
    command = ["open", str(tmp_path / "run.jsonl"), "--session-dir", str(tmp_path / "all"), "--backend", "reader"]
    assert main([*command, "-p", "/context 2.1"]) == 0
    told = capsys.readouterr()
    assert "A run of Claude Code: 4 calls" in told.err
    assert "before 2.1" in told.err
    assert "summarised" in told.out
    assert main([*command, "-p", "/stats"]) == 0
    assert len([*(tmp_path / "all").iterdir()]) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [(["open"], "open needs a file"), (["open", "nowhere"], "nowhere"), (["--keep-secrets"], "only applies to open")],
)
def test_what_cannot_be_opened_is_said(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert told in capsys.readouterr().err


def test_secrets_are_masked_unless_they_are_to_be_kept(tmp_path: Path) -> None:
    key = "AKIA" + "ABCDEFGH" * 2
    secret = [json.loads(json.dumps(one).replace("42 pages", f"key {key}")) for one in RUN]
    (tmp_path / "run.jsonl").write_bytes(lines(*secret))
    for keep in (False, True):
        (run,) = read_trajectories([tmp_path / "run.jsonl"], keep_secrets=keep)
        assert any(key in message.content for message in run.messages) is keep
        assert any("masked" in remark for remark in run.remarks) is not keep
