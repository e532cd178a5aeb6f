"""The keyboard while no prompt reads it: silent, so that nothing is echoed into what is drawn, or read key by key."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType

PASTES_UNMARKED = b"\x1b[?2004l"
GIVE_BACK = PASTES_UNMARKED + b"\x1b[?7h\x1b[?25h\x1b[m\r\n\x1b[J"
"""Resets a terminal: no marked pastes, long lines wrapped, cursor shown, no colour, a fresh line, nothing below."""
NEXT_STEP, RUN_ON = (b"\r", b"\n", b" "), (b"a", b"\x04", b"")


@contextmanager
def silent_keyboard(drawn: bool) -> Iterator[None]:
    """Typed keys are not echoed into the drawing; they wait, Enter as Enter, for the next prompt. Pastes are marked.

    The keyboard is silent again after Ctrl-Z and `fg`. On SIGTERM, SIGHUP and SIGQUIT the terminal is reset (echo,
    cursor, a fresh line) before the process exits.
    """
    if not (drawn and _has_keys()):
        yield
        return
    import termios

    before = termios.tcgetattr(sys.stdin)

    def die(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        with suppress(OSError, termios.error):  # the terminal may be what has gone
            termios.tcsetattr(sys.stdin, termios.TCSANOW, before)
            os.write(sys.stdin.fileno(), GIVE_BACK)
        os.kill(os.getpid(), number)

    ends = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    mortal = [number for number in ends if signal.getsignal(number) == signal.SIG_DFL]  # nohup has one ignored
    _silence()
    try:
        with _heard({**dict.fromkeys(mortal, die), signal.SIGCONT: _silence_again}):
            yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, before)
        with suppress(OSError):
            os.write(sys.stdin.fileno(), PASTES_UNMARKED)


def _silence() -> None:
    """No echo, and each key at once; Ctrl-C drops none of those before it."""
    import termios
    import tty

    silent = termios.tcgetattr(sys.stdin)
    silent[tty.IFLAG] &= ~termios.ICRNL
    silent[tty.LFLAG] = silent[tty.LFLAG] & ~(termios.ECHO | termios.ICANON) | termios.NOFLSH
    termios.tcsetattr(sys.stdin, termios.TCSANOW, silent)


def _silence_again(*_: object) -> None:
    if os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp():  # in the background the terminal is another's
        _silence()


@contextmanager
def _heard(handlers: Mapping[signal.Signals, Callable[[int, FrameType | None], None]]) -> Iterator[None]:
    """Signals go to these handlers, and afterwards to the former ones."""
    former = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def forget() -> None:
    """Drop the keys typed so far, so that none of them skips a step."""
    if _has_keys():
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def key() -> bool:
    """Wait for a key of the presenter; False to run on, as without a terminal."""
    while _has_keys():
        here = sys.stdin.fileno()
        select.select([here], [], [])
        try:
            typed = os.read(here, 1024)  # all of a paste, or of what an arrow key sends
        except OSError:  # the terminal has gone
            break
        if typed in RUN_ON:
            break
        if typed[:1] in NEXT_STEP and len(set(typed)) == 1:
            return True
    return False


def _has_keys() -> bool:
    return sys.platform != "win32" and sys.stdin is not None and sys.stdin.isatty()
