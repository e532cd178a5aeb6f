"""Ctrl-C (SIGINT), held off for a moment: deferred, or ignored. At a prompt it is `thimble.repl.prompt.interrupts`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def defer_sigint() -> Iterator[None]:
    """Handle Ctrl-C at the end of this block."""
    heard: list[tuple[int, FrameType | None]] = []
    try:
        with _handled_by(lambda number, frame: heard.append((number, frame))):
            yield
    finally:
        handler = signal.getsignal(signal.SIGINT)
        if heard and callable(handler):
            handler(*heard[0])


@contextmanager
def ignore_sigint() -> Iterator[None]:
    """Ignore Ctrl-C in this block. A process that is started in it ignores it for good."""
    with _handled_by(signal.SIG_IGN):
        yield


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], object] | signal.Handlers) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield  # another thread handles it, or the program that embeds Python
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
