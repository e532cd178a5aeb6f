"""dedup: lines of a result that the view already shows become a reference to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from weakref import ref

from thimble.agent import foreign
from thimble.agent.budget import Budget
from thimble.agent.messages import LOSSLESS, Message, pending_turn
from thimble.corpus.marks import ABOVE, OUR_MARK
from thimble.strategies.compression.references import split_lead
from thimble.strategies.compression.repeated_lines import Places, Run, find_runs, line_places, run_start_lines
from thimble.strategies.state import Stateful

NOWHERE = "", 0, ""
"""The place of a line in a text that contains something like a reference."""


def make_reference(lines: str, moved: bool, id_: str = "") -> str:
    """The line that replaces these; with an id, it also says how to get the whole result."""
    first, count = lines.partition("\n")[0], lines.count("\n") + 1
    many = f"{count:,} line{'s' * (count != 1)}"
    lead, head = split_lead(first)
    recall = f'; recall(id="{id_}") shows all' if id_ else ""
    return f"[{many}{ABOVE}{'now ' * moved}from `{lead}{head}`{recall}]"


def with_references(message: Message, runs: Iterable[Run]) -> Message:
    """A copy with a reference in place of each run of lines."""
    text, parts, at = message.content, list[str](), 0
    for run in runs:
        parts += text[at : run.start], make_reference(text[run.start : run.end], run.moved, "" if parts else message.id)
        at = run.end
    whole = "" if message.why else LOSSLESS
    return message.rewritten("".join([*parts, text[at:]]), "repeats earlier lines", ref=message.ref or whole)


@dataclass
class DedupMemory:
    """The id of the newest message when the view was last over the budget: up to it, no result has references."""

    upto: str = ""


@dataclass
class Dedup(Stateful):
    """Replace lines that the view already shows above by a reference. In a pipeline it always runs last.

    A new result is split into new lines and runs of lines that the view already shows (in results, messages, or texts
    that the model gave to a tool). One line replaces each run, with the number of lines and the start of the first. The
    run is in the newest message above that has a line with the same start; lines that this message replaces by a
    reference count as its own. If this saves tokens, the copy replaces the result; `recall` shows the whole. A copy
    depends only on the messages before it, so the prefix stays.

    The start of a line may differ from above: a line number, which increases by one with each line, the mark of a diff,
    blanks. The reference then says `now from`, and shows the start of the first line.

    If the view is over the budget and `fit` (/help budget) would cut it, all results become whole again, and stay
    whole. A strategy that ran later could hide lines that a reference needs, so none does: `dedup+thrifty` is the same
    as `thrifty+dedup`.
    """

    tools = ("recall",)
    refers = True

    memory: DedupMemory = field(default_factory=DedupMemory)
    _read: list[Message] = field(default_factory=list, init=False, repr=False, compare=False)
    _view: list[Message] = field(default_factory=list, init=False, repr=False, compare=False)
    _places: Places = field(default_factory=dict, init=False, repr=False, compare=False)
    _counted: object = field(default=None, init=False, repr=False, compare=False)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with references in place of repeated lines; see the class."""
        waiting = pending_turn(messages)
        done = messages[: len(messages) - len(waiting)]
        # Whether a copy saves tokens depends on how they are counted: start over when that changes.
        counted = ref(budget.counter), getattr(budget.counter, "learnt", None), budget.limit - budget.overhead
        if counted != self._counted or [*done[: len(self._read)]] != self._read:
            self._begin()
        self._counted = counted
        self._read_new_messages(done, budget)
        room = budget.limit - sum(map(budget.count, waiting))
        if room < budget.size(self._view) < budget.size(done):
            self.memory.upto = done[-1].id
            self._begin()
            self._read_new_messages(done, budget)
        return [*self._view, *waiting]

    def _begin(self) -> None:
        self._read, self._view, self._places = [], [], {}

    def _read_new_messages(self, history: Sequence[Message], budget: Budget) -> None:
        """Read the new messages."""
        known = len(self._read)
        whole = next((at for at, message in enumerate(history) if message.id == self.memory.upto), None)
        first = len(history) if budget.over(self._view) else 0 if whole is None else whole + 1
        new = enumerate(history[known:], known)
        shown = [self._shown(message, budget, place >= first) for place, message in new]
        self._read, self._view = [*history], [*self._view, *shown]

    def _shown(self, message: Message, budget: Budget, may_refer: bool) -> Message:
        """The message, or a copy with references; records the places of its lines."""
        text, copy = message.content or "", message
        found, refers = run_start_lines(text), not message.why and OUR_MARK.search(text)
        own = line_places(text, found)
        if may_refer and message.role == "tool" and message.name != "recall" and not (refers or message.attached):
            repeated = [*find_runs(text, found, own, self._places)]
            smaller = with_references(message, repeated) if repeated else message
            copy = smaller if budget.count(smaller) < budget.count(message) else message
        self._places |= dict.fromkeys(own, NOWHERE) if refers else own
        for each in (text for call in message.calls for text in foreign.iter_strings(call.arguments)):
            self._places |= line_places(each, run_start_lines(each))
        return copy
