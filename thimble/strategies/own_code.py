"""Run the user's code, such as a strategy: its errors are one line each, and Ctrl-C in it stays Ctrl-C.

Without a user at the keyboard, it may have a time limit, kept by an alarm.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from traceback import walk_stack
from types import FrameType
from typing import TypeVar

from thimble.agent.errors import UsageError, in_words

T = TypeVar("T")

HOW_TO_RETRY = "correct it, then select the strategy again"

MAX_SECONDS = 30.0
"""Time limit of the code if no user can press Ctrl-C; while it waits for a model, that model's limits hold."""
PYTHON_LIMITS = (
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (sys.get_int_max_str_digits, sys.set_int_max_str_digits),
)
_limit: ContextVar[float | None] = ContextVar("limit", default=None)


@contextmanager
def limit_seconds(seconds: float | None = None) -> Iterator[None]:
    """Limit each call of such code inside the block to `seconds`, by default `MAX_SECONDS`."""
    before = _limit.set(seconds or MAX_SECONDS)
    try:
        yield
    finally:
        _limit.reset(before)


class TimedOut(BaseException):
    """The user's code computed for longer than its limit. Not an Exception: the code may catch each of those."""


def in_time(call: Callable[[], T]) -> T:
    """The result of the call. Code that catches one `TimedOut` and continues ends the program at the next.

    Limits of Python that the code changes are restored.

    The alarm interrupts only the main thread of a POSIX system; anywhere else there is no limit.

    Raises:
        TimedOut: the code computes for longer than its limit.
    """
    before = [(put_back, ask()) for ask, put_back in PYTHON_LIMITS]
    try:
        return _in_time(call)
    finally:
        for put_back, limit in before:
            put_back(limit)


def _in_time(call: Callable[[], T]) -> T:
    seconds = _limit.get()
    if seconds is None or sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        return call()
    told = f"it has not ended after {seconds:g} seconds"
    raised = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal raised
        if any(one.f_globals.get("__name__", "").startswith("thimble.models.") for one, _ in walk_stack(frame)):
            return  # it waits for a model, whose own limits hold
        if raised:
            said = f"thimble: {told}, and catches the exception that ends it\nfix: catch Exception only\n"
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, said.encode())
            os._exit(2)
        raised = True
        raise TimedOut(told)

    before = signal.signal(signal.SIGALRM, stop)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        return call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)


def call_guarded(call: Callable[[], T], what: str) -> T:
    """The result of the call. Raises UsageError, whose text starts with `what`, for anything but Ctrl-C."""
    try:
        return in_time(call)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise UsageError(f"{what}: {in_words(error)}", HOW_TO_RETRY) from error
