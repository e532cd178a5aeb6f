"""A reply that is being received, delta by delta, and ended if the model repeats itself."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from io import StringIO
from time import perf_counter, time
from typing import Literal

from thimble.agent.budget import Counter
from thimble.agent.errors import ModelError, RepetitionDetected
from thimble.agent.events import ReplyPiece, Stopper
from thimble.agent.messages import Message, ToolCall
from thimble.agent.protocols import Delta, Sent, Text, Thinking, Usage, Waiting

CALL_CHARACTERS = 100_000
"""The longest arguments of a call."""
REPETITION_ROUNDS = 4
"""The same words are a repetition this often in a row …"""
MIN_REPEATED_CHARACTERS = 400
"""… if they are at least this long together: a rule under a heading, or a row of zeros, is not one."""
MAX_PASSAGE_CHARACTERS = 1_000
"""A longer passage is not recognised as repeated."""
_END = MIN_REPEATED_CHARACTERS // 8
_STRIDE = 50
"""Ends that are checked together: if no repetition is nearly complete at the first, none completes among the others."""
_KEPT_CHARACTERS = REPETITION_ROUNDS * MAX_PASSAGE_CHARACTERS


class RepetitionGuard:
    """Takes a text in pieces, and returns it up to the point at which it repeats itself.

    The result does not depend on how the text is cut into pieces.
    """

    def __init__(self) -> None:
        self.closed = False
        self._before = ""

    def feed(self, piece: str) -> str:
        """The part of the next piece that is kept: all, until a repetition is complete. Then `closed` is true."""
        if self.closed:
            return ""
        text, begun = self._before + piece, len(self._before)
        ends = range(max(begun + 1, MIN_REPEATED_CHARACTERS), len(text) + 1)
        strides = (ends[at : at + _STRIDE] for at in range(0, len(ends), _STRIDE))
        near = (end for stride in strides if _ends_in_repetition(text, stride[0], len(stride) - 1) for end in stride)
        end = next((end for end in near if _ends_in_repetition(text, end)), None)
        self.closed, self._before = end is not None, text[-_KEPT_CHARACTERS:]
        return text[begun:end]


def _ends_in_repetition(text: str, end: int, missing: int = 0) -> bool:
    """Whether the text up to `end` ends in a repetition, or in one that lacks at most `missing` characters.

    Its last characters occur one round earlier too, so only distances at which they do are tried.
    """
    last, first, at = text[end - _END : end], max(0, end - _END - MAX_PASSAGE_CHARACTERS), end - 1
    while (at := text.rfind(last, first, at)) >= 0:
        round_ = end - _END - at
        start = end + missing - max(REPETITION_ROUNDS * round_, MIN_REPEATED_CHARACTERS)
        if start >= 0 and text.startswith(text[start + round_ : end], start):
            return True
        at += _END - 1
    return False


@dataclass
class Reply:
    """The part of a reply received so far; made when the model is asked, which is `began` (seconds since 1970).

    `stopped_by` is set if the model repeats itself.
    """

    calls: list[ToolCall] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    first_token_seconds: float | None = None
    passed_seconds: float = 0.0
    stopped_by: Stopper = ""
    began: float = field(default_factory=time)
    _started: float = field(default_factory=perf_counter)
    _circles: Mapping[type[Text | Thinking], RepetitionGuard] = field(
        default_factory=lambda: {Text: RepetitionGuard(), Thinking: RepetitionGuard()}
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
    def seconds(self) -> float:
        """Seconds since the model was asked."""
        return perf_counter() - self._started

    @property
    def waited_seconds(self) -> float:
        """Seconds in which the server was busy or loaded the model."""
        return self.passed_seconds + (self.usage.load_seconds or 0)

    @property
    def times(self) -> tuple[float, float | None, float]:
        """The seconds since the model was asked, up to the first token, and in which it could not compute."""
        seconds = self.seconds
        return seconds, self.first_token_seconds, min(seconds, self.waited_seconds)

    def tokens(self, counter: Counter) -> int:
        """Tokens of the part received so far, thinking too, by our count; 0 if nothing came."""
        said = self.text + self.thinking
        return counter.count(Message("", "assistant", said, calls=tuple(self.calls))) if said or self.calls else 0

    @classmethod
    def of(cls, stream: Generator[Delta, None, None]) -> Reply:
        """A whole reply, or the part of it before the model repeats itself. Raises ModelError."""
        reply = cls()
        try:
            with closing(stream):
                for delta in stream:
                    reply.add_delta(delta)
                    if reply.stopped_by:
                        break
        except RepetitionDetected:
            reply.stopped_by = "server"
        return reply

    def add_delta(self, delta: Delta) -> ReplyPiece | Sent | Waiting | None:
        """Add a delta; return the event to show, if any."""
        if isinstance(delta, Usage):
            self.usage = delta
            return None
        if isinstance(delta, Sent):
            return delta
        if isinstance(delta, Waiting):
            self.passed_seconds += delta.seconds
            return delta
        if self.first_token_seconds is None:
            self.first_token_seconds = self.seconds
        if isinstance(delta, ToolCall):
            if len(delta.arguments) > CALL_CHARACTERS:
                raise ModelError(f"the model called a tool with more than {CALL_CHARACTERS:,} characters", "ask again")
            self.calls.append(delta)
            return None
        kind: Literal["text", "thinking"] = "text" if isinstance(delta, Text) else "thinking"
        circles = self._circles[type(delta)]
        was_text = isinstance(delta, Thinking) and delta.was_text
        if was_text:
            self._said[Text].seek(0)
            self._said[Text].truncate()
        said = circles.feed(delta.text)
        if circles.closed:
            self.stopped_by = "thimble"
        self._said[type(delta)].write(said)
        return ReplyPiece(kind, said, was_text)
