"""Code of the user's own, such as a strategy: its errors are one line each, and Ctrl-C in it stays Ctrl-C.

Where nobody sits at a keyboard it may have a limit of time, and then runs in a thread of its own.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Thread
from types import FrameType, TracebackType
from typing import TypeVar

from thimble.agent.errors import UsageError

T = TypeVar("T")

HOW_TO_RETRY = "mend it, and name it again"

CONTROL_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
ERROR_LETTERS = 300
"""The most letters that are shown of an error."""
MOST_SECONDS = 30.0
"""How long it may compute where nobody can press Ctrl-C; while it waits for a model, that model's limits hold."""
_limit: ContextVar[float | None] = ContextVar("limit", default=None)


@contextmanager
def limited(seconds: float | None = None) -> Iterator[None]:
    """Meanwhile each call of such code may take so long; without a number `MOST_SECONDS`."""
    before = _limit.set(seconds or MOST_SECONDS)
    try:
        yield
    finally:
        _limit.reset(before)


def in_time(call: Callable[[], T]) -> T:
    """What the call returns. Raises TimeoutError, with its traceback, where it computes for longer than it may."""
    seconds = _limit.get()
    if seconds is None:
        return call()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        thread.join(seconds)
        while frames := _frames(thread):
            if not any(str(frame.f_globals.get("__name__")).startswith("thimble.models.") for frame in frames):
                raise TimeoutError(f"it has not ended after {seconds:g} seconds")
            thread.join(seconds)
    except (TimeoutError, KeyboardInterrupt) as error:
        where: TracebackType | None = None
        for frame in _frames(thread):
            where = TracebackType(where, frame, frame.f_lasti, frame.f_lineno)
        _end(thread)
        raise error.with_traceback(where) from None
    if errors:
        raise errors[0]
    return results[0]


def _frames(thread: Thread) -> list[FrameType]:
    """What a thread is in, the innermost first; nothing where it has ended."""
    frames, frame = [], sys._current_frames().get(thread.ident or 0) if thread.is_alive() else None
    while frame:
        frames.append(frame)
        frame = frame.f_back
    return frames


def _end(thread: Thread) -> None:
    """Ask a thread to end, which it does at its next line of Python: it would go on computing, and printing."""
    from ctypes import c_ulong, py_object, pythonapi

    pythonapi.PyThreadState_SetAsyncExc(c_ulong(thread.ident or 0), py_object(SystemExit))
    thread.join(0.1)


def guarded(call: Callable[[], T], what: str) -> T:
    """What the call returns. Raises UsageError, in words that begin with `what`, for anything but Ctrl-C."""
    try:
        return in_time(call)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise UsageError(f"{what}: {in_words(error)}", HOW_TO_RETRY) from error


def in_words(error: BaseException) -> str:
    """The type of an error and its message, as `in_line` cuts them; the type alone if the message itself fails."""
    said = "an error"
    try:
        said = str.__str__(type(error).__name__)
        said = f"{said}: {error}"
    except BaseException:  # its own code makes the message
        pass
    return in_line(said).removesuffix(":")


def in_line(text: str) -> str:
    """The beginning of a foreign text as one line: printable letters, at most `ERROR_LETTERS`."""
    begun = CONTROL_SEQUENCE.sub("", str.__str__(text)[: 2 * ERROR_LETTERS])
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in begun).split())
    return line if len(line) <= ERROR_LETTERS else f"{line[: ERROR_LETTERS - 1]}…"
