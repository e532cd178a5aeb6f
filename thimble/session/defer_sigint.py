"""Uninterrupted: what Ctrl-C must not leave half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def defer_sigint() -> Iterator[None]:
    """Ctrl-C is heard at the end of this."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield  # it is heard elsewhere: by another thread, or by what Python is embedded in
        return
    heard: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if heard and callable(before):
            before(*heard[0])
