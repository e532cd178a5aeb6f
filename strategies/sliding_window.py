"""sliding-window: the newest turns, whole, without the older ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.budget import Budget
from agent.history import History, pinned
from agent.messages import Message, blocks
from strategies.making_room import aged
from strategies.parameter import parameter
from strategies.state import Stateful


@dataclass(frozen=True)
class Slid:
    """The id of the first message that stays, the ids of earlier ones that stay, and the reason."""

    first: str = ""
    kept: Sequence[str] = ()
    why: str = ""


@dataclass
class SlidingWindow(Stateful):
    """Forget the oldest turns whole, keep the newest word for word. Cheap and simple; what slid out is gone.

    The task and the current question always stay. Over the budget, it drops down to `target` of it at once and then
    leaves the prefix alone until it is over again, so that the server's cache holds in between. With `window` set it
    keeps just that many turns at every call, as the textbook does.
    """

    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    window: int | None = parameter(None, "turns kept at every call, an answer among them; unset: as many as fit")
    memory: Slid = field(default_factory=Slid)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
        """The view from the first block that stays; see the class."""
        history = History.of(messages)
        stays = {message.id for message in pinned(history)}.union(self.memory.kept)
        if self.window is not None:
            return history.since(history.newest(self.window, answers=True), stays)
        start = history.place(self.memory.first) or 0
        view = history.since(start, stays) if start else history
        return self._slide(view, budget) if budget.over(view) else view

    def why(self, message: Message) -> str:
        """The rule by which the newest view leaves a message out."""
        return self.memory.why if self.window is None else aged(self.window)

    def _slide(self, messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
        """Move the start forward. Messages pinned now stay until the next slide, however the question changes."""
        view = History.of(messages)
        stays = [message.id for message in pinned(view)]
        size, start = budget.size(view), 0
        for block in blocks(view)[:-1]:
            if size <= self.target * budget.limit:
                break
            size -= sum(budget.count(view[index]) for index in block if view[index].id not in stays)
            start = block.stop
        if start:
            why = f"the view was {budget.size(view):,} of {budget.limit:,} tokens: slid down to {self.target:.0%} of it"
            self.memory = Slid(view[start].id, stays, why)
        return view.since(start, stays)
