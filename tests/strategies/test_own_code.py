"""Code of the user's own: its errors are one line each, and Ctrl-C in it stays Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import budget
from tests.support.paths import ROOT
from tests.support.specs import build
from thimble.agent.errors import ERROR_LETTERS, UsageError, in_words
from thimble.agent.messages import Message, ToolCall
from thimble.strategies.own_code import call_guarded, in_time, limit_seconds


class Own(BaseException):
    """An error of one's own."""


ERRORS = (ValueError, SystemExit, GeneratorExit, RecursionError, StopIteration, MemoryError, Own)


@given(st.sampled_from(ERRORS), st.text() | st.just("\x1b]0;t\x07" * 9_999))
def test_any_error_is_one_short_line(kind: type[BaseException], text: str) -> None:
    def fails() -> None:
        raise kind(text)

    with pytest.raises(UsageError) as caught:
        call_guarded(fails, "it failed")
    said = caught.value.what
    assert said.startswith(f"it failed: {kind.__name__}")
    assert said.isprintable()
    assert len(said) <= len("it failed: ") + ERROR_LETTERS


def test_ctrl_c_is_no_error_of_the_code() -> None:
    with pytest.raises(KeyboardInterrupt):
        call_guarded(lambda: signal.raise_signal(signal.SIGINT), "it failed")


@pytest.mark.parametrize("kind", [*ERRORS, KeyboardInterrupt])
def test_an_error_that_cannot_say_itself_is_told_by_its_type(kind: type[BaseException]) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise kind

    assert in_words(Mute()) == "Mute"


def test_texts_and_messages_are_plain() -> None:
    class Text(str):
        def __len__(self) -> int:
            raise SystemExit

    class Pair(tuple[Any, ...]):
        __slots__ = ()

    message = Message(Text("m1"), Text("user"), Text("hello"))  # type: ignore[arg-type]
    assert {type(message.id), type(message.role), type(message.content)} == {str}
    assert type(ToolCall(Text("c"), Text("n")).name) is str
    for wrong in ({"calls": Pair()}, {"covers": Pair(["m1"])}):
        with pytest.raises(TypeError, match="of a message are a tuple"):
            Message("m1", "user", **wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no subclasses"):
        type("Evil", (Message,), {})
    with pytest.raises(TypeError, match="the name of a call is text, not 5"):
        ToolCall("c", 5)  # type: ignore[arg-type]


def test_within_a_limit_an_answer_comes_back_and_so_does_an_error() -> None:
    with limit_seconds(5):
        assert in_time(lambda: 4) == 4
        with pytest.raises(ZeroDivisionError):
            in_time(lambda: 1 // 0)


def test_code_that_sleeps_or_catches_all_is_stopped_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    for endless in ("sleep(60)", "exec('while True: pass')", "catches()"):
        path.write_text(
            "from time import sleep\ndef catches():\n    while True:\n"
            "        try: sleep(0.01)\n        except Exception: pass\n"
            f"def prepare(messages, budget):\n    {endless}\n"
        )
        with (
            limit_seconds(0.1),
            pytest.raises(UsageError, match=r"mine\.py, line \d: TimedOut: it has not ended after 0\.1"),
        ):
            build(str(path)).prepare([], budget())


def test_code_that_catches_the_alarm_ends_the_program() -> None:
    code = """if True:
        from thimble.strategies.own_code import in_time, limit_seconds
        def catches():
            while True:
                try: print("once", flush=True); exec("while True: pass")
                except: pass
        with limit_seconds(0.1): in_time(catches)
    """
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (run.returncode, len(run.stderr.splitlines())) == (2, 2)
    assert run.stdout == "once\n" * 2


def test_a_model_that_takes_its_time_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "class Mine:\n    model = None\n    def prepare(self, messages, budget):\n"
        "        self.model()\n        return messages\n"
    )
    waits: dict[str, Any] = {"__name__": "thimble.models.slow"}
    exec("from time import sleep\ndef answer(): sleep(0.5)\n", waits)
    strategy = build(f"{path}:Mine")
    strategy.inner.model = waits["answer"]  # type: ignore[attr-defined]
    with limit_seconds(0.1):
        assert strategy.prepare([], budget()) == []


def test_a_limit_that_the_code_changes_is_put_back(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "import sys\nsys.set_int_max_str_digits(0)\ndef prepare(messages, budget):\n"
        "    sys.setrecursionlimit(10**6)\n    object.__setattr__(budget, 'limit', 10**9)\n    return messages\n"
    )
    before, allowed = (sys.getrecursionlimit(), sys.get_int_max_str_digits()), budget()
    limit = allowed.limit
    build(str(path)).prepare([], allowed)
    assert (sys.getrecursionlimit(), sys.get_int_max_str_digits(), allowed.limit) == (*before, limit)
