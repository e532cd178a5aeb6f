"""offload: bulky observations never enter the prompt; a reference replaces each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from thimble.agent.budget import Budget
from thimble.agent.messages import LOSSLESS, Message, pending_turn
from thimble.strategies.making_room import choose_by_age, list_offers
from thimble.strategies.parameter import parameter
from thimble.strategies.state import Stateful

LEAST, MOST = 100, 400
"""Characters of a result that its reference shows: a tenth, fewer in a small budget, none if that is too short."""


@lru_cache(maxsize=65_536)
def make_reference(message: Message, tokens: int, shown: int, why: str) -> Message:
    """A copy with the size of the result, its start (at most `shown` characters) and the call that brings it back."""
    letters = min(len(message.content) // 10, shown)
    begins = f"; it begins:\n{message.content[:letters]}…" if letters >= LEAST else ""
    head = f'[offloaded: {tokens:,} tokens of {message.name}; recall(id="{message.id}") shows it'
    return message.rewritten(f"{head}{begins}]", why, ref=message.id)


def _copy(message: Message, reference_of: Sequence[Any]) -> Message:
    return message if message.why and message.ref != LOSSLESS else make_reference(message, *reference_of)


@dataclass
class References:
    """The parts of each reference, by id: the tokens of the observation, the most characters shown, and the reason."""

    offloaded: dict[str, Sequence[Any]] = field(default_factory=dict)


@dataclass
class Offload(Stateful):
    """Show a bulky result only as a reference, which `recall` opens. Reading one costs one more turn.

    A result of more than `share` of the budget never enters the prompt, so it need not be removed later and the prefix
    stays. The history itself is the store: nothing is copied, and nothing is lost. A result of `recall` is shown whole.
    If the view is still over the budget, the oldest observations become references too, until it is down to `target`,
    and stay references. Manus keeps its context append-only in this way, deepagents its large tool results.
    """

    tools = ("recall",)

    share: float = parameter(0.25, "share of the budget above which one result is bulky", 0.01, 1)
    window: int = parameter(2, "newest turns whose observations stay, but for bulky ones")
    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    memory: References = field(default_factory=References)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with references in place of bulky results; see the class. A reference stays a reference."""
        view, shown = self._view(messages), min(MOST, budget.limit // 8)

        def copy(message: Message) -> Message:
            if message.id in self.memory.offloaded:
                return message
            return _copy(message, [budget.count(message), shown, ""])

        def offload(whys: Mapping[str, str]) -> list[Message]:
            if not whys:
                return view
            sizes = {one.id: budget.count(one) for one in view if one.id in whys}
            self.memory.offloaded.update({id_: [sizes[id_], shown, why] for id_, why in whys.items()})
            return self._view(messages)

        came, most = f"larger than {self.share:.0%} of the budget when it came", self.share * budget.limit
        whole = view[: len(view) - len(pending_turn(view))]
        known = self.memory.offloaded
        results = (one for one in whole if one.role == "tool" and one.name != "recall" and one.id not in known)
        if new := list_offers([message for message in results if budget.count(message) > most], copy, budget):
            view = offload({message.id: came for message, _ in new})
        return offload(choose_by_age(view, copy, budget, self.target, self.window, "offloaded"))

    def _view(self, messages: Sequence[Message]) -> list[Message]:
        offloaded = self.memory.offloaded
        return [_copy(message, offloaded[message.id]) if message.id in offloaded else message for message in messages]
