"""Fit: make good the budget after the strategy, by steps so coarse that the prefix seldom changes.

First the largest observations are halved (head and tail stay), while one is larger than an eighth of the budget.
Then the oldest blocks go, summaries last, a quarter of the budget at a time: first those that the view before had no
room for either, and others only where that is not enough. What never goes: the system message, the task, the current
question, the last turn since it. If the observations of that turn cannot be halved enough either: BudgetError.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import log2

from agent.budget import Budget, Tokens
from agent.errors import BudgetError
from agent.history import History, pinned
from agent.messages import Message

SMALLEST = 48
"""Tokens below which an observation is not halved any more."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A view within the budget, made from the one that was `offered`.

    `counted` is the budget that it was made for, where blocks were dropped and no more was cut; None elsewhere.
    """

    messages: History
    offered: History
    counted: tuple[Tokens, int, int] | None = None

    def grown(self, view: History, budget: Budget, stays: Collection[str]) -> Fitted | None:
        """What `fit` makes of a view that only grew since, where what is new finds room; None elsewhere."""
        new = view[len(self.offered) :]
        same = self.counted == _counted(budget) and view.shared(self.offered) == len(self.offered)
        if not same or view.covering or (new and new[0].role == "tool"):
            return None
        large = max(SMALLEST, budget.limit // 8)
        messages = self.messages.plus(*(_piece(message, budget, large).message for message in new))
        needed = {*stays, view[view.turns[-1]].id} if view.turns else stays
        there = all(messages.place(id_) is not None or view.place(id_) is None for id_ in needed)
        fits = -budget.limit // 2 <= budget.size(messages) - budget.limit <= 0
        return Fitted(messages, view, self.counted) if there and fits else None


def _counted(budget: Budget) -> tuple[Tokens, int, int]:
    return budget.tokens, budget.limit, budget.overhead


def fit(
    view: Sequence[Message], budget: Budget, stays: Collection[str] | None = None, left: Sequence[int] | None = None
) -> History:
    """The same view within the budget; see `fitted`."""
    return fitted(view, budget, stays, left).messages


def fitted(
    view: Sequence[Message], budget: Budget, stays: Collection[str] | None = None, left: Sequence[int] | None = None
) -> Fitted:
    """The same view within the budget; the view itself where it already is.

    Shortening goes by powers of two and dropping by quarters of the budget, so that two calls in a row mostly
    shorten and drop the same, and the server's cache holds. `stays` are ids of messages that never go: by default
    what is pinned in the view itself. `left` are the places that are left without what the view before had no room
    for: by default all.

    Only what may stay is looked at, which is as long as the budget, however long the view is.

    Raises:
        BudgetError: even the task, the question and the last turn with its observations cut are too large.
    """
    view = History.of(view)
    if not budget.over(view):
        return Fitted(view, view)
    draft = _Draft(view, budget, {message.id for message in pinned(view)} if stays is None else stays)
    counted = None
    if draft.enough_halved():
        kept = list(range(len(view)))
        over = draft.halve(kept, budget.size(view) - budget.limit, draft.large)
    else:
        kept, over = draft.newest(left)
        counted = _counted(budget) if over <= 0 else None
        over = draft.halve(kept, over, SMALLEST)
    if over > 0:
        raise BudgetError(budget.limit + over, budget.limit)
    return Fitted(History(draft[place].message for place in kept), view, counted)


@dataclass(slots=True)
class _Piece:
    """A message on its way to the budget, its tokens, and the share of the whole one that it is."""

    whole: Message
    message: Message
    tokens: int
    share: float = 1.0

    def halve(self, budget: Budget, large: int) -> int:
        """Halve it, always from the whole one, so that a result cut twice has one marker; the tokens saved.

        A piece that is many times as large as `large` is halved more than once in one step.
        """
        self.share /= 2 ** max(1, int(log2(self.tokens / large)) - 3)
        shorter = shortened(self.whole, self.share, budget)
        saved = self.tokens - budget.count(shorter)
        if saved > 0:
            self.message, self.tokens = shorter, self.tokens - saved
        return saved


@dataclass(frozen=True, slots=True)
class _Halved:
    """The measure of a message in tokens, when it is halved for as long as it is larger than `large`."""

    tokens: Tokens
    large: int

    def __call__(self, message: Message) -> int:
        """Tokens of the halved message."""
        tokens = self.tokens(message)
        if tokens <= self.large or message.role != "tool":
            return tokens
        return _piece(message, Budget(0, self.tokens.counter), self.large).tokens


def _piece(message: Message, budget: Budget, large: int) -> _Piece:
    """The message, halved for as long as it is an observation larger than `large`, and that saves anything."""
    piece = _Piece(message, message, budget.count(message))
    while message.role == "tool" and piece.tokens > large and piece.halve(budget, large) > 0:
        pass
    return piece


class _Draft:
    """A view that is over the budget, whose messages are halved when they are asked for."""

    def __init__(self, view: History, budget: Budget, stays: Iterable[str]) -> None:
        self.view, self.budget = view, budget
        self.large = max(SMALLEST, budget.limit // 8)
        self.stays = {place for id_ in stays if (place := view.place(id_)) is not None}
        self._pieces: dict[int, _Piece] = {}
        self._sizes: dict[int, int] = {}

    def __getitem__(self, place: int) -> _Piece:
        if place not in self._pieces:
            self._pieces[place] = _piece(self.view[place], self.budget, self.large)
        return self._pieces[place]

    def enough_halved(self) -> bool:
        """Whether the view fits when every large observation is halved; then some may stay as they are."""
        halved = _Halved(self.budget.tokens, self.large)
        if self.budget.overhead + self.view.total(halved) > self.budget.limit:
            return False
        self._pieces = {at: _Piece(one, one, self.budget.count(one)) for at, one in enumerate(self.view)}
        return True

    def halve(self, places: Iterable[int], over: int, large: int) -> int:
        """Halve the largest observation until nothing is over or all are at most `large`; the tokens still over."""
        if over <= 0:
            return over
        heap = [(-self[at].tokens, at) for at in places if self[at].tokens > large and self.view[at].role == "tool"]
        heapify(heap)
        while over > 0 and heap:
            _, at = heappop(heap)
            saved = self[at].halve(self.budget, large)
            if saved > 0:
                over -= saved
                if self[at].tokens > large:
                    heappush(heap, (-self[at].tokens, at))
        return over

    def newest(self, left: Sequence[int] | None) -> tuple[list[int], int]:
        """The places that stay when the oldest of what is left has gone, and the tokens still over the budget.

        All is left again where what is left is only half of the budget: it is of another strategy or budget. Summaries
        go last: they are small, and stand for more than any other block.
        """
        fixed = self._fixed()
        free = None if left is None else {at for at in left if self._begins(at)} - fixed
        limit, least = self.budget.limit - self.budget.overhead, sum(map(self._size, fixed))
        size = sum(map(self._size, free or ()))
        if free is None or least + size - limit < -self.budget.limit // 2:
            free, size = None, self.view.total(_Halved(self.budget.tokens, self.large)) - least
        quarter = max(1, self.budget.limit // 4)
        room = size + (limit - least - size) // quarter * quarter
        kept, over = [*fixed], least - limit
        for start in self._last_to_go(free, fixed):
            room -= self._size(start)
            if room < 0:
                break
            kept.append(start)
            over += self._size(start)
        return sorted(at for start in kept for at in self._block(start)), over

    def _fixed(self) -> set[int]:
        """Where the blocks begin that never go: what stays, and the last turn since the question."""
        fixed = {0} if self.view and self.view[0].role == "system" else set()
        for at in self.stays:
            while not self._begins(at):
                at -= 1
            fixed.add(at)
        turns = self.view.turns
        return fixed | {turns[-1]} if turns and turns[-1] > max(self.stays, default=-1) else fixed

    def _last_to_go(self, free: Collection[int] | None, fixed: Collection[int]) -> Iterator[int]:
        """Where the free blocks begin, the last to go first; all that are not fixed where none are given."""
        places = range(len(self.view)) if free is None else sorted(free)
        covering = {self.view.place(message.id) for message in self.view.covering}
        if covering:
            yield from (at for at in reversed(places) if at in covering and at not in fixed and self._begins(at))
        yield from (at for at in reversed(places) if at not in covering and at not in fixed and self._begins(at))

    def _begins(self, at: int) -> bool:
        """Whether a block begins at this place."""
        return at == 0 or self.view[at].role != "tool"

    def _block(self, start: int) -> range:
        stop = start + 1
        while stop < len(self.view) and not self._begins(stop):
            stop += 1
        return range(start, stop)

    def _size(self, start: int) -> int:
        """Tokens of the block that begins here."""
        if start not in self._sizes:
            self._sizes[start] = sum(self[at].tokens for at in self._block(start))
        return self._sizes[start]


def shortened(message: Message, share: float, budget: Budget) -> Message:
    """A copy that keeps about `share` of the content: its head and its tail, and a marker for what is between."""
    text = message.content
    keep = int(len(text) * share)
    whole, stays = f"{len(text):,}", f"{keep:,}"
    head, tail = text[: keep - keep // 3], text[len(text) - keep // 3 :]
    cut = int(budget.count(message) * (1 - share))
    return message.rewritten(
        f"{head}\n[… {cut:,} tokens cut …]\n{tail}",
        f"the view was over {budget.limit:,} tokens: of this large result, {stays} of {whole} characters stay",
    )
