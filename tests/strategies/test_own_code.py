"""Code of the user's own: its errors are one line each, and Ctrl-C in it stays Ctrl-C."""

from __future__ import annotations

import signal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.agent.errors import UsageError
from thimble.agent.messages import Message, ToolCall
from thimble.strategies.own_code import ERROR_LETTERS, guarded, in_words


class Own(BaseException):
    """An error of one's own."""


ERRORS = (ValueError, SystemExit, GeneratorExit, RecursionError, StopIteration, MemoryError, Own)


@given(st.sampled_from(ERRORS), st.text() | st.just("\x1b]0;t\x07" * 9_999))
def test_any_error_is_one_short_line(kind: type[BaseException], text: str) -> None:
    def fails() -> None:
        raise kind(text)

    with pytest.raises(UsageError) as caught:
        guarded(fails, "it failed")
    said = caught.value.what
    assert said.startswith(f"it failed: {kind.__name__}")
    assert said.isprintable()
    assert len(said) <= len("it failed: ") + ERROR_LETTERS


def test_ctrl_c_is_no_error_of_the_code() -> None:
    with pytest.raises(KeyboardInterrupt):
        guarded(lambda: signal.raise_signal(signal.SIGINT), "it failed")


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
