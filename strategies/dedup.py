"""dedup: a result that repeats an earlier one of the view says only what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from functools import lru_cache

from agent.budget import Budget
from agent.history import History
from agent.messages import Message, pending
from strategies.state import Stateful

LEAST = 200
"""Characters of a result that is worth a look."""
LINES = 2_000
"""Lines of a text that is compared with another one; a longer one only repeats what it equals."""
LINE = 8
"""Characters of a line that two results share by more than chance."""
CONTEXT = 1
"""Unchanged lines around a change."""


@lru_cache(maxsize=2048)
def difference(earlier: str, text: str) -> str | None:
    """What changed, as a unified diff without its two first lines; None where one is too long to compare.

    A line ends at a newline and nowhere else: the earlier text and the diff make the text again, byte for byte.
    """
    old, new = earlier.split("\n"), text.split("\n")
    if old != new and max(len(old), len(new)) > LINES:
        return None
    return "\n".join(list(unified_diff(old, new, n=CONTEXT, lineterm=""))[2:])


@lru_cache(maxsize=2048)
def reference(message: Message, earlier: Message) -> Message:
    """A copy that names the earlier result and says what changed; the message itself if one is too long."""
    changed = difference(earlier.content, message.content)
    if changed is None:
        return message
    begins = " ".join(earlier.content[:200].split())[:40]
    but = ", but for this diff" if changed else ""
    head = f'[the same as the earlier result that begins "{begins}"{but}; recall(id="{message.id}") shows it whole]'
    return message.rewritten("\n".join(filter(None, (head, changed))), f"repeats {earlier.id}", ref=message.id)


def smaller(message: Message, earlier: Message | None, budget: Budget) -> Message | None:
    """The reference to the earlier result; None where it does not save a tenth, or where there is no such result."""
    if earlier is None or not earlier.content:
        return None
    copy = reference(message, earlier)
    return copy if budget.count(copy) <= 0.9 * budget.count(message) else None


@dataclass
class Repeats:
    """The earlier result that each result repeats, by id; "" for a result that is shown whole, from then on."""

    repeats: dict[str, str] = field(default_factory=dict)


@dataclass
class Dedup(Stateful):
    """Show a result that repeats an earlier one as a reference to it and what changed. Put it last.

    A result that comes is compared with the one of the same tool that shares most lines with it and is shown whole. If
    a unified diff to that one saves a tenth of the tokens, it stands in its place; `recall` shows the whole. This is
    decided once, so the prefix stays.

    In its view each reference names a result of the same view that is there as it was given. Where that has gone, or
    the view is over the budget (then `fit` will cut), the references become whole results again, and stay whole. A
    strategy after it may break this rule: write `observation-masking+dedup`, not the other way round.
    """

    tools = ("recall",)

    memory: Repeats = field(default_factory=Repeats)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
        """The history with references in the place of repeats; see the class."""
        history = History.of(messages)
        self._decide(history, budget)
        copies: dict[str, Message] = {}
        for id_, earlier in self.memory.repeats.items():
            message = history.named(id_) if earlier else None
            copy = message and smaller(message, history.named(earlier), budget)
            if copy:
                copies[id_] = copy
            elif message:
                self.memory.repeats[id_] = ""
        view = history.rewritten(copies.values())
        if copies and budget.over(view):
            self.memory.repeats.update(dict.fromkeys(copies, ""))
            return history
        return view

    def _decide(self, history: History, budget: Budget) -> None:
        """Find the earlier result for each one that is new."""
        waiting = {message.id for message in pending(history)}
        repeats = self.memory.repeats
        results = [one for one in history if one.role == "tool" and one.id not in waiting and one.content]
        if all(one.id in repeats for one in results):
            return
        newest: dict[tuple[str, str], str] = {}
        for one in results:
            lines = {(one.name, line) for line in one.content.split("\n") if len(line) >= LINE}
            if one.id not in repeats:
                votes = Counter(newest[line] for line in lines if line in newest)
                best = min(votes, key=lambda id_: (-votes[id_], -(history.place(id_) or 0)), default="")
                likely = best and len(one.content) >= LEAST and one.name != "recall"
                repeats[one.id] = best if likely and smaller(one, history.named(best), budget) else ""
            if not repeats[one.id]:
                newest.update(dict.fromkeys(lines, one.id))
