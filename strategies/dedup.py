"""dedup: lines of a result that stand in the view already become a reference to where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agent import foreign
from agent.budget import Budget
from agent.figures import several
from agent.history import History
from agent.messages import HERE, Message, pending
from strategies.repeated_lines import Places, Run, cut, head
from strategies.state import Stateful

REFERENCE = re.compile(r"^\[[0-9,]+ lines? as above, from `", re.MULTILINE)


def reference(lines: Sequence[str], id_: str = "") -> str:
    """The line that stands for these; with an id, it also says how to get the whole result."""
    recall = f'; recall(id="{id_}") shows all' if id_ else ""
    return f"[{several(len(lines), 'line')} as above, from `{head(lines[0])}` to `{head(lines[-1])}`{recall}]"


def with_references(message: Message, runs: Sequence[Run]) -> Message:
    """A copy with a reference in the place of each run of lines."""
    text, parts, at = message.content, list[str](), 0
    for start, end in runs:
        parts += text[at:start], reference(text[start:end].split("\n"), "" if parts else message.id)
        at = end
    whole = "" if message.why else HERE
    return message.rewritten("".join([*parts, text[at:]]), "repeats lines that stand above", ref=message.ref or whole)


def arguments(message: Message) -> Iterator[str]:
    """The texts in the arguments of the calls."""
    for call in message.calls:
        try:
            yield from _strings(foreign.read(call.arguments))
        except ValueError:
            continue


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


@dataclass
class Whole:
    """The newest message when the view was last over the budget, by id: up to there, no result has references."""

    upto: str = ""


@dataclass
class Dedup(Stateful):
    """Put a reference in the place of lines that the view already shows above. Put it last.

    A result that comes is cut into runs of lines that the view shows already (in results, messages, or texts that the
    model gave to a tool) and lines that are new. One line stands for each run: how many lines, and how the first and
    the last begin. The run stands in the newest message above that has a line which begins so. If this saves a tenth of
    the tokens, it takes the place of the result; `recall` shows the whole. A copy depends only on what stands before
    it, so the prefix stays.

    Where the view is over the budget and `fit` (/help budget) would cut it, all results become whole again, and stay
    whole. A strategy after this one, as in `dedup+thrifty`, may hide lines that a reference needs; then `recall` shows
    them.
    """

    tools = ("recall",)

    memory: Whole = field(default_factory=Whole)
    _read: History = field(default_factory=History, init=False, repr=False, compare=False)
    _view: History = field(default_factory=History, init=False, repr=False, compare=False)
    _places: Places = field(default_factory=dict, init=False, repr=False, compare=False)
    _counted: object = field(default=None, init=False, repr=False, compare=False)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
        """The history with references in the place of repeated lines; see the class."""
        history = History.of(messages)
        waiting = pending(history)
        done = history.upto(len(history) - len(waiting))
        counted = budget.tokens, budget.limit - budget.overhead
        if counted != self._counted or done.shared(self._read) < len(self._read):
            self._begin()
        self._counted = counted
        self._go_on(done, budget)
        room = budget.limit - sum(map(budget.count, waiting))
        if room < budget.size(self._view) < budget.size(done):
            self.memory.upto = done[-1].id
            self._begin()
            self._go_on(done, budget)
        return history.begun(self._view) if waiting else self._view  # the next view goes on from what is counted of it

    def _begin(self) -> None:
        self._read, self._view, self._places = History(), History(), {}

    def _go_on(self, history: History, budget: Budget) -> None:
        """Read the messages that are new."""
        known, whole = len(self._read), history.place(self.memory.upto)
        first = len(history) if budget.over(self._view) else 0 if whole is None else whole + 1
        new = enumerate(history[known:], known)
        shown = [self._shown(message, budget, place >= first) for place, message in new]
        self._read, self._view = history, history.begun(self._view).rewritten(shown)

    def _shown(self, message: Message, budget: Budget, may_refer: bool) -> Message:
        """The message, or the copy that is shown of it; its lines have their places then."""
        text, copy = message.content or "", message
        result = message.role == "tool" and message.name != "recall" and not REFERENCE.search(text)
        runs, new = cut(text, self._places if may_refer and result else None)
        if runs:
            copy = with_references(message, runs)
            if budget.count(copy) > 0.9 * budget.count(message):
                copy, new = message, cut(text)[1]
        for places in (new, *(cut(each)[1] for each in arguments(message))):
            self._places.update(places)
        return copy
