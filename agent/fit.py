"""Fit: make good the budget after the strategy, by steps so coarse that the prefix seldom changes.

First the largest observations are halved (head and tail stay), while one is larger than an eighth of the budget.
Then the oldest blocks go, a quarter of the budget at a time. What never goes: the system message, the task, the
current question, the last turn. If the observations of that turn cannot be halved enough either: BudgetError.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from agent.budget import Budget
from agent.errors import BudgetError
from agent.messages import Message, blocks, question, task

SMALLEST = 48
"""Tokens below which an observation is not halved any more."""


def fit(view: Sequence[Message], budget: Budget) -> list[Message]:
    """The same view within the budget; the view itself where it already is.

    Shortening goes by powers of two and dropping by quarters of the budget, so that two calls in a row mostly
    shorten and drop the same, and the server's cache holds.

    Raises:
        BudgetError: even the task, the question and the last turn with its observations cut are too large.
    """
    messages = list(view)
    if not budget.over(messages):
        return messages
    messages = _halve(messages, budget, down_to=max(SMALLEST, budget.limit // 8))
    messages = _drop_oldest(messages, budget)
    messages = _halve(messages, budget, down_to=SMALLEST)
    if budget.over(messages):
        raise BudgetError(budget.size(messages), budget.limit)
    return messages


def _halve(messages: list[Message], budget: Budget, down_to: int) -> list[Message]:
    """Halve the largest observation, again and again, until the view fits or all are at most `down_to` tokens."""
    messages = list(messages)
    size = budget.size(messages)
    whole = dict(enumerate(messages))
    share = {index: 1.0 for index, message in enumerate(messages) if message.role == "tool"}
    while size > budget.limit and share:
        index = max(share, key=lambda at: budget.count(messages[at]))
        now = budget.count(messages[index])
        if now <= down_to:
            break
        share[index] /= 2
        shorter = shortened(whole[index], share[index], budget)
        if budget.count(shorter) >= now:
            del share[index]
            continue
        size += budget.count(shorter) - now
        messages[index] = shorter
    return messages


def shortened(message: Message, share: float, budget: Budget) -> Message:
    """A copy that keeps about `share` of the content: its head and its tail, and a marker for what is between."""
    text = message.content
    keep = int(len(text) * share)
    head, tail = text[: keep - keep // 3], text[len(text) - keep // 3 :]
    cut = int(budget.count(message) * (1 - share))
    return message.rewritten(
        f"{head}\n[… {cut} tokens cut …]\n{tail}",
        f"the view was over {budget.limit:,} tokens: the largest result is cut to {share:.0%}",
    )


def _drop_oldest(messages: list[Message], budget: Budget) -> list[Message]:
    pinned = {message.id for message in (task(messages), question(messages)) if message}
    groups = blocks(messages)
    last_turn = next((group for group in reversed(groups) if messages[group.start].role == "assistant"), None)
    free = [group for group in groups if group != last_turn and not pinned & {messages[i].id for i in group}]
    sizes = [sum(budget.count(messages[i]) for i in group) for group in free]
    over = budget.size(messages) - budget.limit
    if over <= 0:
        return messages
    quarter = max(1, budget.limit // 4)
    goal = -(-over // quarter) * quarter
    gone: set[int] = set()
    for group, before in zip(free, accumulate(sizes, initial=0), strict=False):
        if before >= goal:
            break
        gone.update(group)
    return [message for index, message in enumerate(messages) if index not in gone]
