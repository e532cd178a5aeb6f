"""compress: old observations keep what tells most, by their kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from agent.budget import Budget
from agent.history import History
from agent.messages import Message, pending
from strategies import llmlingua
from strategies.kinds.excerpt import excerpt
from strategies.kinds.registry import recognised
from strategies.parameter import parameter
from strategies.rewriting import Rewriting
from strategies.sliding_window import Slid, SlidingWindow
from strategies.state import Stateful

MARK = "[compressed from {letters:,} characters: words that say little are left out]"
TIMES = (1, 2, 3, 4, 5, 6)
"""How often an observation can be compressed: to `ratio`, to `ratio` of `ratio`, and so on."""


@dataclass
class Compressed:
    """How often each observation was compressed, by id; and the sliding window applied afterwards."""

    times: dict[str, int] = field(default_factory=dict)
    window: Slid = field(default_factory=Slid)


@dataclass
class Compress(Stateful):
    """Keep the units of old observations that tell most, by their kind; `recall` shows the whole.

    A unit is a record of a log, a row of a table, a failed test, a signature, a sentence. What it tells is counted in
    bits of self-information (`kinds/excerpt.py`). The first and the last unit stay, and a marker in each gap says how
    many are left out. Prose first loses its least informative words (Selective Context: Li et al., 2023).

    Over the budget, observations older than the `window` newest turns are compressed to `ratio` of their size, oldest
    first, until the view is down to `target` of the budget; if that is not enough, to `ratio` of that, and so on. A
    view that is over the budget even then has the newest ones compressed too; then the oldest turns go, as in
    sliding-window. A copy depends only on its message, so it is the same at every call.

    With `by=llmlingua` the LLMLingua package chooses words (Jiang et al., 2023; Pan et al., 2024).
    """

    tools = ("recall",)

    window: int = parameter(2, "newest turns whose observations stay if they can")
    ratio: float = parameter(0.5, "share of an observation's size that stays", 0.1, 0.9)
    target: float = parameter(0.5, "share of the budget to come down to when over it", 0.1, 1)
    by: Literal["information", "llmlingua"] = parameter(
        "information", "who chooses: the kind and self-information, or LLMLingua (an extra)"
    )
    memory: Compressed = field(default_factory=Compressed)
    _view: Rewriting = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._view = Rewriting(self._copy)
        if self.by == "llmlingua":
            llmlingua.load()

    def prepare(self, messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
        """The history with old observations compressed; see the class."""
        history = History.of(messages)
        self._view.goes_on(history, budget, self.memory.times)
        self._make_room(history, budget, self._old(self._view.view, budget), self.target * budget.limit)
        self._make_room(history, budget, self._recent(self._view.view), budget.limit)
        sliding = SlidingWindow(self.target, memory=self.memory.window)
        view = sliding.prepare(self._view.view, budget)
        self.memory.window = sliding.memory
        return view

    def _old(self, view: History, budget: Budget) -> list[str]:
        """The results before the newest turns, without the ones so old that they slide out even when compressed."""
        split = view.newest(max(1, self.window))
        left, found = float(budget.limit), []
        for place, message in zip(reversed(range(len(view))), reversed(view), strict=True):
            old = message.role == "tool" and place < split
            left -= budget.count(message) * (self.ratio ** TIMES[-1] if old else 1)
            if left < 0:
                break
            if old:
                found.append(message.id)
        return found[::-1]

    def _recent(self, view: History) -> list[str]:
        """The results of the newest turns, without a turn that waits for others."""
        done = view[view.newest(max(1, self.window)) : len(view) - len(pending(view))]
        return [message.id for message in done if message.role == "tool"]

    def _make_room(self, history: History, budget: Budget, ids: Sequence[str], goal: float) -> None:
        """Over the budget, compress these results, oldest first, until the view is down to the goal; then once more.

        If they cannot bring it into the budget (then the oldest turns go), it waits until they save a quarter of the
        budget: few edits, each of them large.
        """
        size = left = budget.size(self._view.view)
        if size <= budget.limit:
            return
        results = {one: message for one in ids if (message := history.named(one))}
        before = {one: self.memory.times.get(one, 0) for one in results}
        times = dict(before)
        for step in TIMES:
            for message in (results[one] for one in results if times[one] < step):
                if left <= goal:
                    break
                now, then = self._copy(message, times[message.id]), self._copy(message, step)
                if budget.count(then) < budget.count(now):
                    left -= budget.count(now) - budget.count(then)
                    times[message.id] = step
        if left <= budget.limit or size - left >= budget.limit / 4:
            self._view.choose({one: step for one, step in times.items() if step > before[one]})

    def _copy(self, message: Message, times: int) -> Message:
        return compressed(message, self.ratio**times, self.by) if times else message


@lru_cache(maxsize=8192)
def compressed(message: Message, ratio: float, by: str) -> Message:
    """A copy with about `ratio` of the message's size. It depends on nothing else, so the prefix stays the same."""
    if by == "llmlingua":
        mark = MARK.format(letters=len(message.content))
        text = f"{llmlingua.compressed(message.content, ratio)}\n{mark}"
        return message.rewritten(text, f"compressed to {ratio:.0%} of its words, chosen by llmlingua")
    text = excerpt(message.content, round(ratio * len(message.content)), f'; recall(id="{message.id}") shows all')
    return message.rewritten(
        text, f"compressed to {ratio:.0%} of its characters, as {recognised(message.content)[0].name}"
    )
