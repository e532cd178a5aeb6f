"""thrifty: rent or buy. Every edit of the prefix has a price; every token that stays costs again at each call."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from thimble.agent.budget import Budget, Prices
from thimble.agent.errors import BudgetError
from thimble.agent.messages import Message, blocks, common_prefix, last_turn, pending_turn
from thimble.agent.side import SideModel
from thimble.agent.turns import pinned
from thimble.strategies.making_room import list_offers, window_reason
from thimble.strategies.masks import Masks, mask_message, with_masks
from thimble.strategies.newest import find_turns
from thimble.strategies.observation_masking import ObservationMasking
from thimble.strategies.parameter import parameter
from thimble.strategies.state import Stateful
from thimble.strategies.summary import Folded, Folding, Piece, newest_that_fit, summary_message

CREDIT = 0.05
"""The extra cost allowed to a run, as a share of the cost of sending everything so far."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A possible edit: the first message that it changes, the tokens that it saves."""

    first: int
    saved: int


@dataclass(frozen=True, slots=True)
class ViewCost:
    """The current view at a call, its tokens, and how many of them the server has cached."""

    view: Sequence[Message]
    size: int
    cached: int
    prices: Prices
    budget: Budget

    def price(self, edit: Edit) -> float:
        """The extra price of this call with the edit: p1 − p0."""
        kept = min(self.cached, self.budget.size(self.view[: edit.first]))
        return self.prices.prompt(self.size - edit.saved, kept) - self.prices.prompt(self.size, self.cached)


@dataclass(frozen=True, slots=True)
class Offer:
    """A summary that one call would make: the edit, its expected tokens, and the price of its prompt.

    `longest`: the most tokens that the summary can have.
    """

    piece: Piece
    edit: Edit
    written: int
    longest: int
    prompt: float
    stand: ViewCost

    def price(self, written: int) -> float:
        """The price of the edit and its call, if the model writes `written` tokens."""
        edit = replace(self.edit, saved=self.edit.saved + self.written - written)
        return self.stand.price(edit) + self.call(written)

    def call(self, written: int) -> float:
        """The price of its call alone."""
        return self.prompt + self.stand.prices.output * written


@dataclass
class Rent:
    """The rent paid since the last edit, for masks and for a summary not made yet."""

    masks: float = 0.0
    summary: float = 0.0


@dataclass
class Account(Masks, Folded):
    """The masks, the summary, the reasons of forgotten messages, the rent paid since, the savings, the newest message.

    `saved` is the cost of sending everything so far, plus the credit on it, less the amount spent.
    """

    rent: Rent = field(default_factory=Rent)
    saved: float = 0.0
    forgotten: dict[str, str] = field(default_factory=dict)
    seen: str = ""

    def pays(self, price: float) -> bool:
        """Whether the account can pay this; it can always pay for a free edit."""
        return price <= max(0.0, self.saved)


@dataclass
class Thrifty(Stateful):
    """Remove old tokens once their rent reaches the price of the edit. Pay for each edit from earlier savings.

    At a call, the current view has the size s0 and the price p0; with everything older than the newest `window` turns
    masked, it would have s1 and p1. The rent of the call is c·(s0 − s1), where c is the price of a cached token, and a
    computed token costs 1. When the rent since the last edit reaches p1 − p0, the edit is due. The same rule decides
    on a summary, whose price includes its call (ski rental, Karlin et al. 1988, applied to prefix caches).

    An edit is paid from the account: the cost of sending everything so far and a twentieth of it, less the amount
    spent. A summary is one call, and the account must hold its longest reply. Over the budget, the account decides too:
    it buys masks, or else a summary whose call costs at most the tokens that it saves; both must leave half of the
    possible room free. If it can pay for neither, the oldest turns are forgotten. At c = 1, masks are free: without a
    budget and summaries, they are those of The Complexity Trap, Eq. 4, but for results shorter than a mask.
    """

    model: SideModel
    window: int = parameter(2, "newest turns that stay whole if the budget allows")
    price: float | None = parameter(None, "price of a cached token; unset: the session's price card", 0, 1)
    summaries: bool = parameter(True, "buy summaries too, or masks only")
    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    words: int = parameter(400, "length asked of the summary", 20, 10_000)
    memory: Account = field(default_factory=Account)

    @property
    def priced(self) -> bool:
        """Whether it depends on the price card."""
        return self.price is None

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The current view, or an edited one if the edit is now worth its price; see the class."""
        prices = budget.prices if self.price is None else replace(budget.prices, cached=self.price)
        view = self._view(messages)
        stand = ViewCost(view, budget.size(view), self._cached(view, budget), prices, budget)
        new = bool(messages) and messages[-1].id != self.memory.seen
        if new:
            everything = prices.prompt(budget.size(messages), self._cached(messages, budget))
            self.memory.saved += (1 + CREDIT) * everything - prices.prompt(stand.size, stand.cached)
        if budget.over(view):
            self._make_room(messages, stand)
        elif new:
            self._trade_edits(messages, stand)
        if messages:
            self.memory.seen = messages[-1].id
        return self._view(messages)

    def why(self, message: Message) -> str:
        """The rule by which a message was forgotten."""
        return self.memory.forgotten.get(message.id, "")

    def _trade_edits(self, messages: Sequence[Message], stand: ViewCost) -> None:
        """Pay this call's rent for the masks and the summary not made yet, and buy the edits that are due."""
        view, budget, prices = stand.view, stand.budget, stand.prices
        start = self._start(view)
        rent = replace(self.memory.rent)

        old = {message.id for message, _ in list_offers(view[:start], mask_message, budget)}
        masks = _edit(view, with_masks(view, dict.fromkeys(old, "")), budget)
        rent.masks += prices.cached * masks.saved
        price = stand.price(masks)
        pays = bool(old) and rent.masks >= price and self.memory.pays(price)

        offer = self._offer(messages, self._start(messages), stand)
        if offer and offer.edit.saved > masks.saved:
            # The summary pays only for the tokens that masks would not save.
            rent.summary += prices.cached * (offer.edit.saved - masks.saved)
            more = offer.price(offer.written) - (price if pays else 0)
            paid = f"the rent of {rent.summary:,.0f} had reached the price of the summary, {more:,.0f}"
            if rent.summary >= more and self._buy_summary(offer, messages, paid):
                return
        self.memory.rent = replace(rent, masks=0.0) if pays else rent
        if pays:
            paid = f"the rent of {rent.masks:,.0f} had reached the price of the edit, {price:,.0f}"
            why = f"{window_reason(self.window)}, and {paid}"
            self.memory.saved -= price
            self.memory.masked.update((message.id, why) for message in view if message.id in old)

    def _make_room(self, messages: Sequence[Message], stand: ViewCost) -> None:
        """Buy the edit that keeps most, of those that leave half of the room free and that the account can pay.

        The room is the budget less the messages that always stay.
        """
        view, budget = stand.view, stand.budget
        old = view[: last_turn(view)]
        stays = {message.id for message in (*pinned(messages), *(one for one in view if one.covers))}
        half = (budget.size(message for message in old if message.id in stays) + budget.limit) / 2
        goal = budget.size(old) - half
        if goal <= 0:
            return
        self.memory.rent = Rent()
        over = f"the view was {stand.size:,} of {budget.limit:,} tokens"
        gone, forgetting = self._oldest(stand, len(old), stays, min(half, self.target * budget.limit))
        masking = ObservationMasking(window=1, target=self.target, memory=Masks(dict(self.memory.masked)))
        masks = _edit(view, masking.prepare(view, budget), budget)
        price = stand.price(masks)
        if masks.saved >= goal and (self.memory.pays(price) or price <= stand.price(forgetting)):
            self.memory.saved -= price
            self.memory.masked = masking.memory.masked
            return
        start = newest_that_fit(view, 1, self.target * budget.limit / 2, budget)
        upto = next((at for at, message in enumerate(messages) if message.id == view[start].id), 0)
        offer = self._offer(messages, upto, stand)
        enough = offer and offer.edit.saved >= max(goal, offer.call(offer.written))
        if offer and enough and self._buy_summary(offer, messages, f"{over}, and masks were not enough"):
            return
        self.memory.saved -= stand.price(forgetting)
        self.memory.forgotten.update(dict.fromkeys(gone, f"{over}: the oldest went"))

    def _oldest(self, stand: ViewCost, stop: int, stays: Collection[str], goal: float) -> tuple[list[str], Edit]:
        """The oldest blocks that go, by ids, until at most the goal is left before `stop` and the account can pay."""
        view, budget = stand.view, stand.budget
        gone: list[str] = []
        edit, size = Edit(0, 0), budget.size(view[:stop])
        for block in blocks(view[:stop]):
            if size - edit.saved <= goal and self.memory.pays(stand.price(edit)):
                break
            going = [at for at in block if view[at].id not in stays]
            first = edit.first if gone else next(iter(going), 0)
            edit = Edit(first, edit.saved + sum(budget.count(view[at]) for at in going))
            gone += [view[at].id for at in going]
        return gone, edit

    def _offer(self, messages: Sequence[Message], upto: int, stand: ViewCost) -> Offer | None:
        """The summary that one call would make of the messages before index `upto`; None if none are left."""
        folding, view, budget = self._folding, stand.view, stand.budget
        if not self.summaries or folding.is_waiting(messages):
            return None
        there = with_masks([one for one in messages if one.id not in self.memory.forgotten], self.memory.masked)
        upto -= sum(one.id in self.memory.forgotten for one in messages[:upto])
        piece = folding.next_piece(there, upto, budget, "")
        if not piece:
            return None
        try:
            prompt = piece.prompt
        except BudgetError:
            return None
        shared = common_prefix(view, prompt)
        cached = min(stand.cached, budget.size(view[:shared])) if shared else 0
        read = stand.prices.prompt(budget.size(prompt), cached)
        # The next summary will be about as long as the last; the first, two thirds of the limit.
        written = next((budget.count(one) for one in piece.old if one.covers), piece.reply * 2 // 3)
        first = next(at for at, message in enumerate(view) if message.id == piece.old[0].id)
        longest = piece.reply + budget.count(summary_message(Folded(piece.quoted, piece.covers)))
        return Offer(piece, Edit(first, piece.tokens - written), written, longest, read, stand)

    def _buy_summary(self, offer: Offer, messages: Sequence[Message], why: str) -> bool:
        """Make the summary, if the account can pay for the longest one; return whether it was made."""
        if not self.memory.pays(max(offer.price(offer.longest), offer.call(offer.longest))):
            return False
        made = offer.piece.folded(offer.piece.ask(self.model))
        if not made:
            self.memory.refused = messages[-1].id
            self.memory.saved -= offer.call(offer.longest)
            return False
        self.memory.saved -= offer.price(offer.stand.budget.count(summary_message(made)))
        self.memory.copy_from(replace(made, why=why))
        self.memory.rent = Rent()
        return True

    def _view(self, messages: Sequence[Message]) -> list[Message]:
        view = with_masks(self._folding.view(messages), self.memory.masked)
        gone = self.memory.forgotten.keys() - {message.id for message in pinned(messages)}
        return [message for message in view if message.id not in gone]

    def _start(self, messages: Sequence[Message]) -> int:
        """The start of the newest turns, which stay whole."""
        if not self.window:
            return len(messages) - len(pending_turn(messages))
        starts = find_turns(messages)
        return starts[-self.window] if self.window <= len(starts) else 0

    def _cached(self, view: Sequence[Message], budget: Budget) -> int:
        """Tokens that the server has cached: the view of the last call, which ended with the message seen last."""
        seen = next((at + 1 for at in reversed(range(len(view))) if view[at].id == self.memory.seen), 0)
        return budget.size(view[:seen]) if seen else 0

    @property
    def _folding(self) -> Folding:
        return Folding(self.model, self.words, self.memory)


def _edit(view: Sequence[Message], edited: Sequence[Message], budget: Budget) -> Edit:
    """The edit that makes one view of another."""
    return Edit(common_prefix(view, edited), budget.size(view) - budget.size(edited))
