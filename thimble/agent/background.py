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
"""How soon a call that waits for its server knows that it was stopped."""
_here = threading.local()


def check() -> None:
    """Raise Halted in a call in the background that was stopped. Does nothing anywhere else."""
    errand: BackgroundCall | None = getattr(_here, "errand", None)
    if errand and errand.stopped:
        raise Halted


def halt() -> threading.Event | None:
    """Is set when the call in the background that asks is stopped; None anywhere else."""
    errand: BackgroundCall | None = getattr(_here, "errand", None)
    return errand.halt if errand else None


def pause(seconds: float) -> None:
    """Sleep; a call in the background that is stopped raises Halted at once."""
    errand: BackgroundCall | None = getattr(_here, "errand", None)
    if errand is None:
        time.sleep(seconds)
    elif errand.halt.wait(seconds):
        raise Halted


class Worker(Protocol):
    """Does one errand at a time: at once, later, or never."""

    def start(self, errand: BackgroundCall) -> None:
        """Take an errand on."""

    def look(self, errand: BackgroundCall) -> None:
        """The agent prepares a call and looks whether the errand has ended."""

    def wait(self, errand: BackgroundCall) -> None:
        """Return when the errand has ended."""


@dataclass(eq=False)
class BackgroundCall:
    """One call in the background: what it asks, and when it has ended, the reply or the error.

    `steps` counts the calls of the agent that were prepared without it. `held_seconds` is the time that the agent
    waited for it. `began` is in seconds since 1970. `bug` is any error but a ModelError. `then` is called when the
    loop knows of the end; it raises nothing.
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
        """Whether it has ended, as the agent prepares its next call."""
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
        """Ask, in the thread of the worker."""
        _here.errand = self
        self.reply = Reply()  # its seconds begin here
        self.began = self.reply.began
        try:
            check()
            self.ask(self.reply)
        except (ModelError, Halted) as failure:
            self.error = failure.what
        except Exception as failure:  # raised again where the reply is wanted
            self.bug, self.error = failure, f"{type(failure).__name__}: {failure}"
        except BaseException:  # Ctrl-C, where no thread does it: what was written so far is no reply
            self.halt.set()
            raise
        finally:
            self.seconds = self.reply.seconds
            _here.errand = None
            self._end.set()

    def stop(self) -> None:
        """Let it end now, without a reply. Its connection is closed within moments."""
        self.halt.set()
        if self.began:
            self._end.wait(STOP_SECONDS)
        self._end.set()


class Thread:
    """A worker in a thread of its own, which a process that ends does not wait for."""

    def __init__(self) -> None:
        self._one = threading.Lock()

    def start(self, errand: BackgroundCall) -> None:
        """Run it as soon as the one before has ended."""
        threading.Thread(target=self._run, args=(errand,), name="memory", daemon=True).start()

    def _run(self, errand: BackgroundCall) -> None:
        with self._one:
            errand.run()

    def look(self, errand: BackgroundCall) -> None:
        """Nothing: it runs by itself."""

    def wait(self, errand: BackgroundCall) -> None:
        """Until it has ended; Ctrl-C is heard meanwhile."""
        while not errand.ended:
            errand._end.wait(SLICE_SECONDS)
