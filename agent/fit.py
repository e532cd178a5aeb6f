"""Fit: make good the budget after the strategy, by steps so coarse that the prefix seldom changes.

First the largest observations are halved (head and tail stay), while one is larger than an eighth of the budget.
Then the oldest blocks go, summaries last, a quarter of the budget at a time: first those that the view before had no
room for either, and others only where that is not enough. What never goes: the system message, the task, the current
question, the last turn since it. If the observations of that turn cannot be halved enough either: BudgetError.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heappush

from agent.budget import Budget
from agent.errors import BudgetError
from agent.messages import Message, blocks, pinned

SMALLEST = 48
"""Tokens below which an observation is not halved any more."""


def fit(
    view: Sequence[Message], budget: Budget, stays: Collection[str] | None = None, gone: Collection[str] = ()
) -> list[Message]:
    """The same view within the budget; the view itself where it already is.

    Shortening goes by powers of two and dropping by quarters of the budget, so that two calls in a row mostly
    shorten and drop the same, and the server's cache holds. `stays` are ids of messages that never go: by default
    what is pinned in the view itself. `gone` are ids of what the view before had no room for.

    Raises:
        BudgetError: even the task, the question and the last turn with its observations cut are too large.
    """
    draft = _Draft(view, budget)
    if draft.over <= 0:
        return draft.messages
    draft.halve(down_to=max(SMALLEST, budget.limit // 8))
    draft.drop_oldest({message.id for message in pinned(view)} if stays is None else stays, gone)
    draft.halve(down_to=SMALLEST)
    if draft.over > 0:
        raise BudgetError(budget.limit + draft.over, budget.limit)
    return draft.messages


class _Draft:
    """A view on its way to the budget, with the tokens of each message beside it.

    Observations are halved always from the whole one, so that a result cut twice has one marker.
    """

    def __init__(self, view: Sequence[Message], budget: Budget) -> None:
        self.budget = budget
        self.messages = list(view)
        self.sizes = list(map(budget.count, view))
        self.whole: dict[str, Message] = {}
        self.share: dict[str, float] = {}

    @property
    def over(self) -> int:
        """Tokens above the budget."""
        return self.budget.overhead + sum(self.sizes) - self.budget.limit

    def halve(self, down_to: int) -> None:
        """Halve the largest observation until the view fits or all are at most `down_to` tokens."""
        over = self.over
        if over <= 0:
            return
        large = [
            (-size, at) for at, size in enumerate(self.sizes) if size > down_to and self.messages[at].role == "tool"
        ]
        heapify(large)
        while over > 0 and large:
            _, at = heappop(large)
            shorter = self._half(self.messages[at])
            size = self.budget.count(shorter)
            saved = self.sizes[at] - size
            if saved > 0:
                self.messages[at], self.sizes[at] = shorter, size
                over -= saved
                if size > down_to:
                    heappush(large, (-size, at))

    def _half(self, message: Message) -> Message:
        whole = self.whole.setdefault(message.id, message)
        self.share[message.id] = self.share.get(message.id, 1.0) / 2
        return shortened(whole, self.share[message.id], self.budget)

    def drop_oldest(self, stays: Collection[str], gone: Collection[str]) -> None:
        """Drop what is gone already, unless that leaves half of the budget free; then the oldest blocks, by quarters.

        The last turn and what stays never go. Summaries go last: they are small, and stand for more than any other
        block.
        """
        if self.over <= 0:
            return
        groups = blocks(self.messages)
        staying = {index for index, message in enumerate(self.messages) if message.id in stays}
        asked = max(staying, default=-1)
        turns = (group for group in reversed(groups) if self.messages[group.start].role == "assistant")
        last_turn = next((turn for turn in turns if turn.start > asked), None)
        free = [group for group in groups if group != last_turn and staying.isdisjoint(group)]
        again = [group for group in free if self.messages[group.start].id in gone]
        over = self.over - sum(map(self._size, again))
        if over < -self.budget.limit // 2:  # of another strategy or budget
            again, over = [], self.over
        quarter = max(1, self.budget.limit // 4)
        goal = -(-over // quarter) * quarter
        dropped = {index for group in again for index in group}
        for group in sorted(free, key=lambda group: bool(self.messages[group.start].covers)):
            if goal <= 0:
                break
            if group.start not in dropped:
                dropped.update(group)
                goal -= self._size(group)
        self.messages = [message for index, message in enumerate(self.messages) if index not in dropped]
        self.sizes = [size for index, size in enumerate(self.sizes) if index not in dropped]

    def _size(self, group: range) -> int:
        return sum(self.sizes[group.start : group.stop])


def shortened(message: Message, share: float, budget: Budget) -> Message:
    """A copy that keeps about `share` of the content: its head and its tail, and a marker for what is between."""
    text = message.content
    keep = int(len(text) * share)
    head, tail = text[: keep - keep // 3], text[len(text) - keep // 3 :]
    cut = int(budget.count(message) * (1 - share))
    return message.rewritten(
        f"{head}\n[… {cut} tokens cut …]\n{tail}",
        f"the view was over {budget.limit:,} tokens: the largest result is cut to {share:.2%}",
    )
