"""The bounds of an answer of a model server, and the allowance that is left of them.

`agent.foreign` bounds the depth of JSON, `agent.reply` the length of a call, and `agent.loop` the number of calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from thimble.agent.errors import ModelError

ASK_SECONDS = 10.0
"""The longest silence in an answer other than a model's reply; a shorter setting for replies applies here too."""
ASK_WHOLE_SECONDS = 30.0
"""The longest time for such an answer; a shorter setting for replies applies here too."""
CONNECT_SECONDS = 5.0
REPLY_SECONDS = 1_800.0
"""The longest time for a whole reply, if no setting says another: its retries and pauses included."""
REPLY_BYTES = 64_000_000
"""Bytes of a streamed reply: some 200,000 tokens, each in a separate event."""
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


class ServerTimeout(ModelError):
    """A server has not answered in its time, or not completely."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of one answer: seconds of silence, seconds in all, and bytes."""

    quiet_seconds: float
    whole_seconds: float
    bytes: int = ANSWER_BYTES


class Allowance:
    """The seconds and bytes that an answer may still use. httpx itself ends a silence."""

    def __init__(self, bounds: Bounds, url: str) -> None:
        self.bounds = bounds
        self._url = url
        self._deadline = monotonic() + bounds.whole_seconds
        self._bytes = 0

    def seconds_left(self) -> float:
        """Seconds up to the deadline; negative after it."""
        return self._deadline - monotonic()

    def spend(self, count: int) -> None:
        """Count bytes that came. Raises ModelError for too many, and after the deadline."""
        self._bytes += count
        if self._bytes > self.bounds.bytes:
            raise endless_error()
        if self.seconds_left() <= 0:
            what = f"{self._url} did not finish its answer in {self.bounds.whole_seconds:g} seconds"
            fix = "ask for less at once, choose a faster model, or wait longer: --reply-timeout SECONDS"
            raise ServerTimeout(what, fix)


def endless_error() -> ModelError:
    """The error for an answer that is longer than any that makes sense."""
    return ModelError("the server does not end its answer", "ask again, or choose another model or server")


def silence_error(url: str, seconds: float) -> ServerTimeout:
    """The error for a server that sends nothing."""
    what = f"{url} sent nothing for {seconds:g} seconds"
    return ServerTimeout(what, "it may be loading the model or answering others: ask again, or choose a smaller model")


def clean_name(value: object) -> str:
    """A name or an id that a server gives; "" for any other value."""
    return value if isinstance(value, str) and len(value) <= NAME_CHARACTERS else ""
