"""A reply that is being received, delta by delta."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from agent.events import Said
from agent.messages import ToolCall
from agent.protocols import Delta, Sent, Text, Usage, Waiting


@dataclass
class Reply:
    """The part of a reply received so far."""

    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    first_token_seconds: float | None = None
    passed_seconds: float = 0.0

    @property
    def waited_seconds(self) -> float:
        """Seconds in which the server was busy or loaded the model."""
        return self.passed_seconds + (self.usage.load_seconds or 0)

    def take(self, delta: Delta, seconds: float) -> Said | Sent | Waiting | None:
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
            self.calls.append(delta)
            return None
        kind: Literal["text", "thinking"] = "text" if isinstance(delta, Text) else "thinking"
        getattr(self, kind).append(delta.text)
        return Said(kind, delta.text)
