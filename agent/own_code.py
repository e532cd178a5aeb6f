"""Code of the user's own, such as a strategy: Ctrl-C ends it whatever it catches, and its errors are one line each."""

from __future__ import annotations

import re
import signal
import sys
import threading
from collections.abc import Callable
from time import monotonic
from types import FrameType
from typing import Any, ClassVar, TypeVar

from agent.errors import UsageError

T = TypeVar("T")

HOW_TO_RETRY = "mend it, and name it again"

CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
ERROR_LETTERS = 300
"""The most letters that are shown of an error."""
TICK_SECONDS = 10e-6
"""How soon what catches Ctrl-C is stopped again: before it can go round once more."""
LAST_SECONDS = 1.0
"""How long after the second Ctrl-C another one ends the program."""
OURS = ("agent.side", "corpus.", "models.", "tools.")
"""The modules that work for such code, as in asking a model: only a Ctrl-C that is pressed cuts them short."""


def run(call: Callable[[], T]) -> T:
    """What the call returns or raises; in it each Ctrl-C raises KeyboardInterrupt, and none that is caught is lost.

    The code may catch the first and tidy up: it is stopped when it is done. From the second on KeyboardInterrupt is
    raised again and again until the code is left, however often it is caught (where the system has no interval timer,
    as on Windows, once for each press). If it still goes on a second later, the next one ends the program, as SIGTERM
    does. A single function in C that neither returns nor looks for signals cannot be stopped.
    """
    if threading.current_thread() is not threading.main_thread() or not callable(signal.getsignal(signal.SIGINT)):
        return call()
    if _Listening.now:
        if _within(sys._getframe()):
            return call()
        _Listening.now.end()  # an interrupt kept it from that
    return _run(call)


def _run(call: Callable[[], T]) -> T:
    """The frame by which an interrupt knows that the code still runs."""
    listening = _Listening.now = _Listening()
    try:
        made = call()
    except Exception as error:
        if listening.heard:
            raise KeyboardInterrupt from error
        raise
    finally:
        listening.end()
    if listening.heard:
        raise KeyboardInterrupt
    return made


def _within(frame: FrameType | None) -> bool:
    while frame and frame.f_code is not _run.__code__:
        frame = frame.f_back
    return frame is not None


def guarded(call: Callable[[], T], what: str) -> T:
    """What the call returns. Raises UsageError, in words that begin with `what`, for anything that it raises."""

    def tried() -> T:
        try:
            return call()
        except BaseException as error:  # a Ctrl-C among them is known to `run`
            raise UsageError(f"{what}: {in_words(error)}", HOW_TO_RETRY) from error

    return run(tried)


def check() -> None:
    """Raise KeyboardInterrupt if such code was stopped and still runs: nothing is done for it any more."""
    if _Listening.now and _Listening.now.heard and _within(sys._getframe()):
        raise KeyboardInterrupt


def in_words(error: BaseException) -> str:
    """The type of an error and its message, as `in_line` cuts them; the type alone if the message itself fails."""

    def said() -> str:
        name = "an error"
        try:
            name = str.__str__(type(error).__name__)
            return f"{name}: {error}"
        except BaseException:  # as above
            return name

    return in_line(run(said)).removesuffix(":")


def in_line(text: str) -> str:
    """The beginning of a foreign text as one line: printable letters, at most `ERROR_LETTERS`."""
    begun = CONTROL.sub("", str.__str__(text)[: 2 * ERROR_LETTERS])
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in begun).split())
    return line if len(line) <= ERROR_LETTERS else f"{line[: ERROR_LETTERS - 1]}…"


class _Listening:
    """Hears Ctrl-C in place of the handler before it, as long as such code runs."""

    now: ClassVar[_Listening | None] = None

    def __init__(self) -> None:
        self.heard = 0
        self._second_at = 0.0
        self._over = False
        self._before: Any = signal.signal(signal.SIGINT, self._hear)

    def end(self) -> None:
        """Give Ctrl-C back. The handler of the timer stays, since a signal of it may still be on its way."""
        self._over = True
        if self.heard > 1:
            _timer(0)
        if signal.getsignal(signal.SIGINT) == self._hear:
            signal.signal(signal.SIGINT, self._before)
        _Listening.now = None

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._is_over(frame):
            self._before(number, frame)
            return
        self.heard += 1
        if self.heard == 2:
            self._second_at = monotonic()
            if hasattr(signal, "SIGALRM"):
                signal.signal(signal.SIGALRM, self._again)
            _timer(TICK_SECONDS)
        elif self.heard > 2 and monotonic() - self._second_at > LAST_SECONDS:
            self.end()
            signal.raise_signal(signal.SIGTERM)
        self._before(number, frame)
        raise KeyboardInterrupt

    def _again(self, number: int, frame: FrameType | None) -> None:
        asked = False
        try:
            if self._is_over(frame):
                return
            while frame and frame.f_code is not _run.__code__ and not asked:
                asked = frame.f_globals.get("__name__", "").startswith(OURS)
                frame = frame.f_back
            _timer(TICK_SECONDS)  # last of all, so that it does not hear itself
        except RecursionError:  # the code is as deep as it can be
            pass
        if not asked:
            raise KeyboardInterrupt

    def _is_over(self, frame: FrameType | None) -> bool:
        if not self._over and not _within(frame):
            self.end()
        return self._over


def _timer(seconds: float) -> None:
    """SIGALRM so much later, and then now and then; never again for 0."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds, 100 * seconds)
