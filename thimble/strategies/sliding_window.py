"""sliding-window: the newest turns, whole, without the older ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from thimble.agent.budget import Budget
from thimble.agent.messages import Message, blocks
from thimble.agent.turns import pinned
from thimble.strategies.making_room import window_reason
from thimble.strategies.newest import keep_since, newest_turns_start
from thimble.strategies.parameter import parameter
from thimble.strategies.state import Stateful


@dataclass(frozen=True)
class WindowState:
    """The id of the first message that stays, the ids of earlier ones that stay, and the reason."""

    first: str = ""
    kept: Sequence[str] = ()
    why: str = ""


@dataclass
class SlidingWindow(Stateful):
    """Forget the oldest turns whole, keep the newest word for word. Cheap and simple; what slid out is gone.

    The task and the current question always stay. Over the budget, it drops down to `target` of it at once and then
    leaves the prefix alone until it is over again, so that the server's cache holds in between. `room` replaces
    a larger budget. With `window`, it keeps exactly that many turns at every call, as in textbooks.
    """

    target: float = parameter(0.2, "share of the budget, or of the room, to come down to when over it", 0.1, 1)
    room: int | None = parameter(None, "prompt tokens to keep to, without a budget too; unset: the budget", 500)
    window: int | None = parameter(None, "turns kept at every call, an answer among them; unset: as many as fit")
    memory: WindowState = field(default_factory=WindowState)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The view from the first block that stays; see the class."""
        pins = [message.id for message in pinned(messages)]
        stays = {*pins, *self.memory.kept}
        if self.window is not None:
            return keep_since(messages, newest_turns_start(messages, self.window, answers=True), stays)
        budget = replace(budget, limit=min(self.room or budget.limit, budget.limit))
        start = next((at for at, message in enumerate(messages) if message.id == self.memory.first), 0)
        view = keep_since(messages, start, stays)
        return self._slide(view, budget, pins) if budget.over(view) else view

    def why(self, message: Message) -> str:
        """The rule by which the newest view leaves a message out."""
        return self.memory.why if self.window is None else window_reason(self.window)

    def _slide(self, view: Sequence[Message], budget: Budget, stays: Sequence[str]) -> list[Message]:
        """Move the start forward. Messages pinned now stay until the next slide, however the question changes."""
        whole = size = budget.size(view)
        start = 0
        for block in blocks(view)[:-1]:
            if size <= self.target * budget.limit:
                break
            size -= sum(budget.count(view[index]) for index in block if view[index].id not in stays)
            start = block.stop
        if start:
            why = f"the view was {whole:,} of {budget.limit:,} tokens: slid down to {self.target:.0%} of it"
            self.memory = WindowState(view[start].id, stays, why)
        return keep_since(view, start, stays)
