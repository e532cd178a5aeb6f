"""Repeated requests to a busy server: with growing pauses, and only before its reply starts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from random import random
from typing import TypeVar

from thimble.agent.errors import ModelError
from thimble.agent.protocols import Waiting

T = TypeVar("T")

MAX_TRIES = 4
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


def retry_busy(
    ask: Callable[[], Iterable[T]],
    sleep: Callable[[float], object],
    seconds_left: Callable[[], float] = lambda: LONGEST_PAUSE_SECONDS,
    jitter: Callable[[], float] = random,
) -> Generator[T | Waiting, None, None]:
    """The items that `ask` yields; if it raises Busy, it is called up to three more times, each after a `Waiting`.

    The pauses are 0.5, 1 and 2 s and up to a quarter more, so that many clients do not return at once, or as long as
    the server asks for. Raises the last Busy, at once if the server asks for more than 30 s or than is left.
    """
    for tried in range(MAX_TRIES):
        try:
            yield from ask()
            return
        except Busy as busy:
            pause = max(FIRST_SECONDS * 2**tried * (1 + jitter() / 4), busy.after_seconds or 0)
            if tried == MAX_TRIES - 1 or pause > min(LONGEST_PAUSE_SECONDS, seconds_left()):
                raise
            waiting = Waiting(f"{busy.state}: again in {pause:.1f} s", pause)
        yield waiting
        sleep(pause)


def after_seconds(headers: Mapping[str, str]) -> float | None:
    """The pause in seconds that a response asks for with Retry-After; None without one."""
    value = headers.get("retry-after", "").strip()
    return float(value[:9]) if value.isascii() and value.isdigit() else None
