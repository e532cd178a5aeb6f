"""offload: bulky observations stay outside from the start; a reference stands for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from agent.budget import Budget
from agent.messages import Message, turns
from strategies.making_room import enough, observations
from strategies.parameter import parameter

LEAST, MOST = 100, 400
"""Letters of the beginning that a reference shows: a tenth of the result, none where that is too short to say much."""


@dataclass
class Offload:
    """Show a bulky result as a reference that `recall` opens, from its first call on. To read one costs a turn more.

    A result of more than `share` of the budget never enters the prompt, so nothing has to be taken out of it later and
    the prefix stays. The history itself is the store: nothing is copied, and nothing is lost. What `recall` brings is
    shown whole. Over the budget all the same, the oldest observations become references too, until `target` is
    reached, and stay so. Manus keeps its context append-only in this way, deepagents its large tool results.
    """

    tools = ("recall",)

    share: float = parameter(0.25, "share of the budget above which one result is bulky", 0.01, 1)
    window: int = parameter(2, "newest turns whose observations stay, but for bulky ones")
    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    state: dict[str, Any] = field(default_factory=dict)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with references for what is offloaded; see the class. Once a reference, always a reference."""
        groups, offloaded = turns(messages), self.state.setdefault("offloaded", {})
        most = self.share * budget.limit
        why = f"larger than {self.share:.0%} of the budget when it came"
        bulky = [m for m in observations(messages, groups) if budget.count(m) > most and m.name != "recall"]
        offloaded.update((m.id, [budget.count(m), why]) for m, _ in self._savings(bulky, why, budget))
        view = self._view(messages)
        size = budget.size(view)
        if size > budget.limit:
            split = max(0, len(groups) - self.window)
            why = f"the view was {size:,} of {budget.limit:,} tokens; the {self.window} newest turns stay"
            old = observations(messages, groups[: min(split, len(groups) - 1)])
            recent = observations(messages, groups[split:-1])
            down_to_target = self.target * budget.limit, self._savings(old, why, budget)
            only_to_fit = budget.limit, self._savings(recent, why, budget)
            chosen = enough(size, budget, down_to_target, only_to_fit)
            offloaded.update((message.id, [budget.count(message), why]) for message in chosen)
            view = self._view(messages)
        return view

    def _view(self, messages: Sequence[Message]) -> list[Message]:
        offloaded = self.state["offloaded"]
        return [
            reference(message, *offloaded[message.id]) if message.id in offloaded and not message.why else message
            for message in messages
        ]

    def _savings(self, candidates: Sequence[Message], why: str, budget: Budget) -> Iterator[tuple[Message, int]]:
        """The whole observations that a reference would make smaller, each with the tokens that it saves."""
        for message in candidates:
            if message.id not in self.state["offloaded"] and not message.why:
                tokens = budget.count(message)
                saved = tokens - budget.count(reference(message, tokens, why))
                if saved > 0:
                    yield message, saved


@lru_cache(maxsize=8192)
def reference(message: Message, tokens: int, why: str) -> Message:
    """A copy that says how large the result is, how it begins, and how to have it back."""
    letters = len(message.content) // 10
    begins = f"; it begins:\n{message.content[: min(letters, MOST)]}…" if letters >= LEAST else ""
    head = f'[offloaded: {tokens:,} tokens of {message.name}; recall(id="{message.id}") shows it'
    return message.rewritten(f"{head}{begins}]", why, ref=message.id)
