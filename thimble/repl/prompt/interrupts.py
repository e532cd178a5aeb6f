"""Interrupts: what Ctrl-C ends, and when."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from thimble.agent.events import Event

AGAIN_SECONDS = 0.02


class Interrupts:
    """Ctrl-C ends what can be ended, and never cuts a drawing, or the tidying up after another Ctrl-C, short."""

    def __init__(self) -> None:
        self._heard_one = False
        self._may_raise = False
        self._raised = False
        self._again: threading.Timer | None = None

    def __enter__(self) -> Interrupts:
        """Listen."""
        self._before = signal.signal(signal.SIGINT, self._hear)
        self._told_before, sys.unraisablehook = sys.unraisablehook, self._lost
        return self

    def __exit__(self, *_: object) -> None:
        """Give Ctrl-C back its usual meaning."""
        if self._again:
            self._again.cancel()
            self._again.join()
        sys.unraisablehook = self._told_before
        signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Where Ctrl-C raises KeyboardInterrupt at once; another one too, where the first was caught and is over."""
        self._may_raise, self._raised = True, False
        try:
            yield
        finally:
            self._may_raise = False

    def stopping(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events; Ctrl-C raises KeyboardInterrupt while one is waited for, or when it has been shown."""
        self._heard_one = False
        source = iter(events)
        while not self._heard_one:
            with self.allowed():
                event = next(source, None)
            if event is None:
                return
            yield event
        raise KeyboardInterrupt

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._heard_one = True
        tidying = self._raised and sys.exc_info()[0]
        if self._may_raise and not tidying:
            self._raised = True
            raise KeyboardInterrupt

    def _lost(self, unraisable: sys.UnraisableHookArgs) -> None:
        """Python drops what is raised in a finaliser: Ctrl-C that came there is heard once more, a moment later."""
        if unraisable.exc_type is not KeyboardInterrupt:
            self._told_before(unraisable)
            return
        self._raised = False
        self._again = threading.Timer(AGAIN_SECONDS, _interrupt)
        self._again.start()


def _interrupt() -> None:
    """Ctrl-C for the main thread, which it wakes where the system can do that."""
    main = threading.main_thread().ident
    if sys.platform == "win32" or main is None:
        signal.raise_signal(signal.SIGINT)
    else:
        signal.pthread_kill(main, signal.SIGINT)
