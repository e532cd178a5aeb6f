from __future__ import annotations

import os
import pty
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select

import pytest
from prompt_toolkit.application import create_app_session, get_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.output import DummyOutput

from tests.support.sessions import scripted
from thimble.repl.prompt.prompt import TerminalPrompt, open_history


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@contextmanager
def keyboard() -> Iterator[PipeInput]:
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        yield keys


def typed(keys: str) -> str:
    with keyboard() as pipe:
        pipe.send_text(keys)
        return TerminalPrompt(scripted(), lambda: None).read()


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("a question\r", "a question"),
        ("one\ntwo\x1b\rthree\r", "one\ntwo\nthree"),
        ("\x1b[200~one\r\ntwo\nthree\r\x1b[201~!\r", "one\ntwo\nthree\n!"),
        ("wrong\x03right\r", "right"),
        ("a\x1b[31m\x1b[<0;1;1Mb\r", "ab"),
        ("\r \r\ntext\r", " \ntext"),
        ("/strat\t obs\t\r", "/strategy observation-masking"),
        ("what about kv-c\t?\r", "what about kv-cache-and-prefix-caching?"),
    ],
)
def test_keys_make_the_question(keys: str, text: str) -> None:
    assert typed(keys) == text


@pytest.mark.parametrize(
    ("keys", "error"), [("\x04", EOFError), ("\x03", KeyboardInterrupt), ("x\x03\x03", KeyboardInterrupt)]
)
def test_keys_that_end_the_prompt(keys: str, error: type[BaseException]) -> None:
    with pytest.raises(error):
        typed(keys)


def test_a_byte_that_is_no_utf_8_is_a_replacement_character() -> None:
    with keyboard() as pipe:
        pipe.send_bytes(b"What is caf\xe9? \x1b[200~\xff\x1b[201~\r")
        assert TerminalPrompt(scripted(), lambda: None).read() == "What is caf\ufffd? \ufffd"


def test_the_history_is_for_the_user_alone(tmp_path: Path) -> None:
    typed("a question\r")
    assert (tmp_path / "thimble" / "history").stat().st_mode & 0o777 == 0o600
    assert "a question" in (tmp_path / "thimble" / "history").read_text()


def test_a_history_that_is_lost_meanwhile_is_no_reason_either(tmp_path: Path) -> None:
    history = open_history()
    (tmp_path / "thimble" / "history").unlink()
    (tmp_path / "thimble" / "history").mkdir()
    history.append_string("a question")
    assert list(history.load_history_strings()) == []


def test_the_session_is_warmed_behind_the_prompt_and_then_announced() -> None:
    announced = threading.Event()
    with keyboard() as pipe:
        prompt = TerminalPrompt(scripted(), announced.set)
        threading.Thread(target=lambda: announced.wait(10) and pipe.send_text("now\r"), daemon=True).start()
        assert prompt.read() == "now"
    assert announced.is_set()


def test_enter_sends_also_where_it_is_pressed_during_the_announcement(monkeypatch: pytest.MonkeyPatch) -> None:
    keyboard, terminal = pty.openpty()
    with os.fdopen(keyboard, "wb", 0) as keys, os.fdopen(terminal) as stdin:
        monkeypatch.setattr(get_app_session(), "_input", Vt100Input(stdin))  # of all threads, as in the program
        monkeypatch.setattr(get_app_session(), "_output", DummyOutput())
        assert TerminalPrompt(scripted(), lambda: keys.write(b"now\r")).read() == "now"
        assert not select([keys], [], [], 0)[0], "nothing is echoed"


LONG = "\n".join(f"line {number}" for number in range(200))


def test_a_long_paste_is_folded_on_the_screen_and_sent_and_kept_whole() -> None:
    with keyboard() as pipe:
        prompt = TerminalPrompt(scripted(), lambda: None)
        pipe.send_text(f"Read this: \x1b[200~{LONG}\x1b[201~ please\r")
        assert prompt.read() == f"Read this: {LONG} please"
        shown = prompt._prompt.default_buffer.history.get_strings()[-1]
        assert "200 lines]" in shown
        assert next(iter(open_history().load_history_strings())) == f"Read this: {LONG} please"
        pipe.send_text(f"{shown}\r")
        assert prompt.read() == f"Read this: {LONG} please"
