"""offload: bulky observations stay outside from the start; a reference stands for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from agent.budget import Budget
from agent.messages import Message, turns
from agent.protocols import Strategy
from strategies.making_room import aged, enough, observations, rules
from strategies.parameter import parameter

LEAST, MOST = 100, 400
"""Letters of the beginning that a reference shows: a tenth of the result, fewer in a small budget, none where that is
too short to say much."""


@dataclass
class Offload(Strategy):
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
        tokens = {m.id: budget.count(m) for m in observations(messages, groups) if not m.why and m.id not in offloaded}
        most, came = self.share * budget.limit, f"larger than {self.share:.0%} of the budget when it came"
        bulky = [m for m in messages if tokens.get(m.id, 0) > most and m.name != "recall"]
        shown, whys = min(MOST, budget.limit // 8), dict.fromkeys((message.id for message in bulky), came)
        offloaded.update(
            (message.id, [tokens.pop(message.id), shown, came])
            for message, _ in _savings(bulky, tokens, shown, whys, budget)
        )
        view = self._view(messages)
        size = budget.size(view)
        if size > budget.limit:
            split = max(0, len(groups) - self.window)
            old = observations(messages, groups[: min(split, len(groups) - 1)])
            recent = observations(messages, groups[split:-1])
            done = f"{aged(self.window)}, offloaded down to {self.target:.0%} of the budget"
            whys = rules(size, budget, old, recent, done)
            down_to_target = self.target * budget.limit, _savings(old, tokens, shown, whys, budget)
            only_to_fit = budget.limit, _savings(recent, tokens, shown, whys, budget)
            chosen = enough(size, budget, down_to_target, only_to_fit)
            offloaded.update((message.id, [tokens[message.id], shown, whys[message.id]]) for message in chosen)
            view = self._view(messages)
        return view

    def _view(self, messages: Sequence[Message]) -> list[Message]:
        offloaded = self.state["offloaded"]
        return [
            reference(message, *offloaded[message.id]) if message.id in offloaded and not message.why else message
            for message in messages
        ]


def _savings(
    candidates: Sequence[Message], tokens: Mapping[str, int], shown: int, whys: Mapping[str, str], budget: Budget
) -> Iterator[tuple[Message, int]]:
    """Those among `tokens`, which says how large they are, that a reference makes smaller, with what that saves."""
    for message in candidates:
        size = tokens.get(message.id, 0)
        saved = size - budget.count(reference(message, size, shown, whys[message.id])) if size else 0
        if saved > 0:
            yield message, saved


@lru_cache(maxsize=8192)
def reference(message: Message, tokens: int, shown: int, why: str) -> Message:
    """A copy that says how large the result is, how it begins in at most `shown` letters, and how to have it back."""
    letters = min(len(message.content) // 10, shown)
    begins = f"; it begins:\n{message.content[:letters]}…" if letters >= LEAST else ""
    head = f'[offloaded: {tokens:,} tokens of {message.name}; recall(id="{message.id}") shows it'
    return message.rewritten(f"{head}{begins}]", why, ref=message.id)
