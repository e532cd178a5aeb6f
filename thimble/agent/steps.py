"""Steps: who changed each message on its way into a view, and why; computed on first access."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from thimble.agent.budget import Budget
from thimble.agent.fates import Fate, fate
from thimble.agent.messages import YOU, Message
from thimble.agent.protocols import Stage, Strategy

FIT = "fit"
"""The name of `fit` among the makers of a view."""
DROPPED = "you dropped it"
"""The reason for a message that the user dropped."""
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ViewStep:
    """One change of a message on its way into a view: who made it, its fate after it, why, its tokens before and after.

    `by` is the name of a part of the strategy, `fit`, `you` for the user, or "" for the strategy as a whole.
    """

    by: str
    fate: Fate
    why: str
    before: int
    tokens: int


class LazyMapping(Mapping[str, Value]):
    """Values by message id, all computed when one is first read."""

    def __init__(self, make: Callable[[], dict[str, Value]]) -> None:
        self._make = make

    @cached_property
    def _values(self) -> dict[str, Value]:
        return self._make()

    def __getitem__(self, id_: str) -> Value:
        return self._values[id_]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def explain_drops(
    fated: Iterable[tuple[Message, Fate]], stages: Sequence[Stage], strategy: Strategy, budget: Budget
) -> dict[str, str]:
    """The reason for each dropped message, by id: the words of the strategy, or those of `fit`."""
    shown = [(stage.by, {message.id for message in stage.messages}) for stage in stages]
    size, limit = budget.size(stages[-2].messages), budget.limit
    over = f"the view was {size:,} of {limit:,} tokens: the oldest went, a quarter of the budget at a time"
    whys = {}
    for message, its_fate in fated:
        if its_fate == "dropped":
            by = next(by for by, ids in shown if message.id not in ids)
            reason = over if by == FIT else "" if by == YOU else strategy.why(message)
            whys[message.id] = DROPPED if by == YOU else f"{by} left it out ({reason})" if by and reason else reason
    return whys


def explain_changes(
    fated: Iterable[tuple[Message, Fate]], stages: Sequence[Stage], whys: Mapping[str, str], budget: Budget
) -> dict[str, Sequence[ViewStep]]:
    """The changes of each message that is not kept, in order, by id."""
    shown = [(stage.by, {message.id: message for message in stage.messages}) for stage in stages]
    covering = {id_: message for stage in stages for message in stage.messages for id_ in message.covers}

    def step(by: str, original: Message, now: Message, copy: Message | None) -> ViewStep:
        cover, before = covering.get(original.id), budget.count(now)
        if copy:
            return ViewStep(by, fate(original, copy, cover is not None), copy.why, before, budget.count(copy))
        if cover:
            return ViewStep(by, "summarised", cover.why, before, 0)
        return ViewStep(by, "dropped", whys.get(original.id, ""), before, 0)

    found: dict[str, Sequence[ViewStep]] = {}
    for original, its_fate in fated:
        if its_fate == "kept":
            continue
        now, its = original, list[ViewStep]()
        for by, messages in shown:
            copy = messages.get(original.id)
            if copy is None and its and not its[-1].tokens:
                continue
            if copy is None or not copy.same(now):
                its.append(step(by, original, now, copy))
            now = copy or original
        found[original.id] = its
    return found
