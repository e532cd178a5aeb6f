"""Fit: bring a view within the budget after the strategy, in steps so coarse that the prefix seldom changes.

First the thinking of all turns but the last is removed. Then the largest observations are halved (head and tail stay)
while one is larger than an eighth of the budget. Then the oldest blocks are dropped, summaries last, a quarter of the
budget at a time: first those that the previous view dropped too, others only if that is not enough. Never dropped: the
system message, the task, the current question, the last turn since it. If the observations of that turn cannot be
halved enough either, a task of several messages loses its oldest ones, but never its last; then BudgetError.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import accumulate
from math import log2

from thimble.agent.budget import Budget
from thimble.agent.errors import BudgetError
from thimble.agent.messages import YOU, Message, blocks, last_turn, without_thinking
from thimble.agent.turns import pinned

MIN_HALVED_TOKENS = 48
"""An observation of fewer tokens is not halved any further."""


def fit(
    view: Sequence[Message],
    budget: Budget,
    stays: Collection[Message] = (),
    gone: Collection[str] = (),
    early: Collection[Message] = (),
    counts: Sequence[int] = (),
) -> list[Message]:
    """Fit a view into the budget; one that fits is returned unchanged.

    It shortens by powers of two and drops by quarters of the budget, so that two calls in a row mostly shorten and drop
    the same messages, and the server's prefix cache stays valid. `stays`: messages that are never dropped, by default
    the pinned ones of the view. `early`: those that are dropped all the same, oldest first, once nothing else can be.
    `gone`: ids of the messages that the previous view dropped. `counts`: the tokens of each message, if known.

    Raises:
        BudgetError: even the task, the question and the last turn with its observations cut are too large.
    """
    counts = counts or budget.counter.counts(view)
    over = budget.overhead + sum(counts) - budget.limit
    if over <= 0:
        return [*view]
    last, why = last_turn(view), f"the view was over {budget.limit:,} tokens: its thinking is left out"
    if any(message.thinking for message in view[:last]):
        rest = [*(without_thinking(message, why) for message in view[:last]), *view[last:]]
        return fit(rest, budget, stays, gone, early)
    large = max(MIN_HALVED_TOKENS, budget.limit // 8)
    halved = {
        at: _halve_if_large(view[at], tokens, budget, large) for at, tokens in enumerate(counts) if tokens > large
    }
    cut = [halved[at].tokens if at in halved else tokens for at, tokens in enumerate(counts)]
    if budget.overhead + sum(cut) <= budget.limit:
        pieces = [*map(_Piece, view, view, counts)]
        over = _halve_largest(pieces, over, budget, large)
    else:
        stay = _drop_oldest_blocks(view, cut, budget, _never_dropped(view, stays or pinned(view)), gone)
        pieces = [halved.get(at) or _Piece(view[at], view[at], counts[at]) for at in stay]
        over = budget.overhead + sum(piece.tokens for piece in pieces) - budget.limit
        over = _halve_largest(pieces, over, budget, MIN_HALVED_TOKENS)
        if over > 0 and any(message.thinking for message in view):
            return fit([without_thinking(message, why) for message in view], budget, stays, gone, early)
        for piece in [*pieces]:
            if over > 0 and piece.whole in early:
                pieces.remove(piece)
                over -= piece.tokens
    if over > 0:
        raise BudgetError(budget.limit + over, budget.limit)
    return [piece.message for piece in pieces]


@dataclass(slots=True)
class _Piece:
    """A message that may be cut: the whole one, its copy, the copy's tokens, and its share of the whole."""

    whole: Message
    message: Message
    tokens: int
    share: float = 1.0

    @property
    def may_shrink(self) -> bool:
        """Whether it is a result that the user has not pinned or edited."""
        return self.whole.role == "tool" and self.whole.ref != YOU

    def halve(self, budget: Budget, large: int) -> int:
        """Halve it, always cutting the whole one, so that a result cut twice has one marker; return the tokens saved.

        A piece that is many times as large as `large` is halved more than once in one step.
        """
        self.share /= 2 ** max(1, int(log2(self.tokens / large)) - 3)
        shorter = shorten_message(self.whole, self.share, budget)
        saved = self.tokens - budget.count(shorter)
        if saved > 0:
            self.message, self.tokens = shorter, self.tokens - saved
        return saved


def _halve_if_large(message: Message, tokens: int, budget: Budget, large: int) -> _Piece:
    """The message, halved while it is an observation larger than `large` and halving saves tokens."""
    piece = _Piece(message, message, tokens)
    while piece.may_shrink and piece.tokens > large and piece.halve(budget, large) > 0:
        pass
    return piece


def _halve_largest(pieces: Sequence[_Piece], over: int, budget: Budget, large: int) -> int:
    """Halve the largest observation until the view fits or all are at most `large`; return the tokens still over."""
    found = enumerate(pieces)
    heap = [(-piece.tokens, at) for at, piece in found if piece.tokens > large and piece.may_shrink]
    heapify(heap)
    while over > 0 and heap:
        _, at = heappop(heap)
        saved = pieces[at].halve(budget, large)
        if saved > 0:
            over -= saved
            if pieces[at].tokens > large:
                heappush(heap, (-pieces[at].tokens, at))
    return over


def _never_dropped(view: Sequence[Message], stays: Collection[Message]) -> set[str]:
    """The ids of the messages whose blocks are never dropped: those that stay, and the last turn since."""
    never = {message.id for message in stays}
    for message in reversed(view):
        if message.id in never:
            break
        if message.role == "assistant":
            return never | {message.id}
    return never


def _drop_oldest_blocks(
    view: Sequence[Message], counts: Sequence[int], budget: Budget, never: set[str], gone: Collection[str]
) -> list[int]:
    """The indices that remain when the oldest blocks are dropped, a quarter of the budget at a time.

    Blocks that were `gone` come back if the rest is less than half of the budget: the previous view was of another
    strategy or budget. Summaries are dropped last: they are small, and replace more than any other block.
    """
    found, before, ids = blocks(view), [0, *accumulate(counts)], [message.id for message in view]
    sizes = {block.start: before[block.stop] - before[block.start] for block in found}
    fixed = {block.start for block in found if not never.isdisjoint(ids[block.start : block.stop])}
    system = [0] if view and view[0].role == "system" else []
    least = budget.overhead + sum(counts[at] for at in system) + sum(sizes[start] for start in fixed)
    free = [start for start in sizes if start not in fixed and ids[start] not in gone]
    if least + sum(sizes[start] for start in free) < budget.limit / 2:
        free = [start for start in sizes if start not in fixed]
    size, quarter = sum(sizes[start] for start in free), max(1, budget.limit // 4)
    room = size + (budget.limit - least - size) // quarter * quarter
    kept = {*system, *fixed}
    # summaries first, then the newest blocks
    for start in sorted(reversed(free), key=lambda start: not view[start].covers):
        room -= sizes[start]
        if room < 0:
            break
        kept.add(start)
    return [*system, *(at for block in found if block.start in kept for at in block)]


@lru_cache(maxsize=4096)
def _shorten(message: Message, share: float, cut: int, limit: int) -> Message:
    """A copy that keeps about `share` of a message's content, with a marker that says how many tokens are cut."""
    text = message.content
    keep = int(len(text) * share)
    whole, stays = f"{len(text):,}", f"{keep:,}"
    head, tail = text[: keep - keep // 3], text[len(text) - keep // 3 :]
    return message.rewritten(
        f"{head}\n[… {cut:,} tokens cut …]\n{tail}",
        f"the view was over {limit:,} tokens: of this large result, {stays} of {whole} characters stay",
    )


def shorten_message(message: Message, share: float, budget: Budget) -> Message:
    """A copy that keeps about `share` of the content: its head and its tail, with a marker between them."""
    return _shorten(message, share, int(budget.count(message) * (1 - share)), budget.limit)
