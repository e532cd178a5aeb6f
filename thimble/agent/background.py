"""Background: calls of a side model that run while the agent works. Each ends by itself, or is stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from thimble.agent.errors import Halted, ModelError
from thimble.agent.reply import Reply

STOP_SECONDS = 1.0
"""The longest wait for a stopped call to let go of its connection."""
SLICE_SECONDS = 0.05
"""A call that waits for its server checks this often whether it was stopped."""
_here = threading.local()


def raise_if_halted() -> None:
    """Raise Halted if this thread runs a background call that was stopped; otherwise do nothing."""
    errand: BackgroundCall | None = getattr(_here, "errand", None)
    if errand and errand.stopped:
        raise Halted


def current_stop_event() -> threading.Event | None:
    """The event that is set when this thread's background call is stopped; None in any other thread."""
    errand: BackgroundCall | None = getattr(_here, "errand", None)
    return errand.halt if errand else None


def sleep_or_halt(seconds: float) -> None:
    """Sleep; raise Halted as soon as this thread's background call is stopped."""
    errand: BackgroundCall | None = getattr(_here, "errand", None)
    if errand is None:
        time.sleep(seconds)
    elif errand.halt.wait(seconds):
        raise Halted


class Worker(Protocol):
    """Runs background calls one at a time: at once, later, or never."""

    def start(self, errand: BackgroundCall) -> None:
        """Accept a call."""

    def look(self, errand: BackgroundCall) -> None:
        """Called when the agent prepares its own next call and checks whether this one has ended."""

    def wait(self, errand: BackgroundCall) -> None:
        """Return when the call has ended."""


@dataclass(eq=False)
class BackgroundCall:
    """A call in the background: its request, and once it has ended, its reply or its error.

    `steps` counts the agent's calls that were prepared while it ran. `held_seconds` is the time that the agent waited
    for it. `began` is in seconds since 1970. `bug` is any error but a ModelError. `then` is called when the loop learns
    that it has ended; it raises nothing.
    """

    ask: Callable[[Reply], None]
    worker: Worker
    reply: Reply = field(default_factory=Reply)
    error: str = ""
    bug: Exception | None = None
    began: float = 0.0
    seconds: float = 0.0
    steps: int = 0
    held_seconds: float = 0.0
    then: Callable[[], object] = lambda: None
    halt: threading.Event = field(default_factory=threading.Event)
    _end: threading.Event = field(default_factory=threading.Event)

    @property
    def ended(self) -> bool:
        """Whether there is a reply or an error."""
        return self._end.is_set()

    @property
    def stopped(self) -> bool:
        """Whether the reply is no longer wanted."""
        return self.halt.is_set()

    def look(self) -> bool:
        """Whether it has ended; the agent checks before each of its own calls."""
        if not self.ended:
            self.worker.look(self)
        self.steps += not self.ended
        return self.ended

    @property
    def text(self) -> str:
        """The reply; "" if the call failed or was stopped. Raises any error but a ModelError: it is a bug."""
        if self.bug:
            raise self.bug
        return "" if self.error or self.stopped else self.reply.text

    def wait(self) -> None:
        """Return when it has ended."""
        began = time.perf_counter()
        if not self.ended:
            try:
                self.worker.wait(self)
            finally:
                self.held_seconds += time.perf_counter() - began

    def run(self) -> None:
        """Send the request, in the worker's thread."""
        _here.errand = self
        self.reply = Reply()  # its seconds begin here
        self.began = self.reply.began
        try:
            raise_if_halted()
            self.ask(self.reply)
        except (ModelError, Halted) as failure:
            self.error = failure.what
        except Exception as failure:  # raised again when the text is read
            self.bug, self.error = failure, f"{type(failure).__name__}: {failure}"
        except BaseException:  # Ctrl-C, if it runs in the main thread: a partial text is not a reply
            self.halt.set()
            raise
        finally:
            self.seconds = self.reply.seconds
            _here.errand = None
            self._end.set()

    def stop(self) -> None:
        """End it now, without a reply. Its connection is closed within moments."""
        self.halt.set()
        if self.began:
            self._end.wait(STOP_SECONDS)
        self._end.set()


class Thread:
    """A worker that runs calls in daemon threads, so that a process that ends does not wait for them."""

    def __init__(self) -> None:
        self._one = threading.Lock()

    def start(self, errand: BackgroundCall) -> None:
        """Run it as soon as the previous one has ended."""
        threading.Thread(target=self._run, args=(errand,), name="memory", daemon=True).start()

    def _run(self, errand: BackgroundCall) -> None:
        with self._one:
            errand.run()

    def look(self, errand: BackgroundCall) -> None:
        """Do nothing: the call runs in its own thread."""

    def wait(self, errand: BackgroundCall) -> None:
        """Wait until it has ended; Ctrl-C still interrupts."""
        while not errand.ended:
            errand._end.wait(SLICE_SECONDS)
