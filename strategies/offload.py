"""offload: bulky observations never enter the prompt; a reference stands for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from agent.budget import Budget
from agent.history import History
from agent.messages import HERE, Message, pending
from strategies.making_room import by_age
from strategies.parameter import parameter
from strategies.rewriting import Rewriting
from strategies.state import Stateful

LEAST, MOST = 100, 400
"""Characters of a result that its reference shows: a tenth, fewer in a small budget, none if that is too short."""


@lru_cache(maxsize=8192)
def reference(message: Message, tokens: int, shown: int, why: str) -> Message:
    """A copy that says how large the result is, how it begins (at most `shown` characters), and how to get it back."""
    letters = min(len(message.content) // 10, shown)
    begins = f"; it begins:\n{message.content[:letters]}…" if letters >= LEAST else ""
    head = f'[offloaded: {tokens:,} tokens of {message.name}; recall(id="{message.id}") shows it'
    return message.rewritten(f"{head}{begins}]", why, ref=message.id)


def _copy(message: Message, reference_of: Sequence[Any]) -> Message:
    return message if message.why and message.ref != HERE else reference(message, *reference_of)


@dataclass
class References:
    """The parts of each reference, by id: the tokens of the observation, the most characters shown, and the reason."""

    offloaded: dict[str, Sequence[Any]] = field(default_factory=dict)


@dataclass
class Offload(Stateful):
    """Show a bulky result only as a reference, which `recall` opens. To read one costs one more turn.

    A result of more than `share` of the budget never enters the prompt, so it need not be removed later and the prefix
    stays. The history itself is the store: nothing is copied, and nothing is lost. A result of `recall` is shown whole.
    If the view is still over the budget, the oldest observations become references too, until it is down to `target`,
    and stay so. Manus keeps its context append-only in this way, deepagents its large tool results.
    """

    tools = ("recall",)

    share: float = parameter(0.25, "share of the budget above which one result is bulky", 0.01, 1)
    window: int = parameter(2, "newest turns whose observations stay, but for bulky ones")
    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    memory: References = field(default_factory=References)
    _view: Rewriting = field(default_factory=lambda: Rewriting(_copy), init=False, repr=False, compare=False)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
        """The history with references in place of bulky results; see the class. A reference stays a reference."""
        history, shown = History.of(messages), min(MOST, budget.limit // 8)

        def trial(message: Message) -> Message:
            return _copy(message, [budget.count(message), shown, ""])

        self._view.goes_on(history, budget, self.memory.offloaded, trial, given=shown)
        came, most = f"larger than {self.share:.0%} of the budget when it came", self.share * budget.limit
        offers = self._view.offers(0, len(history) - len(pending(history)))
        bulky = (one for _, one, _ in offers if one.name != "recall" and budget.count(one) > most)
        self._view.choose({one.id: [budget.count(one), shown, came] for one in bulky})
        size = budget.size(self._view.view)
        if size > budget.limit:
            old = self._view.offers(0, history.newest(max(1, self.window)))
            recent = self._view.offers(history.newest(self.window), history.newest(1))
            whys = by_age(size, budget, self.target, self.window, "offloaded", old, recent)
            chosen = ((one, whys[one.id]) for _, one, _ in (*old, *recent) if one.id in whys)
            self._view.choose({one.id: [budget.count(one), shown, why] for one, why in chosen})
        return self._view.view
