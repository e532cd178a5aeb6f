"""A session or a recording that somebody else made is data: it runs no code, names no server, and writes no file."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as tried
from hypothesis import strategies as st

import thimble
from tests.support.scripted_server import Answer, Front, says_json
from tests.support.sessions import Paper, ask
from thimble.agent.errors import ThimbleError, UsageError
from thimble.agent.events import Asked, Changed
from thimble.agent.messages import Message
from thimble.models.openai.server import OpenAIServer
from thimble.repl.cli.recordings import load_recording, playback_settings
from thimble.repl.commands.table import run_command
from thimble.repl.screen.resumed import resume_lines
from thimble.session.backends import Backends
from thimble.session.embeddings import make_uncached
from thimble.session.journal import folder as shelf
from thimble.session.journal.journal import Journal
from thimble.session.journal.records import VERSION, Command, Opened
from thimble.session.playback import LEFT_OUT, Playback, read_recording
from thimble.session.session import Session
from thimble.session.settings import Settings, resume_settings
from thimble.strategies.spec import is_code

CODE = "import pathlib\n\n\ndef prepare(messages, budget):\n    return messages\n\n\npathlib.Path({!r}).touch()\n"
OPENED = Opened(VERSION, "one", {"system": "You help.", "strategy": "none", "budget": 8000, "model": "reader"})


def brings(**settings: str) -> Opened:
    """The first line of a session with these settings."""
    return replace(OPENED, settings={**OPENED.settings, **settings})


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
    asked = Settings(session_dir=path.parent).replace(**flags, origins=dict.fromkeys(flags, "flag --x"))
    settings, journal, past = shelf.reopen_session(asked, path)
    session = Session(settings, journal, past)
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
        forged(ran.parent, brings(strategy=spec)),
        forged(ran.parent / "swapped", OPENED, Changed("strategy", spec)),
    ):
        with pytest.raises(UsageError, match="which is code") as caught:
            resume(path)
        assert "--strategy" in caught.value.fix
        resume(path, strategy="none").journal.close()
    recording = load_recording("reader/none", ran.parent)
    with pytest.raises(UsageError, match="which is code"):
        playback_settings(Settings(), replace(recording, opened=brings(strategy=spec)))
    assert not ran.exists()


LIKE_SPECS = st.lists(
    st.sampled_from(["theirs", "theirs.py", "./theirs.py", "none", "hybrid", "Name", ":", "+", " ", "/", "=1", ","]),
    min_size=1,
    max_size=7,
).map("".join)


@tried(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LIKE_SPECS)
@example("theirs:Name:")
@example("theirs:Name:a=1")
@example("none + theirs:Name:")
@example("./theirs.py:Name:")
def test_no_word_of_a_session_or_a_recording_imports_anything(
    ran: Path, monkeypatch: pytest.MonkeyPatch, spec: str
) -> None:
    monkeypatch.chdir(ran.parent)
    monkeypatch.syspath_prepend(ran.parent)
    recording = load_recording("reader/none", ran.parent)
    for opened, *rest in (
        [brings(strategy=spec)],
        [OPENED, Changed("strategy", spec)],
        [OPENED, Command(f"/strategy {spec}")],
        [OPENED, Asked(Message("m2", "user", f"/strategy {spec}"))],
    ):
        path = forged(ran.parent, opened, *rest)
        with suppress(UsageError):
            shelf.reopen_session(Settings(session_dir=ran.parent), path)[1].close()
        played = read_recording(path.read_bytes(), "one")
        with suppress(UsageError):
            playback_settings(Settings(), replace(recording, opened=played.opened))
        if is_code(spec):
            assert not Playback(played, "one", lambda seconds, text: 0.0).suggested()
        path.unlink()
    assert not ran.exists()


def test_code_that_a_session_names_is_not_run_from_python(ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ran.parent)
    for spec in ("theirs:Name:", f"{ran.parent}/theirs.py"):
        path = forged(ran.parent, OPENED, Changed("strategy", spec))
        with pytest.raises(UsageError, match="which is code"):
            thimble.open_session(journal=path, backend="reader")
        path.unlink()
    assert not ran.exists()


def test_code_that_another_branch_names_is_not_run(ran: Path) -> None:
    spec = f"{ran.parent}/theirs.py"
    path = forged(ran.parent, OPENED, Changed("strategy", spec), Changed("budget", 9000), Changed("strategy", "none"))
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
    session = Session(Settings(backend="reader", strategy=str(mine)), Journal(tmp_path / "one.jsonl"))
    ask(session)
    asked = session.journal.count
    session.use_strategy("none")
    session.branch(asked)
    assert session.spec == str(mine)
    session.branch(asked, Changed("strategy", f" {mine}"))
    session.switch(1)
    session.switch(3)
    assert session.spec == f" {mine}"
    session.journal.close()
    assert resume(tmp_path / "one.jsonl", strategy=str(mine)).spec == str(mine)


FAR = "https://far.example"


@pytest.mark.parametrize(
    "settings",
    [
        {"base_url": FAR},
        {"base_url": "http://10.0.0.1"},
        {"summariser": f"small@{FAR}"},
        {"memory": f"small@{FAR}"},
        {"embeddings": f"openai:small@{FAR}"},
    ],
)
@pytest.mark.parametrize("later", [(), (Changed("model", "openai/big"),)])
def test_no_session_names_the_server_that_it_is_sent_to(
    settings: dict[str, str], later: tuple[Changed, ...], tmp_path: Path
) -> None:
    path = forged(tmp_path, brings(model="openai/big", **settings), *later)
    again, journal, _ = shelf.reopen_session(Settings(session_dir=tmp_path), path)
    assert all(getattr(again, name) == getattr(Settings(), name) for name in settings)
    journal.close()
    own = Settings(session_dir=tmp_path, **settings)
    again, journal, _ = shelf.reopen_session(own, path)
    assert all(getattr(again, name) == value for name, value in settings.items())
    journal.close()


OWN_PORT, THEIR_PORT = "http://127.0.0.1:8001", "http://127.0.0.1:6666"


@pytest.mark.parametrize(
    ("asked", "own", "sends"),
    [
        ({}, {}, False),
        ({"backend": "vllm"}, {}, True),
        ({"base_url": OWN_PORT}, {}, True),
        ({}, {"backend": "vllm"}, False),
        ({}, {"backend": "vllm", "base_url": THEIR_PORT}, False),
        ({"base_url": OWN_PORT}, {"backend": "vllm", "base_url": THEIR_PORT}, True),
        ({"backend": "vllm", "base_url": OWN_PORT}, {"backend": "vllm", "base_url": THEIR_PORT}, True),
        ({"backend": "vllm", "base_url": OWN_PORT}, {"backend": "vllm", "base_url": OWN_PORT}, True),
    ],
)
def test_the_key_goes_to_no_address_that_only_a_session_names(
    asked: dict[str, str], own: dict[str, str], sends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    user = Settings(**asked, origins=dict.fromkeys(asked, "environment THIMBLE_X"))
    now = resume_settings(user, own) if own else user
    server = Backends(now, print).server_of("vllm")
    assert isinstance(server, OpenAIServer)
    assert server.connection.sends_key == sends
    assert THEIR_PORT not in server.url


@pytest.mark.parametrize("name", ["summariser", "memory", "embeddings"])
def test_the_key_goes_to_no_model_beside_that_only_a_session_names(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-our-own-secret")
    seen: list[bytes] = []

    def answer(request: bytes) -> Answer:
        seen.append(request)
        return says_json("200 OK", {"data": [{"id": "m", "index": 0, "embedding": [1.0]}]})

    server = Front(answer)
    try:
        value = f"openai:m@{server.url}" if name == "embeddings" else f"m@{server.url}"
        mine = Settings(**{name: value})
        for now, sends in ((mine, True), (resume_settings(Settings(), {name: value}), False)):
            seen.clear()
            with suppress(ThimbleError):
                _ = embed(now) if name == "embeddings" else Backends(now, print).side_model(name)  # type: ignore[arg-type]
            assert any(b"sk-our-own" in request for request in seen) == bool(seen) == sends
    finally:
        server.stop()


def embed(settings: Settings) -> None:
    embedder = make_uncached(settings)
    assert embedder
    embedder.embed(["x"])


def test_folders_that_come_along_are_told(tmp_path: Path) -> None:
    path = forged(tmp_path, brings(files=str(tmp_path)))
    told = [text for text, _ in resume_lines(resume(path))]
    assert f"It uses its own --files: {tmp_path}" in told


@pytest.mark.parametrize("command", LEFT_OUT)
def test_a_recording_sends_no_command_that_reaches_beyond_the_session(command: str, tmp_path: Path) -> None:
    recording = load_recording("reader/none", tmp_path)
    first = next(line for line in recording.lines if isinstance(line.record, Asked))
    forged = replace(first, number=first.number - 1, record=Command(f"{command} x.html!"))
    recording = replace(recording, lines=[recording.lines[0], forged, *recording.lines[1:]])
    assert (first.number - 1, f"{command} x.html!") in recording.typed_lines
    assert Playback(recording, "one", lambda seconds, text: 0.0).suggested() == first.record.message.content


def test_a_kept_session_records_no_command_that_reaches_beyond_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session(Settings(backend="reader", session_dir=tmp_path), Journal(tmp_path / "one.jsonl"))
    ask(session)
    for command in ("/export", "/load x", "/stats"):
        with suppress(ThimbleError):
            run_command(session, command, Paper().console)
    typed = [line.record.text for line in session.journal.read()[0] if isinstance(line.record, Command)]
    assert typed == ["/stats"]
