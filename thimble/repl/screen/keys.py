"""The keyboard outside the prompt: without echo, so that typing does not disturb the screen, or read key by key."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType

PASTES_UNMARKED = b"\x1b[?2004l"
RESET_TERMINAL = PASTES_UNMARKED + b"\x1b[?7h\x1b[?25h\x1b[m\r\n\x1b[J"
"""Resets a terminal: no bracketed paste, long lines wrapped, cursor shown, no colour, a fresh line, nothing below."""
NEXT_STEP, RUN_ON = (b"\r", b"\n", b" "), (b"a", b"\x04", b"")


@contextmanager
def silent_keyboard(drawn: bool) -> Iterator[None]:
    """Turn off the echo of typed keys; they wait, Enter as Enter, for the next prompt. Pastes stay bracketed.

    The echo is off again after Ctrl-Z and `fg`. On SIGTERM, SIGHUP and SIGQUIT the terminal is reset (echo, cursor, a
    fresh line) before the process exits.
    """
    if not (drawn and _has_keys()):
        yield
        return
    import termios

    before = termios.tcgetattr(sys.stdin)

    def die(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        with suppress(OSError, termios.error):  # the terminal itself may be gone
            termios.tcsetattr(sys.stdin, termios.TCSANOW, before)
            os.write(sys.stdin.fileno(), RESET_TERMINAL)
        os.kill(os.getpid(), number)

    ends = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    mortal = [number for number in ends if signal.getsignal(number) == signal.SIG_DFL]  # nohup ignores SIGHUP
    _disable_echo()
    try:
        with _signal_handlers({**dict.fromkeys(mortal, die), signal.SIGCONT: _disable_echo_again}):
            yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, before)
        with suppress(OSError):
            os.write(sys.stdin.fileno(), PASTES_UNMARKED)


def _disable_echo() -> None:
    """Turn off echo and line buffering; Ctrl-C does not flush keys typed before it."""
    import termios
    import tty

    silent = termios.tcgetattr(sys.stdin)
    silent[tty.IFLAG] &= ~termios.ICRNL
    silent[tty.LFLAG] = silent[tty.LFLAG] & ~(termios.ECHO | termios.ICANON) | termios.NOFLSH
    termios.tcsetattr(sys.stdin, termios.TCSANOW, silent)


def _disable_echo_again(*_: object) -> None:
    if os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp():  # in the background the terminal belongs to another process
        _disable_echo()


@contextmanager
def _signal_handlers(handlers: Mapping[signal.Signals, Callable[[int, FrameType | None], None]]) -> Iterator[None]:
    """Install these signal handlers, and restore the former ones afterwards."""
    former = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def drop_typed_keys() -> None:
    """Drop the keys typed so far, so that they do not skip a step."""
    if _has_keys():
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def wait_for_key() -> bool:
    """Wait for a key of the presenter; return False to stop waiting, also without a terminal."""
    while _has_keys():
        here = sys.stdin.fileno()
        select.select([here], [], [])
        try:
            typed = os.read(here, 1024)  # a whole paste or escape sequence
        except OSError:  # the terminal has gone
            break
        if typed in RUN_ON:
            break
        if typed[:1] in NEXT_STEP and len(set(typed)) == 1:
            return True
    return False


def _has_keys() -> bool:
    return sys.platform != "win32" and sys.stdin is not None and sys.stdin.isatty()
