"""observation-masking: one line replaces each old observation; the agent's own words all stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from thimble.agent.budget import Budget
from thimble.agent.messages import Message, pending_turn
from thimble.strategies.making_room import choose_by_age, window_reason
from thimble.strategies.masks import Masks, mask_message, with_masks
from thimble.strategies.newest import find_turns
from thimble.strategies.paper import M
from thimble.strategies.parameter import parameter
from thimble.strategies.state import Stateful


@dataclass
class ObservationMasking(Stateful):
    """Replace each old observation by one line; keep all reasoning and calls. Most of a turn is observation.

    After every edit the server recomputes the prompt from there on, so nothing changes while everything fits. Over the
    budget, the oldest observations are masked until the view is down to `target` of it; then the prefix stays until the
    view is over the budget again.

    `when=always` is the paper's rule at every call, whatever the budget: in turn t, observation i is masked if i < t -
    window, however short it is (The Complexity Trap, Eq. 3 and 4). With `every`, the number of masked turns is rounded
    down to a multiple of it, so the prefix changes only once in `every` calls (SWE-agent calls this polling). As in the
    paper, a turn is reasoning, action and observation: an answer without a tool call takes no place in the window.
    """

    window: int = parameter(2, "newest turns whose observations stay", paper=M)
    when: Literal["over", "always"] = parameter(
        "over", "mask when over the budget, or at every call as the paper does", paper="always"
    )
    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    every: int = parameter(
        1, "with when=always: turns masked at a time, and calls from one edit to the next", 1, paper=1
    )
    memory: Masks = field(default_factory=Masks)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with old observations masked; see the class."""
        if self.when == "always":
            return self._by_age(messages)
        masked = self.memory.masked
        view = with_masks(messages, masked)

        def copy(message: Message) -> Message:
            return message if message.id in masked else mask_message(message)

        new = choose_by_age(view, copy, budget, self.target, self.window, "masked")
        masked.update(new)
        return with_masks(view, new) if new else view

    def _by_age(self, messages: Sequence[Message]) -> list[Message]:
        """The history with all old observations masked. Nothing is remembered: their age decides."""
        starts = find_turns(messages)
        old = max(0, len(starts) - self.window)
        old -= old % self.every
        end = starts[old] if old < len(starts) else len(messages) - len(pending_turn(messages))
        masked = {message.id: window_reason(self.window) for message in messages[:end] if message.role == "tool"}
        return with_masks(messages, masked)
