"""The timeline of a session: when each model computed, when tools ran, and when the agent was held up.

A pure function of the ledger, so it is the same live, resumed from a journal, and played from a recording (CoMem,
Figure 4). All times are seconds; `began` is in seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Literal

from thimble.agent.ledger import Call, Ledger, ToolRun
from thimble.agent.protocols import UNKNOWN_MODEL, ModelId, Usage

Kind = Literal["load", "prefill", "decode", "call", "tool", "wait"]
"""The activity in a span. `call`: a model call whose end of prefill is unknown."""
Role = Literal["agent", "memory", "side", "tools", "waiting"]
LANE_ROLES: Sequence[Role] = ("agent", "memory", "side", "tools", "waiting")
"""Who works on a lane: `memory` in the background, `side` while the agent waits for it. `waiting` is the agent."""
ROUNDING = 1e-6
"""A part of fewer seconds is a rounding error."""
Interval = tuple[float, float]
"""A start and an end."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One row: a role, and the model that has it, if any."""

    role: Role
    model: ModelId = UNKNOWN_MODEL


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time on a lane with one activity: `what` is the purpose of the call, or the tool."""

    lane: Lane
    kind: Kind
    began: float
    seconds: float
    what: str
    exchange: int

    @property
    def ended(self) -> float:
        """When it ended."""
        return self.began + self.seconds


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """A model call or a run of a tool: its parts one after the other, each with its seconds.

    `began` is 0 if unknown. `held`: the seconds in which the agent waited for it; for a side call outside the
    background, all of them.
    """

    lane: Lane
    what: str
    exchange: int
    began: float
    parts: tuple[tuple[Kind, float], ...]
    held: float = 0.0

    @property
    def seconds(self) -> float:
        """How long it took."""
        return sum(seconds for _, seconds in self.parts)

    @property
    def ended(self) -> float:
        """When it ended."""
        return self.began + self.seconds

    @property
    def is_side(self) -> bool:
        """Whether a strategy or a tool asked for it."""
        return self.lane.role in ("memory", "side")

    def spans(self) -> Iterator[Span]:
        """The spans of its parts, and of the wait for it, which ends with it."""
        ends = accumulate((seconds for _, seconds in self.parts), initial=self.began)
        for (kind, seconds), began in zip(self.parts, ends, strict=False):
            yield Span(self.lane, kind, began, seconds, self.what, self.exchange)
        if self.held:
            yield Span(Lane("waiting"), "wait", self.ended - self.held, self.held, self.what, self.exchange)


@dataclass(frozen=True)
class Timeline:
    """The steps of an exchange or of a session, in the order of their starts; the user's pauses are removed.

    `unplaced` are the steps whose start is unknown.
    """

    steps: tuple[TimelineStep, ...] = ()
    unplaced: tuple[TimelineStep, ...] = ()

    @cached_property
    def spans(self) -> Sequence[Span]:
        """All spans of the steps with a known start."""
        return [span for step in self.steps for span in step.spans()]

    @cached_property
    def began(self) -> float:
        """The start of the first span; 0 without spans."""
        return min((span.began for span in self.spans), default=0.0)

    @cached_property
    def seconds(self) -> float:
        """The seconds from the first start to the last end."""
        return max((step.ended for step in self.steps), default=0.0) - self.began

    @property
    def overlapped(self) -> float:
        """The seconds in which a background call ran and the agent waited for no side model."""
        waits = [(span.began, span.ended) for span in self.spans if span.kind == "wait"]
        background = [(step.began, step.ended) for step in self.steps if step.lane.role == "memory"]
        return max(0.0, covered_seconds([*background, *waits]) - covered_seconds(waits))

    @property
    def waited(self) -> float:
        """Seconds of side calls in which the agent waited for them."""
        return sum(min(step.held, step.seconds) for step in self._all if step.is_side)

    @property
    def saved(self) -> float:
        """The additional seconds that the agent would have waited without the background."""
        return sum(max(0.0, step.seconds - step.held) for step in self._all if step.lane.role == "memory")

    def busy(self, *roles: Role) -> float:
        """The sum of the seconds of these roles' steps."""
        return sum(step.seconds for step in self._all if step.lane.role in roles)

    def lanes(self) -> list[Lane]:
        """The lanes with a span, in the order of their roles, then of their models' first steps."""
        return sorted(dict.fromkeys(span.lane for span in self.spans), key=lambda lane: LANE_ROLES.index(lane.role))

    @property
    def _all(self) -> tuple[TimelineStep, ...]:
        return self.steps + self.unplaced


def make_timeline(ledger: Ledger, exchange: int | None = None) -> Timeline:
    """The timeline of a session, or of one exchange with every background call that runs during it."""
    calls = (call for call in ledger.calls if exchange in (None, call.exchange) or call.lag is not None)
    tools = (run for run in ledger.tools if exchange in (None, run.exchange))
    every = [*map(_make_call_step, calls), *map(_make_tool_step, tools)]
    placed = sorted((step for step in every if step.began > 0), key=lambda step: step.began)
    lost = (step for step in every if step.began <= 0 < step.seconds and exchange in (None, step.exchange))
    if exchange is not None:
        own = [step for step in placed if step.exchange == exchange and step.lane.role != "memory"]
        first, last = min((one.began for one in own), default=0.0), max((one.ended for one in own), default=0.0)
        placed = [
            step
            for step in placed
            if step.exchange == exchange or (step.lane.role == "memory" and step.began < last and step.ended > first)
        ]
    return Timeline(tuple(_remove_idle_time(placed)), tuple(lost))


def covered_seconds(stretches: Iterable[Interval]) -> float:
    """The seconds that lie in at least one of these stretches."""
    seconds, reached = 0.0, float("-inf")
    for began, ended in sorted(stretches):
        seconds += max(0.0, ended - max(began, reached))
        reached = max(reached, ended)
    return seconds


def _make_call_step(call: Call) -> TimelineStep:
    background = call.lag is not None
    role: Role = "agent" if call.purpose == "answer" else "memory" if background else "side"
    seconds = max(0.0, call.seconds + call.waited)
    parts = tuple(_split_call(seconds, call.waited, call.first_token, call.usage))
    held = seconds if role == "side" else max(0.0, call.held)
    return TimelineStep(Lane(role, call.model), call.purpose, call.exchange, call.began, parts, held)


def _make_tool_step(tool: ToolRun) -> TimelineStep:
    return TimelineStep(Lane("tools"), tool.name, tool.exchange, tool.began, (("tool", max(0.0, tool.seconds)),))


def _split_call(seconds: float, waited: float, first: float | None, usage: Usage) -> Iterator[tuple[Kind, float]]:
    """Load, prefill and decode of a call: as reported by the server, else by its first token, else undivided.

    The rest of a call came before its reported prefill and decode: loading, the queue, the network.
    """
    prefill, decode = usage.prefill_seconds, usage.decode_seconds
    waited = min(seconds, max(0.0, waited))
    if prefill is None and decode is None and first is not None:
        decode = seconds - max(waited, first)
    if prefill is None and decode is None:
        parts: list[tuple[Kind, float]] = [("load", waited), ("call", seconds - waited)]
    else:
        decode = min(seconds, max(0.0, seconds - waited - (prefill or 0.0) if decode is None else decode))
        prefill = min(seconds - decode, max(0.0, seconds - waited - decode if prefill is None else prefill))
        parts = [("load", seconds - decode - prefill), ("prefill", prefill), ("decode", decode)]
    some = [part for part in parts if part[1] > ROUNDING]
    yield from some or parts[-1:]


def _remove_idle_time(steps: Iterable[TimelineStep]) -> Iterator[TimelineStep]:
    """The steps, with the idle time between two exchanges removed."""
    reached, exchange, shift = 0.0, None, 0.0
    for step in steps:
        if exchange not in (None, step.exchange):
            shift += max(0.0, step.began - shift - reached)
        moved = replace(step, began=step.began - shift)
        reached, exchange = max(reached, moved.ended), step.exchange
        yield moved
