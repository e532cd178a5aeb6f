"""The ledger: the one account of tokens, prefill and time. Footer, /stats, --json and lab read it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from agent.events import Answered, Asked, Entry, Prepared, Preparing, Replied, SideCalled, ToolReturned
from agent.protocols import UNKNOWN_MODEL, ModelId, Sent, Usage
from agent.view import View


@dataclass(frozen=True, slots=True)
class Amount:
    """Tokens. `exact` is False for our own estimate, shown `~`; `tokens` is None when unknown, shown `?`."""

    tokens: int | None
    exact: bool = True

    def __add__(self, other: Amount) -> Amount:
        if self.tokens is None or other.tokens is None:
            return Amount(None)
        return Amount(self.tokens + other.tokens, self.exact and other.exact)


NOTHING = Amount(0)


@dataclass(frozen=True, slots=True)
class Call:
    """One model call: its prompt, the server's report, and the cost of sending the whole history instead.

    `raw_prompt` and `raw_prefill`: the tokens that the whole history would have cost in this call. `shared`: the tokens
    at the start of its prompt that equal the last prompt, by our own count; None if unknown. `usage`: the server's
    report. `seconds`: the time in which it worked; `waited`: the time in which it was busy or loaded the model.
    """

    exchange: int
    purpose: str
    strategy: str
    limit: int
    prompt: Amount
    cached: Amount
    output: Amount
    seconds: float
    raw_prompt: int = 0
    raw_prefill: int = 0
    model: ModelId = UNKNOWN_MODEL
    usage: Usage = field(default_factory=Usage)
    shared: int | None = None
    waited: float = 0.0

    @property
    def prefill(self) -> Amount:
        """Prompt tokens that were computed anew."""
        if self.prompt.tokens is None or self.cached.tokens is None:
            return Amount(None)
        return Amount(self.prompt.tokens - self.cached.tokens, self.prompt.exact and self.cached.exact)


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over calls, in tokens and seconds. `turns` does not count the calls of strategies."""

    calls: int
    turns: int
    prompt: Amount
    cached: Amount
    prefill: Amount
    output: Amount
    seconds: float
    raw_prompt: int
    raw_prefill: int
    waited: float


def totals(calls: Iterable[Call]) -> Totals:
    """Add up calls. One unknown value makes a sum unknown; one estimate makes it an estimate."""
    rows = list(calls)
    return Totals(
        calls=len(rows),
        turns=sum(row.purpose == "answer" for row in rows),
        prompt=sum((row.prompt for row in rows), NOTHING),
        cached=sum((row.cached for row in rows), NOTHING),
        prefill=sum((row.prefill for row in rows), NOTHING),
        output=sum((row.output for row in rows), NOTHING),
        seconds=sum(row.seconds for row in rows),
        raw_prompt=sum(row.raw_prompt for row in rows),
        raw_prefill=sum(row.raw_prefill for row in rows),
        waited=sum(row.waited for row in rows),
    )


@dataclass
class Ledger:
    """The account of a session, added up from its events by the loop."""

    calls: list[Call] = field(default_factory=list)
    exchanges: int = 0
    answered: int = 0
    tool_calls: int = 0
    tool_seconds: float = 0.0
    preparing: Preparing | None = None
    prepared: Prepared | None = None
    prepared_in: int = 0
    """The exchange of the newest view."""
    sent: Sent | None = None
    """The request that sent the newest view; None if there was none."""

    @property
    def view(self) -> View | None:
        """The newest view."""
        return self.prepared.view if self.prepared else None

    def add(self, event: Entry) -> None:
        """Add one event."""
        match event:
            case Asked():
                self.exchanges += 1
            case Answered():
                self.answered += 1
            case ToolReturned():
                self.tool_calls += 1
                self.tool_seconds += event.seconds
            case Preparing():
                self.preparing = event
            case Prepared():
                self.prepared, self.prepared_in, self.sent = event, self.exchanges, None
            case Sent():
                self.sent = event
            case SideCalled():
                self.calls.append(self._side(event))
            case Replied():
                self.calls.append(self._turn(event))

    def of_exchange(self, number: int) -> list[Call]:
        """The calls of one exchange, counted from 1."""
        return [call for call in self.calls if call.exchange == number]

    def _side(self, event: SideCalled) -> Call:
        return Call(
            exchange=self.exchanges,
            purpose=event.purpose,
            strategy=self.preparing.strategy if self.preparing else "",
            limit=self.preparing.limit if self.preparing else 0,
            prompt=_reported(event.usage.prompt_tokens, Amount(event.prompt_tokens, event.exact)),
            cached=Amount(event.usage.cached_tokens),
            output=Amount(event.usage.output_tokens),
            seconds=event.seconds - event.waited_seconds,
            model=event.model,
            usage=event.usage,
            waited=event.waited_seconds,
        )

    def _turn(self, event: Replied) -> Call:
        if self.prepared is None:
            raise ValueError("a reply without a view")
        view, usage = self.prepared.view, event.usage
        known = next((call.raw_prompt for call in reversed(self.calls) if call.purpose == "answer"), 0)
        return Call(
            exchange=self.exchanges,
            purpose="answer",
            strategy=self.prepared.strategy,
            limit=view.limit,
            prompt=_reported(usage.prompt_tokens, Amount(view.tokens, self.prepared.exact)),
            cached=Amount(usage.cached_tokens),
            output=Amount(usage.output_tokens),
            seconds=event.seconds - event.waited_seconds,
            raw_prompt=view.history_tokens,
            raw_prefill=max(0, view.history_tokens - known) if view.warm else view.history_tokens,
            model=self.prepared.model,
            usage=usage,
            shared=view.cached,
            waited=event.waited_seconds,
        )


def _reported(tokens: int | None, counted: Amount) -> Amount:
    return counted if tokens is None else Amount(tokens)
