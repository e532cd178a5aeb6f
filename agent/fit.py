"""Fit: make good the budget after the strategy, by steps so coarse that the prefix seldom changes.

First the largest observations are halved (head and tail stay), while one is larger than an eighth of the budget.
Then the oldest blocks go, a quarter of the budget at a time. What never goes: the system message, the task, the
current question, the last turn since it. If the observations of that turn cannot be halved enough either: BudgetError.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heappush

from agent.budget import Budget
from agent.errors import BudgetError
from agent.messages import Message, blocks, pinned

SMALLEST = 48
"""Tokens below which an observation is not halved any more."""


def fit(view: Sequence[Message], budget: Budget, stays: Collection[str] | None = None) -> list[Message]:
    """The same view within the budget; the view itself where it already is.

    Shortening goes by powers of two and dropping by quarters of the budget, so that two calls in a row mostly
    shorten and drop the same, and the server's cache holds. `stays` are ids of messages that never go: by default
    what is pinned in the view itself.

    Raises:
        BudgetError: even the task, the question and the last turn with its observations cut are too large.
    """
    messages = list(view)
    if not budget.over(messages):
        return messages
    if stays is None:
        stays = {message.id for message in pinned(view)}
    cutter = _Cutter(budget)
    messages = cutter.cut(messages, down_to=max(SMALLEST, budget.limit // 8))
    messages = _drop_oldest(messages, budget, stays)
    messages = cutter.cut(messages, down_to=SMALLEST)
    if budget.over(messages):
        raise BudgetError(budget.size(messages), budget.limit)
    return messages


class _Cutter:
    """Halves observations, always from the whole one, so that a result cut twice has one marker."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.whole: dict[str, Message] = {}
        self.share: dict[str, float] = {}

    def cut(self, messages: Sequence[Message], down_to: int) -> list[Message]:
        """Halve the largest observation until the view fits or all are at most `down_to` tokens."""
        count = self.budget.count
        view = list(messages)
        over = self.budget.size(view) - self.budget.limit
        if over <= 0:
            return view
        sizes = [(-count(message), at) for at, message in enumerate(view) if message.role == "tool"]
        large = [(size, at) for size, at in sizes if -size > down_to]
        heapify(large)
        while over > 0 and large:
            size, at = heappop(large)
            shorter = self._half(view[at])
            saved = -size - count(shorter)
            if saved > 0:
                view[at] = shorter
                over -= saved
                if count(shorter) > down_to:
                    heappush(large, (-count(shorter), at))
        return view

    def _half(self, message: Message) -> Message:
        whole = self.whole.setdefault(message.id, message)
        self.share[message.id] = self.share.get(message.id, 1.0) / 2
        return shortened(whole, self.share[message.id], self.budget)


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


def _drop_oldest(messages: list[Message], budget: Budget, stays: Collection[str]) -> list[Message]:
    over = budget.size(messages) - budget.limit
    if over <= 0:
        return messages
    quarter = max(1, budget.limit // 4)
    goal = -(-over // quarter) * quarter
    groups = blocks(messages)
    asked = max((index for index, message in enumerate(messages) if message.id in stays), default=-1)
    since = (group for group in reversed(groups) if messages[group.start].role == "assistant" and group.start > asked)
    last_turn = next(since, None)
    gone: set[int] = set()
    dropped = 0
    for group in groups:
        if dropped >= goal:
            break
        if group != last_turn and not any(messages[index].id in stays for index in group):
            gone.update(group)
            dropped += sum(budget.count(messages[index]) for index in group)
    return [message for index, message in enumerate(messages) if index not in gone]
