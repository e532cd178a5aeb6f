"""thrifty: rent or buy. Every edit of the prefix has a price, every token left in is paid for again at each call."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agent.budget import Budget, Prices
from agent.messages import Message, pending, turns
from agent.protocols import Strategy
from agent.side import SideModel
from strategies.making_room import aged, observations
from strategies.observation_masking import ObservationMasking, savings, with_masks
from strategies.parameter import parameter
from strategies.summary import Memory, newest

ROOMY = 0.75
"""Share of the budget up to which masks alone leave room enough for a while."""
NOTHING_PAID = {"masks": 0.0, "summary": 0.0}


@dataclass(frozen=True, slots=True)
class Edit:
    """A change under consideration: the first message that it touches, the tokens it saves, the price of its call."""

    first: int
    saved: int
    call: float = 0.0


@dataclass(frozen=True, slots=True)
class Stand:
    """The view as it stands at a call, its tokens, and how many of them the server has from the call before."""

    view: Sequence[Message]
    size: int
    cached: int
    prices: Prices
    budget: Budget

    def price(self, edit: Edit) -> float:
        """What this call costs more with the edit than without it: p1 − p0, and the edit's own call."""
        kept = min(self.cached, self.budget.size(self.view[: edit.first]))
        return self.prices.prompt(self.size - edit.saved, kept) - self.prices.prompt(self.size, self.cached) + edit.call


@dataclass
class Thrifty(Strategy):
    """Take old tokens out once the rent paid for them reaches the price of the edit. Foresight saves half at most.

    At a call the view as it stands has the size s0 and the price p0; with everything older than the newest `window`
    turns masked it would have s1 and p1. The rent of the call is c·(s0 − s1), where c is the price of a cached token
    and one computed anew costs 1. When the rent since the last edit reaches p1 − p0, the edit is bought. The same rule
    decides on a summary, whose price includes its call. Over the budget, an edit is bought at once, and enough of it
    for a while. Ski rental (Karlin et al. 1988), applied to prefix caches; at c = 1 the masks are those of The
    Complexity Trap, Eq. 4.
    """

    model: SideModel
    window: int = parameter(5, "newest turns left whole, budget permitting")
    price: float | None = parameter(None, "price of a cached token; unset: the session's price card", 0, 1)
    summaries: bool = parameter(True, "buy summaries too, or masks only")
    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    words: int = parameter(400, "length asked of the summary", 20, 10_000)
    state: dict[str, Any] = field(default_factory=dict)

    @property
    def priced(self) -> bool:
        """Whether what it does depends on the price card."""
        return self.price is None

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The view as it stands, or edited where that has become worth its price; see the class."""
        view = self._view(messages)
        if budget.over(view):
            view = self._make_room(messages, view, budget)
            self.state["rent"] = dict(NOTHING_PAID)
        elif messages and messages[-1].id != self.state.get("seen") and self._trade(messages, view, budget):
            view = self._view(messages)
        if messages:
            self.state["seen"] = messages[-1].id
        return view

    def _trade(self, messages: Sequence[Message], view: Sequence[Message], budget: Budget) -> bool:
        """Pay this call's rent for the masks and the summary that are not there, and buy what is due."""
        prices = budget.prices if self.price is None else replace(budget.prices, cached=self.price)
        stand = Stand(view, budget.size(view), self._cached(view, budget), prices, budget)
        start = self._start(view)
        rent = dict(self.state.get("rent", NOTHING_PAID))

        old = dict(savings(observations(view, turns(view[:start])), budget))
        masks = Edit(next((at for at, m in enumerate(view) if m in old), 0), sum(old.values()))
        rent["masks"] += prices.cached * masks.saved
        price = stand.price(masks)
        mask = bool(old) and rent["masks"] >= price

        if summary := self._summary(stand, start, masks, self._memory.stays(messages, budget)):
            rent["summary"] += prices.cached * (summary.saved - masks.saved)
            more = stand.price(summary) - (price if mask else 0)
            paid = f"the rent of {rent['summary']:,.0f} had reached the price of the summary, {more:,.0f}"
            if rent["summary"] >= more and self._fold(messages, self._start(messages), budget, paid):
                self.state["rent"] = dict(NOTHING_PAID)
                return True
        self.state["rent"] = rent | ({"masks": 0.0} if mask else {})
        if mask:
            paid = f"the rent of {rent['masks']:,.0f} had reached the price of the edit, {price:,.0f}"
            why = f"{aged(self.window)}, and {paid}"
            self._masked.update((message.id, why) for message in old)
        return mask

    def _make_room(self, messages: Sequence[Message], view: list[Message], budget: Budget) -> list[Message]:
        """Mask down to the target, oldest first, all but the last turn; where that leaves too little, summarise."""
        masking = ObservationMasking(window=1, target=self.target)
        masking.state = {"masked": dict(self._masked)}
        view = masking.prepare(view, budget)
        if self.summaries and budget.size(view) > ROOMY * budget.limit:
            start = newest(messages, 1, self.target * budget.limit / 2, budget)
            why = f"the view was {budget.size(view):,} of {budget.limit:,} tokens although masked"
            if self._memory.fold(with_masks(messages, masking.state["masked"]), start, budget, why):
                view = masking.prepare(self._memory.view(messages), budget)
        self.state["masked"] = masking.state["masked"]
        return view

    def _summary(self, stand: Stand, start: int, masks: Edit, stays: Collection[str]) -> Edit | None:
        """All before `start` in a summary, asked for behind the view as it stands; None where it saves nothing more."""
        view, budget = stand.view, stand.budget
        old = [at for at, message in enumerate(view[:start]) if message.id not in stays]
        if not self.summaries or all(view[at].covers for at in old):
            return None
        written = next((budget.count(view[at]) for at in old if view[at].covers), 2 * self.words)
        saved = sum(budget.count(view[at]) for at in old) - written
        read = budget.size(view[:start])
        call = stand.prices.prompt(read, min(read, stand.cached)) + stand.prices.output * written
        return Edit(old[0], saved, call) if saved > masks.saved else None

    def _fold(self, messages: Sequence[Message], start: int, budget: Budget, why: str) -> bool:
        return self._memory.fold(with_masks(messages, self._masked), start, budget, why)

    def _view(self, messages: Sequence[Message]) -> list[Message]:
        return with_masks(self._memory.view(messages), self._masked)

    def _start(self, messages: Sequence[Message]) -> int:
        """Where the newest turns begin, which are left whole."""
        if not self.window:
            return len(messages) - len(pending(messages))
        groups = turns(messages)
        return groups[-self.window].start if self.window <= len(groups) else 0

    def _cached(self, view: Sequence[Message], budget: Budget) -> int:
        """Tokens that the server has: the view of the call before, which ended with the message seen last."""
        seen = next((at + 1 for at, message in enumerate(view) if message.id == self.state.get("seen")), 0)
        return budget.size(view[:seen]) if seen else 0

    @property
    def _memory(self) -> Memory:
        return Memory(self.model, self.words, self.state)

    @property
    def _masked(self) -> dict[str, str]:
        known: dict[str, str] = self.state.setdefault("masked", {})
        return known
