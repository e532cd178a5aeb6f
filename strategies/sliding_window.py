"""sliding-window: the newest turns, whole, and nothing of the older ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.budget import Budget
from agent.history import pinned
from agent.messages import Message, blocks, turns
from strategies.making_room import aged
from strategies.parameter import parameter


@dataclass
class SlidingWindow:
    """Forget the oldest turns whole, keep the newest word for word. Cheap and simple; what slid out is gone.

    The task and the current question always stay. Over the budget, it drops down to `target` of it at once and then
    leaves the prefix alone until it is over again, so that the server's cache holds in between. With `window` set it
    keeps just that many turns at every call, as the textbook does.
    """

    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    window: int | None = parameter(None, "turns kept at every call; unset: as many as fit")
    state: dict[str, Any] = field(default_factory=dict)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The view from the first kept block on; see the class."""
        stays = {message.id for message in pinned(messages)} | set(self.state.get("kept", ()))
        if self.window is not None:
            kept = turns(messages)[max(0, len(turns(messages)) - self.window) :]
            return _from(messages, kept[0].start if kept else len(messages), stays)
        view = _from(messages, self._start(messages), stays)
        if budget.over(view):
            view = self._slide(view, budget)
        return view

    def why(self, message: Message) -> str:
        """The rule by which the newest view leaves a message out."""
        return self.state.get("why", "") if self.window is None else aged(self.window)

    def _start(self, messages: Sequence[Message]) -> int:
        first = self.state.get("first")
        return next((index for index, message in enumerate(messages) if message.id == first), 0)

    def _slide(self, view: list[Message], budget: Budget) -> list[Message]:
        """Move the start forward. What is pinned now stays until the next slide, however the question changes."""
        stays = [message.id for message in pinned(view)]
        size, start = budget.size(view), 0
        for block in blocks(view)[:-1]:
            if size <= self.target * budget.limit:
                break
            size -= sum(budget.count(view[index]) for index in block if view[index].id not in stays)
            start = block.stop
        if start:
            why = f"the view was {budget.size(view):,} of {budget.limit:,} tokens: slid down to {self.target:.0%} of it"
            self.state = {"first": view[start].id, "kept": stays, "why": why}
        return _from(view, start, set(stays))


def _from(messages: Sequence[Message], start: int, stays: set[str]) -> list[Message]:
    return [message for index, message in enumerate(messages) if index >= start or message.id in stays]
