"""thrifty: rent or buy. Every edit of the prefix has a price; every token that stays is paid for again at each call."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from agent.budget import Budget, Prices
from agent.history import History
from agent.messages import Message, pending, turns
from agent.side import SideModel
from strategies.making_room import aged
from strategies.observation_masking import Masks, ObservationMasking, mask, with_masks
from strategies.parameter import parameter
from strategies.rewriting import Rewriting
from strategies.state import Stateful
from strategies.summary import Folded, Folding, newest

ROOMY = 0.75
"""Share of the budget; a masked view below it has room enough for a while."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A possible edit: the first message that it changes, the tokens that it saves, the price of its own model call."""

    first: int
    saved: int
    call: float = 0.0


@dataclass(frozen=True, slots=True)
class Stand:
    """The current view at a call, its tokens, and how many of them the server has cached."""

    view: Sequence[Message]
    size: int
    cached: int
    prices: Prices
    budget: Budget

    def price(self, edit: Edit) -> float:
        """The extra price of this call with the edit: p1 − p0, and the edit's own call."""
        kept = min(self.cached, self.budget.size(self.view[: edit.first]))
        return self.prices.prompt(self.size - edit.saved, kept) - self.prices.prompt(self.size, self.cached) + edit.call


@dataclass
class Rent:
    """The rent paid since the last edit, for masks and for a summary not made yet."""

    masks: float = 0.0
    summary: float = 0.0


@dataclass
class Account(Masks, Folded):
    """The masks, the summary, the rent paid since, and the newest message when it was last paid."""

    rent: Rent = field(default_factory=Rent)
    seen: str = ""


@dataclass
class Thrifty(Stateful):
    """Remove old tokens once their rent reaches the price of the edit. Knowing the future would save at most half.

    At a call, the current view has the size s0 and the price p0; with everything older than the newest `window` turns
    masked, it would have s1 and p1. The rent of the call is c·(s0 − s1), where c is the price of a cached token, and a
    computed token costs 1. When the rent since the last edit reaches p1 − p0, the edit is bought. The same rule decides
    on a summary, whose price includes its call. Over the budget, an edit is bought at once, large enough for a while.
    Ski rental (Karlin et al. 1988), applied to prefix caches; at c = 1 the masks are those of The Complexity Trap, Eq.
    4.
    """

    model: SideModel
    window: int = parameter(5, "newest turns that stay whole if the budget allows")
    price: float | None = parameter(None, "price of a cached token; unset: the session's price card", 0, 1)
    summaries: bool = parameter(True, "buy summaries too, or masks only")
    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    words: int = parameter(400, "length asked of the summary", 20, 10_000)
    memory: Account = field(default_factory=Account)

    @property
    def priced(self) -> bool:
        """Whether it depends on the price card."""
        return self.price is None

    def prepare(self, messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
        """The current view, or an edited one if the edit is now worth its price; see the class."""
        view: Sequence[Message] = self._view(messages)
        if budget.over(view):
            view = self._make_room(messages, view, budget)
            self.memory.rent = Rent()
        elif messages and messages[-1].id != self.memory.seen and self._trade(messages, view, budget):
            view = self._view(messages)
        if messages:
            self.memory.seen = messages[-1].id
        return view

    def _trade(self, messages: Sequence[Message], view: Sequence[Message], budget: Budget) -> bool:
        """Pay this call's rent for the masks and the summary not made yet, and buy the edits that are due."""
        prices = budget.prices if self.price is None else replace(budget.prices, cached=self.price)
        stand = Stand(view, budget.size(view), self._cached(view, budget), prices, budget)
        start = self._start(view)
        rent = replace(self.memory.rent)

        masked = Rewriting(mask)
        masked.goes_on(History.of(view), budget, {}, mask)
        old = masked.offers(0, start)
        masks = Edit(old[0][0] if old else 0, sum(saved for _, _, saved in old))
        rent.masks += prices.cached * masks.saved
        price = stand.price(masks)
        pays = bool(old) and rent.masks >= price

        if summary := self._summary(stand, start, masks, self._folding.stays(messages)):
            rent.summary += prices.cached * (summary.saved - masks.saved)
            more = stand.price(summary) - (price if pays else 0)
            paid = f"the rent of {rent.summary:,.0f} had reached the price of the summary, {more:,.0f}"
            if rent.summary >= more and self._fold(messages, self._start(messages), budget, paid):
                self.memory.rent = Rent()
                return True
        self.memory.rent = replace(rent, masks=0.0) if pays else rent
        if pays:
            paid = f"the rent of {rent.masks:,.0f} had reached the price of the edit, {price:,.0f}"
            why = f"{aged(self.window)}, and {paid}"
            self.memory.masked.update((message.id, why) for _, message, _ in old)
        return pays

    def _make_room(self, messages: Sequence[Message], view: Sequence[Message], budget: Budget) -> Sequence[Message]:
        """Mask down to the target, oldest first, except the last turn; if that frees too little, summarise."""
        masking = ObservationMasking(window=1, target=self.target, memory=Masks(dict(self.memory.masked)))
        view = masking.prepare(view, budget)
        if self.summaries and budget.size(view) > ROOMY * budget.limit:
            start = newest(messages, 1, self.target * budget.limit / 2, budget)
            why = f"the view was {budget.size(view):,} of {budget.limit:,} tokens although masked"
            if self._folding.fold(with_masks(messages, masking.memory.masked), start, budget, why):
                view = masking.prepare(self._folding.view(messages), budget)
        self.memory.masked = masking.memory.masked
        return view

    def _summary(self, stand: Stand, start: int, masks: Edit, stays: Collection[str]) -> Edit | None:
        """A summary of everything before `start`, requested after the current view; None if it saves nothing more."""
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
        return self._folding.fold(with_masks(messages, self.memory.masked), start, budget, why)

    def _view(self, messages: Sequence[Message]) -> list[Message]:
        return with_masks(self._folding.view(messages), self.memory.masked)

    def _start(self, messages: Sequence[Message]) -> int:
        """The index where the newest turns begin, which stay whole."""
        if not self.window:
            return len(messages) - len(pending(messages))
        groups = [turn for turn in turns(messages) if messages[turn.start].calls]
        return groups[-self.window].start if self.window <= len(groups) else 0

    def _cached(self, view: Sequence[Message], budget: Budget) -> int:
        """Tokens that the server has cached: the view of the last call, which ended with the message seen last."""
        seen = next((at + 1 for at, message in enumerate(view) if message.id == self.memory.seen), 0)
        return budget.size(view[:seen]) if seen else 0

    @property
    def _folding(self) -> Folding:
        return Folding(self.model, self.words, self.memory)
