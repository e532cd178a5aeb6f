from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.repl.screen.test_sanitise import FORBIDDEN, NASTY
from tests.support.ollama_server import Download, Model, Ollama, served
from tests.support.pty_terminal import Terminal
from tests.support.sessions import Paper
from thimble.agent.errors import UsageError
from thimble.models.ollama.server import PullProgress
from thimble.repl.commands.pull import words
from thimble.repl.commands.table import run_command
from thimble.repl.prompt.interrupts import Interrupts
from thimble.session.session import Session
from thimble.session.settings import Settings

LAYERS = {"2bada8a74506": 40_000, "66b9ea09bd5b": 10_000}


def library() -> Ollama:
    """An Ollama with a model to pull."""
    return Ollama(downloads={"big:latest": Download(LAYERS)})


def opened(url: str) -> Session:
    return Session(Settings(backend="ollama", base_url=url))


def test_a_pull_is_told_in_lines_and_the_model_can_be_taken_then() -> None:
    paper = Paper(drawn=False)
    with served(library()) as (_, url):
        session = opened(url)
        run_command(session, "/pull big", paper.console)
        assert paper.lines[:3] == ["pulling manifest", "pulling 2bada8a74506", "pulling 2bada8a74506, 10% of 40.0 kB"]
        assert "pulling 2bada8a74506, 100% of 40.0 kB" in paper.lines
        assert [text.partition(",")[0] for text in paper.lines[-4:]] == [
            "verifying sha256 digest",
            "writing manifest",
            "success",
            "big is here. To go on with it: /model big",
        ]
        assert len(paper.lines) < 20
        run_command(session, "/model big", paper.console)
        assert session.agent.backend.model == "big:latest"


def test_a_pull_that_was_stopped_keeps_what_it_has_and_goes_on_there() -> None:
    server, paper = library(), Paper(drawn=False)

    def stop_half_way(*_: object) -> None:
        if sum(server.downloads["big:latest"].here.values()) > 20_000:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.raise_signal(signal.SIGINT)

    with served(server) as (_, url):
        session = opened(url)
        server.step_seconds = 0.01
        before = signal.signal(signal.SIGALRM, stop_half_way)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        try:
            with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt) as caught, interrupts.allowed():
                run_command(session, "/pull big", paper.console)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        told = str(caught.value)
        assert told.startswith("stopped at ")
        assert told.endswith(", kept on the server; /pull big goes on")
        assert "\n" not in told
        assert "big:latest" not in server.models
        kept = sum(server.downloads["big:latest"].here.values())
        assert 20_000 < kept < 50_000
        server.step_seconds = 0
        again = Paper(drawn=False)
        run_command(session, "/pull big", again.console)
        tenths = [int(found[1]) for line in again.lines if (found := re.search(r"(\d+)% of", line))]
        assert tenths[0] >= 100 * kept // 50_000 // 10 * 10, "it begins where it stopped"
        assert "big:latest" in server.models


def test_an_ollama_without_a_model_need_not_be_started() -> None:
    paper = Paper(width=100, drawn=False)
    with served(Ollama(models={})) as (_, url):
        run_command(Session(Settings(base_url=url)), "/model", paper.console)
        run_command(Session(Settings(backend="reader", base_url=url)), "/model", paper.console)
    run_command(Session(Settings(base_url=url)), "/model", paper.console)
    told = [text for text in paper.lines if text.startswith("Only")]
    here = "Only the built-in reader is here. For a model: "
    assert told == [f"{here}/pull qwen2.5:7b."] * 2 + [f"{here}start Ollama, then /pull qwen2.5:7b."]


def test_a_pull_is_for_ollama() -> None:
    class Other:
        """A server of another kind."""

        name, url = "other", "http://127.0.0.1:8000"

    session = Session(Settings(backend="reader"))
    session.backends.look_for_server = lambda: Other()  # type: ignore[assignment,return-value]
    with pytest.raises(UsageError, match="is for Ollama, and the server at") as caught:
        run_command(session, "/pull big", Paper().console)
    assert caught.value.fix


@given(NASTY, st.integers(0, 10**20), st.integers(0, 10**20))
def test_whatever_a_server_says_of_its_progress_is_shown_safely(status: str, done: int, total: int) -> None:
    said = words(PullProgress(status, min(done, total), total))
    assert not FORBIDDEN.search(said)
    assert len(said) < 60


# ---- without a conversation, and in a terminal ----


def test_a_pull_in_a_terminal(tmp_path: Path) -> None:
    server = library()
    server.models["qwen2.5:7b"], server.step_seconds = Model(), 0.1
    with served(server) as (_, url):
        here = Terminal("repl", "--backend", "ollama", "--base-url", url, state=tmp_path)
        try:
            here.see("thimble", "›", "56 articles")
            here.type("/pull big\r")
            here.see("pulling 2bada8a74506", "% of 40.0 kB")
            here.type("\x03")
            here.see("stopped at ", ", kept on the server; /pull big goes on")
            server.step_seconds = 0
            here.type("/pull big\r")
            here.see("big is here. To go on with it: /model big")
            here.type("/model big\r")
            here.see("The model is now big:latest")
            here.type("\x04")
            assert here.end() == 0
        finally:
            here.close()
