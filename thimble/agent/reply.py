"""A reply that is being received, delta by delta."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from time import perf_counter
from typing import Literal

from thimble.agent.budget import Counter
from thimble.agent.circles import Circles
from thimble.agent.errors import ModelError, RepetitionDetected
from thimble.agent.events import ReplyPiece, Stopper
from thimble.agent.messages import Message, ToolCall
from thimble.agent.protocols import Delta, Sent, Text, Thinking, Usage, Waiting

CALL_CHARACTERS = 100_000
"""The longest arguments of a call."""


@dataclass
class Reply:
    """The part of a reply received so far. `stopped_by` is set where the model goes round in circles."""

    calls: list[ToolCall] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    first_token_seconds: float | None = None
    passed_seconds: float = 0.0
    stopped_by: Stopper = ""
    _circles: Mapping[type[Text | Thinking], Circles] = field(
        default_factory=lambda: {Text: Circles(), Thinking: Circles()}
    )
    _said: Mapping[type[Text | Thinking], StringIO] = field(
        default_factory=lambda: {Text: StringIO(newline=""), Thinking: StringIO(newline="")}
    )

    @property
    def text(self) -> str:
        """The answer so far."""
        return self._said[Text].getvalue()

    @property
    def thinking(self) -> str:
        """The thinking so far."""
        return self._said[Thinking].getvalue()

    @property
    def waited_seconds(self) -> float:
        """Seconds in which the server was busy or loaded the model."""
        return self.passed_seconds + (self.usage.load_seconds or 0)

    def tokens(self, counter: Counter) -> int:
        """Tokens of the part received so far, thinking too, by our count; 0 if nothing came."""
        said = self.text + self.thinking
        return counter.count(Message("", "assistant", said, calls=tuple(self.calls))) if said or self.calls else 0

    def read(self, stream: Iterable[Delta]) -> Iterator[ReplyPiece | Sent | Waiting]:
        """Take a whole reply, or what comes of it before the model goes round in circles; the events to show."""
        started = perf_counter()
        try:
            for delta in stream:
                shown = self.take(delta, perf_counter() - started)
                if shown:
                    yield shown
                if self.stopped_by:
                    return
        except RepetitionDetected:
            self.stopped_by = "server"

    def take(self, delta: Delta, seconds: float) -> ReplyPiece | Sent | Waiting | None:
        """Add a delta received `seconds` after the question; the event to show, if any."""
        if isinstance(delta, Usage):
            self.usage = delta
            return None
        if isinstance(delta, Sent):
            return delta
        if isinstance(delta, Waiting):
            self.passed_seconds += delta.seconds
            return delta
        if self.first_token_seconds is None:
            self.first_token_seconds = seconds
        if isinstance(delta, ToolCall):
            if len(delta.arguments) > CALL_CHARACTERS:
                raise ModelError(f"the model calls a tool with more than {CALL_CHARACTERS:,} characters", "ask again")
            self.calls.append(delta)
            return None
        kind: Literal["text", "thinking"] = "text" if isinstance(delta, Text) else "thinking"
        circles = self._circles[type(delta)]
        said = circles.feed(delta.text)
        if circles.closed:
            self.stopped_by = "thimble"
        self._said[type(delta)].write(said)
        return ReplyPiece(kind, said)
