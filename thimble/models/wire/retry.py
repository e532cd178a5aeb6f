"""Repeated requests to a busy server: with growing pauses, and only before its reply begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import random

from thimble.agent.errors import ModelError
from thimble.agent.protocols import Waiting

TRIES = 4
FIRST_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
"""If the server asks for a longer pause, the request fails at once."""


class Busy(ModelError):
    """The server did not accept the request, and nothing of a reply has come: the same request may be sent again.

    `state` gives the reason in a few words. `after_seconds` is the pause that the server asks for (Retry-After), or
    None.
    """

    def __init__(
        self, what: str, fix: str = "", *, state: str = "the server is busy", after_seconds: float | None = None
    ) -> None:
        super().__init__(what, fix)
        self.state = state
        self.after_seconds = after_seconds


class Retry:
    """The pauses before one request is sent again, which it is up to three times.

    They are 0.5, 1 and 2 s and up to a quarter more, so that many clients do not return at once, or as long as the
    server asks for.

    Args:
        seconds_left: The time that is left for pauses.
        jitter: A random number from 0 to 1.
    """

    def __init__(
        self,
        seconds_left: Callable[[], float] = lambda: LONGEST_PAUSE_SECONDS,
        jitter: Callable[[], float] = random,
    ) -> None:
        self._seconds_left = seconds_left
        self._jitter = jitter
        self._tried = 0

    def pause(self, busy: Busy) -> Waiting:
        """The pause before the next try, which the caller makes.

        Raises the Busy itself after the last try, and where the server asks for a pause of more than 30 s or than is
        left.
        """
        seconds = FIRST_SECONDS * 2**self._tried * (1 + self._jitter() / 4)
        seconds = max(seconds, busy.after_seconds or 0)
        self._tried += 1
        if self._tried == TRIES or seconds > min(LONGEST_PAUSE_SECONDS, self._seconds_left()):
            raise busy
        return Waiting(f"{busy.state}: again in {seconds:.1f} s", seconds=seconds)


def after_seconds(headers: Mapping[str, str]) -> float | None:
    """The pause in seconds that a response asks for with Retry-After; None without one."""
    value = headers.get("retry-after", "").strip()
    return float(value[:9]) if value.isascii() and value.isdigit() else None
