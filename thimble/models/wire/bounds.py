"""The bounds of what a model server may send, and what an answer has used of them.

`agent.foreign` bounds the depth of what is sent, `agent.reply` how long a call may be, and
`agent.loop` how many are run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from thimble.agent.errors import ModelError

ASK_SECONDS = 10.0
"""Longest silence in an answer other than a model's reply …"""
ASK_WHOLE_SECONDS = 30.0
"""… and the longest time for all of it. The settings of a reply bound both too, if they are shorter."""
CONNECT_SECONDS = 5.0
REPLY_SECONDS = 1_800.0
"""The longest time for a whole reply, if no setting says another: its retries and pauses included."""
REPLY_BYTES = 256_000_000
"""Bytes of a streamed reply."""
REPLY_CHARACTERS = 1_000_000
"""Characters of a reply: text, thinking, and the names and arguments of calls. No model here writes a tenth of them."""
REPLY_CALLS = 1_000
"""Tool calls of a reply that are read."""
LINE_BYTES = 4_000_000
"""Bytes of a line or an event of a stream."""
ANSWER_BYTES = 16_000_000
"""Bytes of an answer in one piece. A large vocabulary has 13 million."""
NAME_CHARACTERS = 256
"""Characters of a name or an id that a server gives."""
TOLD_CHARACTERS = 300
"""Characters of a server's own words in an error."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of one answer: seconds without progress, seconds in all, and bytes."""

    quiet_seconds: float
    whole_seconds: float
    bytes: int = ANSWER_BYTES


class Allowance:
    """What an answer has used of its bounds. Each method but `is_over` raises ModelError where a bound is passed."""

    def __init__(self, bounds: Bounds, url: str) -> None:
        self.bounds = bounds
        self._is_ours = False
        self._url = url
        self._begun = monotonic()
        self.again()

    def again(self) -> None:
        """Begin anew with all but the seconds of the whole: the same question is asked once more."""
        self._grown = monotonic()
        self._length = self._bytes = 0
        self._is_ended = False

    def seconds_left(self) -> float:
        """Seconds left for the whole; none where it is negative."""
        return self._begun + self.bounds.whole_seconds - monotonic()

    @property
    def is_over(self) -> bool:
        """Whether there was no progress for too long, or the time for the whole is over."""
        return self._is_ended or (not self._is_ours and min(self._quiet_left(), self.seconds_left()) <= 0)

    def end(self) -> None:
        """Let it be over, whatever comes: its connection is ended."""
        self._is_ended = True

    @contextmanager
    def ours(self) -> Iterator[None]:
        """While our side is at work with what came: that is no silence of the server."""
        self._is_ours, since = True, monotonic()
        yield
        self._grown += monotonic() - since
        self._is_ours = False

    def take(self, count: int) -> None:
        """Count bytes that came."""
        self._bytes += count
        if self._bytes > self.bounds.bytes:
            raise endless()
        if self.is_over:
            raise self.late()

    def grow(self, length: int) -> None:
        """See how long the answer is by now, in characters or bytes: only what makes it longer is progress."""
        if length > self._length:
            self._length, self._grown = length, monotonic()
        if self.is_over:
            raise self.late()

    def say(self, length: int) -> None:
        """See how many characters the model has said by now."""
        if length > REPLY_CHARACTERS:
            raise endless()
        self.grow(length)

    def late(self) -> ModelError:
        """The error for an answer that did not come in time: it says which time was too long."""
        if self._quiet_left() <= self.seconds_left():
            return silent(self._url, self.bounds.quiet_seconds)
        what = f"no whole answer came from {self._url} in {self.bounds.whole_seconds:g} seconds"
        return ModelError(what, "ask for less at once, take a faster model, or wait longer: --reply-timeout SECONDS")

    def _quiet_left(self) -> float:
        return self._grown + self.bounds.quiet_seconds - monotonic()


def endless() -> ModelError:
    """The error for an answer that is longer than any that makes sense."""
    return ModelError("the server does not end its answer", "ask again, or take another model or server")


def silent(url: str, seconds: float) -> ModelError:
    """The error for a server that sends nothing, or nothing of the answer."""
    what = f"nothing came from {url} for {seconds:g} seconds"
    return ModelError(what, "it may be loading the model or answering others: ask again, or choose a smaller model")


def name(value: object) -> str:
    """A name or an id that a server gives; "" for what is none."""
    return value if isinstance(value, str) and len(value) <= NAME_CHARACTERS else ""
