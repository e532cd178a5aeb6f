"""compress: old observations keep their most informative parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Literal

from thimble.agent.budget import Budget
from thimble.agent.messages import MAX_CONTENT_CHARACTERS, Message, pending_turn
from thimble.strategies.making_room import list_offers
from thimble.strategies.newest import newest_turns_start
from thimble.strategies.parameter import parameter
from thimble.strategies.sliding_window import SlidingWindow, WindowState
from thimble.strategies.state import Stateful

OLD, NEW = (1, 2, 3, 4, 5, 6), (0.25, 0.5, 0.75, 1, 2, 3, 4, 5, 6)
"""How often an observation can be compressed: to `ratio`, to `ratio` of `ratio`, …; new ones in smaller steps."""
TWICE = 2
DEEP_SHARE = 0.9
"""Share of the budget to come down to with observations that are compressed more than twice."""
SHORTEST, LEAST = 200, 0.02
"""The least characters of a copy, at shares above the second number; a shorter observation stays whole."""
LONG_CHARACTERS = 2_000
"""Characters from which an observation is compressed on arrival."""


@dataclass
class Compressed:
    """How often each observation was compressed, by id; and the sliding window applied afterwards."""

    times: dict[str, float] = field(default_factory=dict)
    window: WindowState = field(default_factory=WindowState)


@dataclass
class Compress(Stateful):
    """Keep the most informative parts of old observations. `recall` shows the whole.

    An observation is split into units: records of JSON, rows of a table, or else lines. The information of a unit is
    counted in bits of self-information (`compression/excerpt.py`). The first and the last unit stay, and a marker in
    each gap says how many are left out. Prose loses its least informative words instead (Selective Context: Li et al.,
    2023).

    Over the budget, observations older than the `window` newest turns are compressed to `ratio` of their size, oldest
    first, until the view is down to `target` of the budget; if that is not enough, to `ratio` of that. Only if
    the view would still not fit, they become smaller, and then the newest ones too; then the oldest turns go, as in
    sliding-window. A copy depends only on its message, so it is the same at every call.

    An observation of more than 400,000 characters stays whole until it is dropped.

    `when=arrival` compresses each result of 2,000 characters or more to `ratio` when it arrives, and never later, so
    the prefix never changes. Over the budget the next strategy makes room, as in `compress:when=arrival+thrifty`, or
    else `fit` (/help budget).
    """

    tools = ("recall",)

    window: int = parameter(2, "newest turns whose observations stay if they can")
    ratio: float = parameter(0.5, "share of an observation's size that stays", 0.1, 0.9)
    target: float = parameter(0.5, "share of the budget to come down to when over it", 0.1, 1)
    when: Literal["over", "arrival"] = parameter("over", "compress when over the budget, or long results as they come")
    memory: Compressed = field(default_factory=Compressed)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with old observations compressed; see the class."""
        if self.when == "arrival":
            whole = messages[: len(messages) - len(pending_turn(messages))]
            come = [message for message in whole if message.id not in self.memory.times]
            self.memory.times.update(
                (message.id, 1) for message, _ in list_offers(come, self._compress_on_arrival, budget)
            )
            return self._view(messages)
        view = self._view(messages)
        size = budget.size(view)
        if size > budget.limit:
            self.memory.times.update(self._plan_compression(messages, size, budget))
            view = self._view(messages)
        sliding = SlidingWindow(self.target, memory=self.memory.window)
        view = sliding.prepare(view, budget)
        self.memory.window = sliding.memory
        return view

    def _view(self, messages: Sequence[Message]) -> list[Message]:
        times = self.memory.times
        return [self._copy(message, times[message.id]) if message.id in times else message for message in messages]

    def _split_results(self, history: Sequence[Message], budget: Budget) -> tuple[list[Message], list[Message]]:
        """The results before the newest turns and those in them, without a turn that waits for results.

        Results so old that they slide out even if compressed are left out.
        """
        results: list[Message] = []
        waiting = pending_turn(history)
        done = history[: len(history) - len(waiting)]
        left = budget.limit - sum(map(budget.count, waiting))
        for message in reversed(done):
            result = message.role == "tool"
            left -= int(budget.count(message) * (self.ratio ** OLD[-1] if result else 1))
            if left < 0:
                break
            if result:
                results.append(message)
        new = {message.id for message in history[newest_turns_start(history, max(1, self.window)) :]}
        old = [message for message in reversed(results) if message.id not in new]
        return old, [message for message in reversed(results) if message.id in new]

    def _plan_compression(self, history: Sequence[Message], size: int, budget: Budget) -> dict[str, float]:
        """How often to compress results, by id: old ones twice down to the target, further and new ones to fit.

        If that cannot bring the view into the budget (then the oldest turns go), it waits until it saves a quarter of
        the budget: few edits, each of them large.
        """
        times, left = dict(self.memory.times), size
        old, new = self._split_results(history, budget)
        for results, steps, share in ((old, OLD[:TWICE], self.target), (old, OLD, DEEP_SHARE), (new, NEW, 1)):
            goal = max(self.target, share) * budget.limit
            for step, message in product(steps, results):
                if left <= goal:
                    break
                before = times.get(message.id, 0)
                if before < step:
                    saved = budget.count(self._copy(message, before)) - budget.count(self._copy(message, step))
                    if saved > 0:
                        left -= saved
                        times[message.id] = step
        worth = left <= budget.limit or size - left >= budget.limit / 4
        return {one: step for one, step in times.items() if step != self.memory.times.get(one)} if worth else {}

    def _compress_on_arrival(self, message: Message) -> Message:
        """A copy of a long result; other results, and those of `recall`, stay."""
        return (
            self._copy(message, 1) if len(message.content) >= LONG_CHARACTERS and message.name != "recall" else message
        )

    def _copy(self, message: Message, times: float) -> Message:
        return compress_message(message, self.ratio**times) if times else message


@lru_cache(maxsize=8192)
def compress_message(message: Message, ratio: float) -> Message:
    """A copy with about `ratio` of the message's size. It depends on nothing else, so the prefix stays the same."""
    from thimble.strategies.compression.excerpt import make_excerpt  # not at the start: it imports statistics

    if len(message.content) > MAX_CONTENT_CHARACTERS:
        return message
    most = max(SHORTEST * (ratio > LEAST), round(ratio * len(message.content)))
    text = make_excerpt(message.content, most, f'; recall(id="{message.id}") shows all')
    if "\n" not in text.rstrip("\n"):
        return message.rewritten(text, "compressed until only the line that opens it is left", ref=message.id)
    return message.rewritten(text, f"compressed to {len(text):,} of {len(message.content):,} characters")
