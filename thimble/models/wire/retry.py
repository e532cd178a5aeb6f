"""Repeated requests to a busy server: with growing pauses, and only before its reply begins."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from random import random

from thimble.agent.background import pause
from thimble.agent.errors import ModelError
from thimble.agent.protocols import Delta, Waiting

TRIES = 4
FIRST_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
"""If the server asks for a longer pause, the request fails at once."""

Stream = Generator[Delta, None, None]


class Busy(ModelError):
    """The server did not accept the request, so that the same request may be sent again.

    `state` gives the reason in a few words. `after_seconds` is the pause that the server asks for (Retry-After), or
    None.
    """

    def __init__(
        self, what: str, fix: str = "", *, state: str = "the server is busy", after_seconds: float | None = None
    ) -> None:
        super().__init__(what, fix)
        self.state = state
        self.after_seconds = after_seconds


def retried(
    ask: Callable[[], Stream],
    *,
    sleep: Callable[[float], object] = pause,
    jitter: Callable[[], float] = random,
    seconds_left: Callable[[], float] = lambda: LONGEST_PAUSE_SECONDS,
) -> Stream:
    """The deltas of a reply, asked for up to four times while the server is Busy; a Waiting precedes each pause.

    The pauses are 0.5, 1 and 2 s and up to a quarter more, so that many clients do not return at once, or as long as
    the server asks for. After a delta other than Waiting, the request is not repeated.

    Args:
        ask: Sends the request and streams the reply.
        sleep: Waits for a number of seconds.
        jitter: A random number from 0 to 1.
        seconds_left: The time that is left for pauses.

    Raises:
        Busy: The server is still busy after the last try, or asks for a pause of more than 30 s or than is left.
    """
    for tried in range(1, TRIES + 1):
        begun = False
        try:
            with closing(ask()) as deltas:
                for delta in deltas:
                    begun = begun or not isinstance(delta, Waiting)
                    yield delta
            return
        except Busy as busy:
            pause = FIRST_SECONDS * 2 ** (tried - 1) * (1 + jitter() / 4)
            pause = max(pause, busy.after_seconds or 0)
            if begun or tried == TRIES or pause > min(LONGEST_PAUSE_SECONDS, seconds_left()):
                raise
            state = busy.state
        yield Waiting(f"{state}: again in {pause:.1f} s", seconds=pause)
        sleep(pause)


def after_seconds(headers: Mapping[str, str]) -> float | None:
    """The pause in seconds that a response asks for with Retry-After; None without one."""
    value = headers.get("retry-after", "").strip()
    return float(value[:9]) if value.isascii() and value.isdigit() else None
