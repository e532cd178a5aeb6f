"""A session whose memory model never ends its reply: no request, thread or event is left, whatever the user does."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from traceback import walk_stack
from types import FrameType

import pytest

from tests.support.family import family
from tests.support.histories import is_sound
from tests.support.journal_scenes import Kept, ask, keep
from tests.support.paths import ROOT
from tests.support.scripted_server import PATIENCE_SECONDS, Serving, held, no_thread_is_left
from thimble.agent.background import Thread
from thimble.agent.events import Answered, Prepared, SideBegan, SideCalled
from thimble.agent.ledger import Call
from thimble.commands.forecast import forecast_prompt
from thimble.repl.cli.recordings import playback_settings
from thimble.repl.commands.table import run_command
from thimble.repl.screen.theme import console_for
from thimble.session.journal.journal import Journal
from thimble.session.journal.lines import Line
from thimble.session.playback import Playback, read_recording
from thimble.session.session import Session
from thimble.session.settings import Settings

SPEC = "comem:k=1"
BUDGET = 20_000
"""So large that the agent waits for no summary."""


@contextmanager
def waiting(folder: Path) -> Iterator[tuple[Kept, Serving]]:
    """A session that has answered a question, and whose memory model still reads."""
    with held() as server:
        session = keep(folder / "live.jsonl", strategy=SPEC, budget=BUDGET)
        session.agent.side.memory = server.backend
        assert ask(session, "What is masking?")[1] == ""
        assert server.reached.wait(PATIENCE_SECONDS)
        yield session, server


def type_in(session: Session, line: str) -> str:
    """What a command prints."""
    file = io.StringIO()
    run_command(session, line, console_for(plain=True, file=file))
    return file.getvalue()


def in_background(session: Session) -> list[Call]:
    """The calls in the background, as the ledger has them."""
    return [call for call in session.agent.ledger.calls if call.lag is not None]


def written(path: Path) -> list[object]:
    """What the journal has of them."""
    journal = Journal.reopen(path)
    lines, damaged = journal.read()
    journal.close()
    assert damaged == []
    return [line.record for line in lines if isinstance(line.record, SideBegan | SideCalled)]


STOPS = ["", "/strategy none", "/model reader", "/reset", "/undo", "/fork", "/retry"]
"""What is typed; an empty line stands for Ctrl-D."""


def test_played_the_answer_is_the_end_whenever_the_summary_was(tmp_path: Path) -> None:
    with waiting(tmp_path) as (session, _):
        session.leave()
    recording = read_recording((tmp_path / "live.jsonl").read_bytes(), "it")
    assert isinstance(recording.lines[-1].record, SideCalled)
    waited = []

    def pace(seconds: float, line: Line) -> float:
        waited.append(line.record)
        return 0.0

    again = Session(playback_settings(Settings(), recording), playback=Playback(recording, "it", pace))
    assert ask(again, "What is masking?")[1] == ""
    assert isinstance(waited[-1], Answered)


@pytest.mark.parametrize("how", family(STOPS, *STOPS[:3]))
def test_what_nobody_wants_any_more_is_stopped_and_accounted_for(how: str, tmp_path: Path) -> None:
    with waiting(tmp_path) as (session, server):
        type_in(session, how) if how else session.leave()
        server.sees_the_client_go()
        no_thread_is_left()
        session.leave()
        began, called = written(tmp_path / "live.jsonl")
        assert isinstance(began, SideBegan)
        assert isinstance(called, SideCalled)
        assert called.error == "stopped"
        assert len(server.asked) == 1


LOOKS = ["/context", "/stats", "/why 2", "/tree", "/budget 9000", "/help"]
"""Commands that ask no model."""


def test_what_only_looks_leaves_it_alone(tmp_path: Path) -> None:
    with waiting(tmp_path) as (session, server):
        was = session.agent.strategy.state  # type: ignore[attr-defined]
        for line in LOOKS:
            type_in(session, line)
        for question in ("", "And then?"):
            assert not forecast_prompt(session, question).asks
        assert session.agent.strategy.state == was  # type: ignore[attr-defined]
        assert server.open == 1
        assert not in_background(session)
        session.leave()
        server.sees_the_client_go()


def test_ctrl_c_in_the_middle_of_an_answer_stops_it_and_the_session_goes_on(tmp_path: Path) -> None:
    with held() as server:
        session = keep(tmp_path / "live.jsonl", strategy=SPEC, budget=BUDGET)
        session.agent.side.memory = server.backend
        with closing(session.ask("What is masking?")) as events:
            next(event for event in events if isinstance(event, SideBegan))
            next(event for event in events if isinstance(event, Prepared))
            assert server.reached.wait(PATIENCE_SECONDS)
        server.sees_the_client_go()
        no_thread_is_left()
        assert [call.exchange for call in in_background(session)] == [1]
        assert is_sound(session.agent.history) == []
        assert ask(session, "And then?")[1] == ""
        session.leave()
        assert [type(one) for one in written(tmp_path / "live.jsonl")] == [SideBegan, SideCalled] * 2


def test_over_the_budget_the_agent_waits_and_ctrl_c_ends_the_wait(tmp_path: Path) -> None:
    with waiting(tmp_path) as (session, server):
        session.use_budget(1_400)

        def interrupt(_: int, frame: FrameType | None) -> None:
            """Once the agent waits."""
            if any(each.f_code is Thread.wait.__code__ for each, _ in walk_stack(frame)):
                signal.setitimer(signal.ITIMER_REAL, 0)
                raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        try:
            with pytest.raises(KeyboardInterrupt):
                list(session.ask("And then?"))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        server.sees_the_client_go()
        (call,) = in_background(session)
        assert call.held > 0
        session.leave()


def test_a_server_that_dies_leaves_the_old_summary_and_the_next_one_waits(tmp_path: Path) -> None:
    session = keep(tmp_path / "live.jsonl", strategy=SPEC)
    for question in ("What is masking?", "And then?"):
        assert ask(session, question)[1] == ""
    assert len(in_background(session)) >= 2
    with held() as server:
        session.agent.side.memory = server.backend
    said = [event for event in ask(session, "So what?")[0] if isinstance(event, SideCalled)]
    session.leave()
    failed = [one for one in written(tmp_path / "live.jsonl") if isinstance(one, SideCalled) and one.error]
    assert len(failed) == 1
    assert "nothing answers" in failed[0].error
    assert len([event for event in said if event.error]) <= 1
    view = session.agent.ledger.view
    assert view
    assert any(message.covers for message in view.messages)


# --- the program ------------------------------------------------------------------------------------------------------


def thimble(folder: Path, server: Serving, *arguments: str) -> subprocess.Popen[str]:
    """The program with this memory model."""
    command = [sys.executable, "-m", "thimble", "--backend", "reader", "--budget", str(BUDGET), "--strategy", SPEC]
    command += ["--memory", f"tiny@{server.url}", "--session-dir", str(folder), *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT, env={**os.environ})


READ = "Read the article about context windows"
"""A question of three turns."""


@pytest.mark.nightly
def test_one_shot_ends_at_once_and_closes_the_request(tmp_path: Path) -> None:
    with held() as server:
        run = thimble(tmp_path, server, "-p", READ, "--json")
        out, err = run.communicate(timeout=120)
        assert run.returncode == 0, err
        server.sees_the_client_go()
        (path,) = tmp_path.glob("*.jsonl")
        assert [type(one) for one in written(path)] == [SideBegan, SideCalled]
        assert "side_began" in {json.loads(line)["type"] for line in out.splitlines()}
