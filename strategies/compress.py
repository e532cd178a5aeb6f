"""compress: old observations lose the words that say least, and keep their numbers, names and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from agent.budget import Budget
from agent.messages import Message, turns
from agent.protocols import Strategy
from strategies import llmlingua, self_information
from strategies.parameter import parameter
from strategies.sliding_window import SlidingWindow

MARK = "[compressed: words that say little are left out]"
TIMES = (1, 2)
"""How often an observation is compressed at most: at the second time, to `ratio` of `ratio`."""


@dataclass
class Compress(Strategy):
    """Take the words that say least out of old observations. Numbers, names and errors stay; prose turns telegram.

    Token-level compression. Over the budget, observations older than the `window` newest turns keep the `ratio` of
    their words with the most self-information (Selective Context: Li et al., 2023), oldest first, until `target` of the
    budget is reached; where that is not enough they are compressed once more, and then the oldest turns go, as
    sliding-window does it. A copy is made from its message alone, so that it is the same at every call. An edit leaves
    about half of the prompt to be computed anew, more than masks do.

    With `by=llmlingua` the LLMLingua package chooses the words (Jiang et al., 2023; Pan et al., 2024).
    """

    window: int = parameter(2, "newest turns whose observations stay")
    ratio: float = parameter(0.5, "share of an observation's words that stays", 0.1, 0.9)
    target: float = parameter(0.5, "share of the budget to come down to when over it", 0.1, 1)
    by: Literal["information", "llmlingua"] = parameter(
        "information", "who chooses: self-information under a model of our own, or LLMLingua (an extra)"
    )
    state: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.by == "llmlingua":
            llmlingua.load()

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with its compressed observations; see the class."""
        times = self.state.setdefault("times", {})
        view = self._view(messages, times)
        size = budget.size(view)
        if size > budget.limit:
            times.update(self._choose(messages, self._reachable(view, budget), size, budget))
            view = self._view(messages, times)
        sliding = SlidingWindow(self.target, state=self.state.get("window", {}))
        view = sliding.prepare(view, budget)
        self.state["window"] = sliding.state
        return view

    def _reachable(self, view: Sequence[Message], budget: Budget) -> list[str]:
        """The old results, oldest first, but for those so far back that they slide out even when compressed."""
        groups = turns(view)
        split = max(0, len(groups) - max(1, self.window))
        old = {view[index].id for turn in groups[:split] for index in turn[1:]}
        left, found = float(budget.limit), []
        for message in reversed(view):
            left -= budget.count(message) * (self.ratio ** TIMES[-1] if message.id in old else 1)
            if left < 0:
                break
            if message.id in old:
                found.append(message.id)
        return found[::-1]

    def _choose(self, messages: Sequence[Message], old: Sequence[str], size: int, budget: Budget) -> dict[str, int]:
        """How often to compress what now: once, oldest first, and where that is not enough twice, down to the target.

        Where all of it cannot reach the target (then the oldest turns go), it waits until it saves a quarter of the
        budget: rare edits, and then enough.
        """
        results = {message.id: message for message in messages}
        times = {one: self.state["times"].get(one, 0) for one in old}
        left = size
        for step in TIMES:
            for message in (results[one] for one in old if times[one] < step):
                if left <= self.target * budget.limit:
                    break
                now, then = self._copy(message, times[message.id]), self._copy(message, step)
                if budget.count(then) < budget.count(now):
                    left -= budget.count(now) - budget.count(then)
                    times[message.id] = step
        worth = left <= self.target * budget.limit or size - left >= budget.limit / 4
        return {one: step for one, step in times.items() if step} if worth else {}

    def _view(self, messages: Sequence[Message], times: Mapping[str, int]) -> list[Message]:
        return [self._copy(message, times.get(message.id, 0)) for message in messages]

    def _copy(self, message: Message, times: int) -> Message:
        return compressed(message, self.ratio**times, self.by) if times else message


@lru_cache(maxsize=8192)
def compressed(message: Message, ratio: float, by: str) -> Message:
    """A copy with about `ratio` of the message's words; it depends on nothing else, so that the prefix holds."""
    chooser = llmlingua if by == "llmlingua" else self_information
    text = chooser.compressed(message.content, ratio)
    return message.rewritten(f"{text}\n{MARK}", f"compressed to {ratio:.0%} of its words, chosen by {by}")
