"""A session or a cassette that somebody else made is data: it runs no code, names no server, and writes no file."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.errors import ThimbleError, UsageError
from agent.events import Asked, BudgetChanged, ModelChanged, StrategyChanged
from repl.cli.recordings import load, settled
from repl.commands.table import obey
from repl.screen.resumed import resumed
from session.journal import folder as shelf
from session.journal.journal import Journal
from session.journal.records import Command, Opened
from session.playback import LEFT_OUT, Playback
from session.session import Session, open_session
from session.settings import Settings
from strategies.spec import is_code
from tests.support.sessions import Paper, ask

CODE = "import pathlib\n\n\ndef prepare(messages, budget):\n    return messages\n\n\npathlib.Path({!r}).touch()\n"
OPENED = Opened(1, "one", "You help.", "none", 8000, "reader", "", {})


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """A file that is there as soon as code of somebody else's has run, which lies beside it."""
    (tmp_path / "theirs.py").write_text(CODE.format(str(tmp_path / "ran")))
    return tmp_path / "ran"


def forged(folder: Path, opened: Opened, *rest: Any) -> Path:
    """A session that nobody had."""
    journal = Journal(folder / "2026-11-22-0217-k3f9.jsonl")
    for record in (opened, *rest):
        journal.write(record)
    journal.close()
    return folder / "2026-11-22-0217-k3f9.jsonl"


def resume(path: Path, **flags: Any) -> Session:
    """Go on with it, with these flags."""
    asked = replace(Settings(session_dir=path.parent), **flags)
    asked = replace(asked, origins=dict.fromkeys(flags, "flag --x"))
    settings, journal, past = shelf.reopened(asked, path)
    session = open_session(settings, journal, past)
    _ = session.agent
    return session


@pytest.mark.parametrize("spec", ["{}/theirs.py", "none+ {}/theirs.py", "theirs:x", "none + theirs:x", " theirs:x"])
def test_a_strategy_that_is_code_is_said_again_or_not_run(
    spec: str, ran: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ran.parent)
    spec = spec.format(ran.parent)
    assert is_code(spec)
    for path in (
        forged(ran.parent, replace(OPENED, strategy=spec)),
        forged(ran.parent / "swapped", OPENED, StrategyChanged(spec)),
    ):
        with pytest.raises(UsageError, match="which is code") as caught:
            resume(path)
        assert "--strategy" in caught.value.fix
        resume(path, strategy="none").journal.close()
    recording = load("reader/none", ran.parent)
    with pytest.raises(UsageError, match="which is code"):
        settled(Settings(), replace(recording, opened=replace(recording.opened, strategy=spec)))
    assert not ran.exists()


def test_nor_on_another_branch(ran: Path) -> None:
    spec = f"{ran.parent}/theirs.py"
    path = forged(ran.parent, OPENED, StrategyChanged(spec), BudgetChanged(9000), StrategyChanged("none"))
    session = resume(path)
    for after in (2, 3):
        with pytest.raises(UsageError, match="which is code"):
            session.branch(after)
    assert not ran.exists()
    assert session.spec == "none"
    session.use_strategy(spec)  # by now it is the user's word
    session.use_strategy("none")
    session.branch(3)
    assert session.spec == spec


def test_what_the_user_has_said_is_run_again(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("def prepare(messages, budget):\n    return messages\n")
    session = open_session(Settings("reader", strategy=str(mine)), Journal(tmp_path / "one.jsonl"))
    ask(session)
    asked = session.journal.count
    session.use_strategy("none")
    session.branch(asked)
    assert session.spec == str(mine)
    session.branch(asked, StrategyChanged(f" {mine}"))
    session.switch(1)
    session.switch(3)
    assert session.spec == f" {mine}"
    session.journal.close()
    assert resume(tmp_path / "one.jsonl", strategy=str(mine)).spec == str(mine)


FAR = "https://far.example"


@pytest.mark.parametrize(
    "settings", [{"base_url": FAR}, {"summariser": f"small@{FAR}"}, {"base_url": "http://10.0.0.1"}]
)
@pytest.mark.parametrize("later", [(), (ModelChanged("openai", "big"),)])
def test_no_session_names_the_server_that_it_is_sent_to(
    settings: dict[str, str], later: tuple[ModelChanged, ...], tmp_path: Path
) -> None:
    path = forged(tmp_path, replace(OPENED, backend="openai", model="big", settings=settings), *later)
    with pytest.raises(UsageError, match="only the session itself names"):
        resume(path)
    resume(path, backend="reader", base_url="", summariser="").journal.close()
    own = Settings(session_dir=tmp_path, **settings)  # type: ignore[arg-type]
    again, journal, _ = shelf.reopened(own, path)
    assert (again.base_url, again.summariser) == (own.base_url, own.summariser)
    journal.close()


def test_folders_that_come_along_are_told(tmp_path: Path) -> None:
    path = forged(tmp_path, replace(OPENED, settings={"files": str(tmp_path)}))
    told = [text for text, _ in resumed(resume(path))]
    assert f"It brings its own --files: {tmp_path}" in told


@pytest.mark.parametrize("command", LEFT_OUT)
def test_a_cassette_sends_no_command_that_reaches_beyond_the_session(command: str, tmp_path: Path) -> None:
    recording = load("reader/none", tmp_path)
    first = next(line for line in recording.lines if isinstance(line.stored, Asked))
    forged = replace(first, number=first.number - 1, stored=Command(f"{command} x.html!"))
    recording = replace(recording, lines=[recording.lines[0], forged, *recording.lines[1:]])
    assert (first.number - 1, f"{command} x.html!") in recording.typed
    assert Playback(recording, "one", lambda seconds, text: 0.0).suggested() == first.stored.message.content


def test_nor_does_a_session_that_is_kept_write_them_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = open_session(Settings("reader", session_dir=tmp_path), Journal(tmp_path / "one.jsonl"))
    ask(session)
    for command in ("/export", "/load x", "/stats"):
        with suppress(ThimbleError):
            obey(session, command, Paper().console)
    typed = [line.stored.text for line in session.journal.read()[0] if isinstance(line.stored, Command)]
    assert typed == ["/stats"]
