"""Interrupts: when Ctrl-C may end something."""

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
    """Ctrl-C interrupts only what allows it: never a drawing, nor the cleanup after another Ctrl-C."""

    def __init__(self) -> None:
        self._heard_one = False
        self._may_raise = False
        self._raised = False
        self._again: threading.Timer | None = None

    def __enter__(self) -> Interrupts:
        """Handle SIGINT."""
        self._before = signal.signal(signal.SIGINT, self._on_sigint)
        self._told_before, sys.unraisablehook = sys.unraisablehook, self._on_unraisable
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
        """Let Ctrl-C raise KeyboardInterrupt at once in this block, again once the first was caught and handled."""
        self._may_raise, self._raised = True, False
        try:
            yield
        finally:
            self._may_raise = False

    def stopping(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield the events; Ctrl-C raises KeyboardInterrupt while waiting for one, or after it has been shown."""
        self._heard_one = False
        source = iter(events)
        while not self._heard_one:
            with self.allowed():
                event = next(source, None)
            if event is None:
                return
            yield event
        raise KeyboardInterrupt

    def _on_sigint(self, number: int, frame: FrameType | None) -> None:
        self._heard_one = True
        tidying = self._raised and sys.exc_info()[0]
        if self._may_raise and not tidying:
            self._raised = True
            raise KeyboardInterrupt

    def _on_unraisable(self, unraisable: sys.UnraisableHookArgs) -> None:
        """Repeat a Ctrl-C a moment later if it came in a finaliser, where Python drops exceptions."""
        if unraisable.exc_type is not KeyboardInterrupt:
            self._told_before(unraisable)
            return
        self._raised = False
        self._again = threading.Timer(AGAIN_SECONDS, _interrupt)
        self._again.start()


def _interrupt() -> None:
    """Send Ctrl-C to the main thread, and wake it if the system can."""
    main = threading.main_thread().ident
    if sys.platform == "win32" or main is None:
        signal.raise_signal(signal.SIGINT)
    else:
        signal.pthread_kill(main, signal.SIGINT)
