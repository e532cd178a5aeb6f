"""The ledger: the one account of tokens, prefill and time. Footer, /stats, --json and lab read it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from thimble.agent.events import (
    Answered,
    Asked,
    Entry,
    Prepared,
    Preparing,
    PromptCut,
    Replied,
    ReplyCancelled,
    SideCalled,
    ToolReturned,
)
from thimble.agent.messages import Message
from thimble.agent.prefix_cache import LOAD_SECONDS, MIN_TIMED_TOKENS, MOST_CALLS, Timed, seconds_agree
from thimble.agent.protocols import UNKNOWN_MODEL, ModelId, Sent, Usage
from thimble.agent.view import View


@dataclass(frozen=True, slots=True)
class Amount:
    """Tokens. `exact` is False for our own estimate, shown `~`; `tokens` is None when unknown, shown `?`.

    `least` is the known part of an unknown sum, shown `≥`.
    """

    tokens: int | None
    exact: bool = True
    least: int = 0

    @classmethod
    def total(cls, amounts: Collection[Amount]) -> Amount:
        """Their sum. One unknown leaves only a least value; one estimate makes it an estimate."""
        known = sum(one.least if one.tokens is None else one.tokens for one in amounts)
        exact = all(one.exact for one in amounts)
        return cls(None, exact, known) if any(one.tokens is None for one in amounts) else cls(known, exact)


NOTHING = Amount(0)
UNKNOWN = Amount(None)


@dataclass(frozen=True, slots=True)
class Call:
    """One model call: its prompt, the server's report, and the cost of sending the whole history instead.

    `cached`: the figure that is shown: the server's report, else `shared` as an estimate, or unknown if the seconds of
    prefill contradict that. `shared`: the tokens at the start of its prompt that the server should still hold, by our
    own count: 0 after it loaded the model; None if unknown. `raw_prompt` and `raw_prefill`: the tokens that the whole
    history would have cost in this call. `usage`: the server's report. `seconds`: the time in which the server worked;
    `waited`: the time in which it was busy or loaded the model. `lag`: the calls of the agent that were prepared while
    this one ran in the background, and `held` the seconds that the agent waited for it; None for a call that the agent
    waited for. `began`: in seconds since 1970; 0 if unknown. `first_token`: the seconds until its first token; None if
    unknown. `taken`: the tokens of the history that the strategy, or each of its parts, and `fit` took out, by name;
    empty if unknown. `thinking`: the part of the output that was thinking, by characters.
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
    lag: int | None = None
    held: float = 0.0
    began: float = 0.0
    first_token: float | None = None
    taken: Mapping[str, int] = field(default_factory=dict)
    thinking: int = 0

    @property
    def over(self) -> int:
        """Tokens of the prompt over the budget; 0 for the prompt of a strategy or a tool."""
        return max(0, (self.prompt.tokens or 0) - self.limit) if self.purpose == "answer" else 0

    @property
    def prefill(self) -> Amount:
        """Prompt tokens that were computed, not cached."""
        if self.prompt.tokens is None or self.cached.tokens is None:
            return UNKNOWN
        return Amount(self.prompt.tokens - self.cached.tokens, self.prompt.exact and self.cached.exact)

    @property
    def timed(self) -> Timed | None:
        """Its tokens and its seconds of prefill, to compute a rate from; None if one is unknown."""
        return _prefill_timing(self.usage, self.prompt.tokens, self.shared)


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One run of a tool. `began`: in seconds since 1970; 0 if unknown."""

    exchange: int
    name: str
    seconds: float
    began: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """Which model answered, and whether from memory, as in `Answered`; `invented` counts citations."""

    exchange: int
    model: ModelId
    from_memory: bool = False
    invented: int = 0


@dataclass
class Ledger:
    """The account of a session, added up from its events by the loop."""

    calls: list[Call] = field(default_factory=list)
    tools: list[ToolRun] = field(default_factory=list)
    answers: tuple[Answer, ...] = ()
    exchanges: int = 0
    preparing: Preparing | None = None
    prepared: Prepared | None = None
    prepared_in: int = 0
    """The exchange of the newest view."""
    sent: Sent | None = None
    """The request that sent the newest view; None if none was sent."""
    replied: bool = False
    """Whether the newest view has a reply, complete or cancelled."""

    @property
    def answered(self) -> int:
        """The number of exchanges that have ended."""
        return len(self.answers)

    @property
    def from_memory(self) -> bool:
        """Whether the newest exchange was answered from memory."""
        return any(one.from_memory and one.exchange == self.exchanges for one in self.answers[-1:])

    @property
    def tool_calls(self) -> int:
        """The number of tool runs."""
        return len(self.tools)

    @property
    def tool_seconds(self) -> float:
        """The seconds in which tools ran."""
        return sum(run.seconds for run in self.tools)

    @property
    def view(self) -> View | None:
        """The newest view."""
        return self.prepared.view if self.prepared else None

    @property
    def last(self) -> Call | None:
        """The call of the newest view; None while it has no reply."""
        answers = (call for call in reversed(self.calls) if call.purpose == "answer")
        return next(answers, None) if self.replied else None

    def copy(self) -> Ledger:
        """An independent copy."""
        return replace(self, calls=[*self.calls], tools=[*self.tools])

    def add(self, event: Entry) -> None:
        """Add one event."""
        match event:
            case Replied() | ReplyCancelled():
                self.calls.append(self._add_turn(event))
                self.replied = True
            case ToolReturned():
                self.tools.append(ToolRun(self.exchanges, event.call.name, event.seconds, event.began))
            case Prepared():
                self.prepared, self.prepared_in, self.sent, self.replied = event, self.exchanges, None, False
            case Preparing():
                self.preparing = event
            case Sent():
                self.sent = event
            case SideCalled():
                self.calls.append(self._add_side_call(event))
            case PromptCut() if self.calls and not self.calls[-1].cached.exact:
                self.calls[-1] = replace(self.calls[-1], cached=UNKNOWN)
            case Asked():
                self.exchanges += 1
            case Answered():
                model = self.prepared.model if self.prepared else UNKNOWN_MODEL
                new = Answer(self.exchanges, model, event.from_memory, len(event.invented))
                self.answers = (*self.answers, new)

    @property
    def lag(self) -> int:
        """The median number of agent calls during a background call; 0 if unknown."""
        lags = sorted(call.lag for call in self.calls if call.lag is not None)
        return lags[len(lags) // 2] if lags else 0

    def of_exchange(self, number: int) -> list[Call]:
        """The calls of one exchange, counted from 1."""
        return [call for call in self.calls if call.exchange == number]

    def call_of(self, event: object) -> Call | None:
        """The model call that the event just added belongs to, as known now; None for other events."""
        if isinstance(event, Replied | ReplyCancelled | PromptCut):
            return self.last
        return self.calls[-1] if isinstance(event, SideCalled) else None

    def _add_side_call(self, event: SideCalled) -> Call:
        prompt = _prefer_reported(event.usage.prompt_tokens, Amount(event.prompt_tokens, event.exact))
        cached, shared = self._count_cached(event.model, event.usage, prompt.tokens, event.shared)
        return Call(
            exchange=self.exchanges,
            purpose=event.purpose,
            strategy=self.preparing.strategy if self.preparing else "",
            limit=self.preparing.limit if self.preparing else 0,
            prompt=prompt,
            cached=cached,
            output=Amount(event.usage.output_tokens),
            seconds=event.seconds - event.waited_seconds,
            model=event.model,
            usage=event.usage,
            shared=shared,
            waited=event.waited_seconds,
            lag=event.lag,
            held=event.held_seconds,
            began=event.began,
            first_token=event.first_token_seconds,
        )

    def _add_turn(self, event: Replied | ReplyCancelled) -> Call:
        if self.prepared is None:
            raise ValueError("a reply without a view")
        view, usage = self.prepared.view, event.usage if isinstance(event, Replied) else Usage()
        prompt = _prefer_reported(usage.prompt_tokens, Amount(view.tokens, self.prepared.exact))
        whole = view.whole_tokens * (prompt.tokens or 0) // max(1, view.tokens)  # counted as the server counts
        cached, shared = self._count_cached(self.prepared.model, usage, prompt.tokens, view.cached)
        output = _prefer_reported(usage.output_tokens, Amount(event.written, exact=False))
        return Call(
            exchange=self.exchanges,
            purpose="answer",
            strategy=self.prepared.strategy,
            limit=view.limit,
            prompt=prompt,
            cached=cached,
            output=output,
            seconds=event.seconds - event.waited_seconds,
            raw_prompt=whole,
            raw_prefill=max(0, whole - view.whole_cached),
            model=self.prepared.model,
            usage=usage,
            shared=shared,
            waited=event.waited_seconds,
            began=event.began,
            first_token=event.first_token_seconds,
            taken={by or self.prepared.strategy: tokens for by, tokens in view.taken.items()},
            thinking=_thinking(event.message, output.tokens or 0) if isinstance(event, Replied) else 0,
        )

    def _count_cached(
        self, model: ModelId, usage: Usage, prompt: int | None, shared: int | None
    ) -> tuple[Amount, int | None]:
        """The tokens of a new call's prompt that were cached, as far as known, and its `shared`."""
        if usage.cached_tokens is not None:
            return Amount(usage.cached_tokens), shared
        if (usage.load_seconds or 0) >= LOAD_SECONDS:
            return Amount(0, exact=False), 0
        if shared is None or prompt is None:
            return UNKNOWN, shared
        if timed := _prefill_timing(usage, prompt, shared):
            earlier = (one.timed for one in reversed(self.calls) if one.model == model and one.timed)
            if not seconds_agree(timed, [*filter(None, islice(earlier, MOST_CALLS))]):
                return UNKNOWN, shared
        return Amount(min(shared, prompt), exact=False), shared


def _prefill_timing(usage: Usage, prompt: int | None, shared: int | None) -> Timed | None:
    cached = shared if usage.cached_tokens is None else usage.cached_tokens
    if prompt is None or cached is None or not usage.prefill_seconds:
        return None
    prompt, written = max(1, prompt), usage.output_tokens or 0
    wrote = (usage.decode_seconds or 0) / written if written >= MIN_TIMED_TOKENS else None
    return Timed(max(1, prompt - cached), prompt, usage.prefill_seconds, wrote)


def _thinking(reply: Message, tokens: int) -> int:
    """The tokens of a reply that were thinking, by characters: servers rarely report them."""
    rest = len(reply.content) + sum(len(call.name) + len(call.arguments) for call in reply.calls)
    return round(tokens * len(reply.thinking) / (len(reply.thinking) + rest)) if reply.thinking else 0


def _prefer_reported(tokens: int | None, counted: Amount) -> Amount:
    return counted if tokens is None else Amount(tokens)
