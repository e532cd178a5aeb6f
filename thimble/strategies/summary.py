"""Summaries, shared by the summarising strategies. A summary replaces the messages that it covers.

The instruction comes *after* the messages to fold, which start as in the agent's own prompt, so the prefix cache holds
them. The last summary is one of them (The Complexity Trap, Eq. 5: s_last is sent with the turns since). The model reads
them in one call, whatever the agent's budget; only if its own context cannot hold them, it reads them in pieces, since
a summary covers only messages that a summariser has read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import count

from thimble.agent.budget import Budget
from thimble.agent.errors import BudgetError, ModelError
from thimble.agent.fit import fit
from thimble.agent.messages import Message, blocks, pending_turn, turns
from thimble.agent.prompts import CANNOT_ANSWER, SUMMARY_TAG
from thimble.agent.side import SideModel
from thimble.agent.turns import pinned

PATIENCE = 5
"""Turns to wait for the next summary after a call that failed or whose summary was refused."""

INSTRUCTION = """\
Stop here. Write down what you need of everything above in order to go on: your words replace it, and what they leave \
out is gone. Take over what an earlier summary says, unless it was corrected since. Copy values, names, paths, ids and \
[sources] exactly, and errors word for word; guess nothing, add nothing.
Write plain text of at most {words} words in these sections, a line a point, nothing else.
Sections:
{sections}"""

SECTIONS = """\
- Asked: what the user wants, with every wish and constraint, in their own terms
- Done: results so far, briefly, with exact values and the [source] of each
- Read: articles, sections and files that were read, in order, and notes that were saved
- Pending: what is still to do or to find
- State: what is open on the desk now: the step under way, with the names, paths and ids in use
- Errors: what went wrong and is not mended, word for word"""

QUOTED = "Asked, word for word:"
"""Above the user's own words in a summary."""

NAME = re.compile(r"(?<=\[)\w++(?=\])|\b(?=[^\W\d_]*+[\d_./:-](?:\w|[.,]\d))\w[\w.,/:-]*+|(?<=[\w,;)] )[A-Z]\w++")
"""A [source], a number of two digits, a path or an identifier, a capitalised word within a sentence."""

REFUSAL = re.compile(rf"\W*(?:\w+\W+){{0,4}}{CANNOT_ANSWER}")
"""The start of an answer that declines."""


def find_names(text: str) -> set[str]:
    """The numbers, names, paths and sources in a text."""
    return {found[0].rstrip(".,/:-") for found in NAME.finditer(text)}


def is_founded(summary: str, replaced: Sequence[str]) -> bool:
    """Whether a summary shares a name with the texts that it replaces, if they have names, and does not decline."""
    if REFUSAL.match(summary):
        return False
    names = find_names(summary)
    found = (re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names for text in replaced if name in text)
    return any(found) or not any(map(find_names, replaced))


def extra_section(words: str) -> str:
    """A section for the user's wish; "" without a wish."""
    return f"\n- Kept at the user's wish, before anything else: {words}" if words else ""


@dataclass
class Folded:
    """A summary: its text, the ids of the messages that it covers, and why it was made.

    `refused` is the newest message when a summary last failed.
    """

    summary: str = ""
    covers: Sequence[str] = ()
    why: str = ""
    refused: str = ""

    def copy_from(self, other: Folded) -> None:
        """Copy all values of the other one."""
        self.summary, self.covers, self.why, self.refused = other.summary, other.covers, other.why, other.refused


@dataclass(frozen=True)
class Folding:
    """The settings by which a summary is renewed: the model, the number of words, the sections.

    `own_words` is the share of the budget for the user's newest messages, which it quotes word for word. `background`:
    whether the memory model reads.
    """

    model: SideModel
    words: int
    memory: Folded
    sections: str = SECTIONS
    own_words: float = 0.125
    background: bool = False

    def view(self, messages: Sequence[Message]) -> list[Message]:
        """The messages with the summary in place of those that it covers; the same messages if there is no summary."""
        return _with_summary(messages, self.memory)

    def turns_since(self, messages: Sequence[Message]) -> list[range]:
        """The turns that the summary does not cover."""
        covers, listed = set(self.memory.covers), [*messages]
        return [turn for turn in turns(listed) if listed[turn.start].id not in covers]

    def fold_by_turns(self, messages: Sequence[Message], gathered: int, tail: int, budget: Budget) -> None:
        """Fold all except the `tail` newest turns, once `gathered` turns have come since the last summary.

        A turn is reasoning, action and observation (The Complexity Trap, Eq. 5), not an answer without a tool call.
        """
        acts = [turn for turn in self.turns_since(messages) if messages[turn.start].calls]
        if len(acts) < gathered:
            return
        why = f"{len(acts)} turns had gathered, and all but the {tail} newest are folded"
        self.fold(messages, before_newest(tail, acts, messages), budget, why)

    def fold(self, messages: Sequence[Message], upto: int, budget: Budget, why: str) -> bool:
        """Fold the messages before index `upto` into the summary, except those that must stay; whether it changed.

        `why` is the rule that asks for the summary, with its numbers.

        If the call fails, or the summary is empty, unfounded or not smaller than its messages, nothing changes, and the
        next summary waits for `PATIENCE` turns. An interruption leaves the state unchanged.
        """
        if self.is_waiting(messages):
            return False
        newest, pieces = self.memory, 0
        while piece := replace(self, memory=newest).next_piece(messages, upto, budget, why):
            made = piece.folded(piece.ask(self.model))
            if made is None:
                newest = replace(newest, refused=messages[-1].id)
                break
            newest, pieces = made, pieces + 1
            if pieces > 1:
                limit = piece.budget.limit
                newest.why = f"{why}, in {pieces} calls: the summariser's context holds {limit:,} tokens of prompt"
        folded = newest.covers != self.memory.covers
        self.memory.copy_from(newest)
        return folded

    def next_piece(self, messages: Sequence[Message], upto: int, budget: Budget, why: str) -> Piece | None:
        """The next piece to fold of the messages before index `upto`; None if nothing is left to fold."""
        # At three tokens a word, a summary takes at most a quarter of the budget.
        stays, words = {message.id for message in pinned(messages)}, min(self.words, budget.limit // 12)
        context = self.model.context(budget, self.background)
        left = replace(context, limit=context.limit - 3 * words)
        # The instruction alone: a small model would answer a question right before it.
        instruction = Message("summarise", "user", INSTRUCTION.format(words=words, sections=self.sections))
        read = _readable_start(_with_summary(messages[:upto], self.memory), stays, instruction, left)
        if not read:
            return None
        old = [message for message in read if message.id not in stays]
        gone = {message.id for message in old}.union(self.memory.covers)
        covers = [message.id for message in messages if message.id in gone]
        quoted = self._quoted(messages, gone, budget)
        return Piece(instruction, 3 * words, left, read, old, covers, quoted, why, self.memory.refused)

    def is_waiting(self, messages: Sequence[Message]) -> bool:
        """Whether a call failed less than `PATIENCE` turns ago."""
        refused = self.memory.refused
        at = next((index for index, message in enumerate(messages) if message.id == refused), len(messages))
        return at < len(messages) and sum(turn.start > at for turn in turns(messages)) < PATIENCE

    def _quoted(self, messages: Sequence[Message], covers: Collection[str], budget: Budget) -> str:
        """The newest of the user's messages that the summary covers, as many as have room, oldest first.

        In the view they would follow the summary one after the other, as unanswered questions.
        """
        room, lines = self.own_words * budget.limit, list[str]()
        for message in reversed(messages):
            if message.role == "user" and not message.why and message.id in covers:
                room -= budget.count(message)
                if room < 0:
                    break
                lines.append(f"- {message.content}")
        return "\n".join(["", QUOTED, *reversed(lines)]) if lines else ""


@dataclass(frozen=True)
class Piece:
    """The input of one call: the messages that it reads, the old ones of them, which go, and all ids that it covers.

    `reply`: its most tokens. `budget`: that of the prompt, the summariser's context without the reply. The summary
    ends with the user's `quoted` words.
    """

    instruction: Message
    reply: int
    budget: Budget
    read: Sequence[Message]
    old: Sequence[Message]
    covers: Sequence[str]
    quoted: str
    why: str
    refused: str

    @property
    def tokens(self) -> int:
        """The tokens of the messages that go."""
        return sum(map(self.budget.count, self.old))

    @property
    def prompt(self) -> Sequence[Message]:
        """The prompt; observations too large for one call are shortened. Raises BudgetError."""
        whole = [*self.read, self.instruction]
        return fit(whole, self.budget, whole)

    def ask(self, model: SideModel) -> str:
        """The model's reply; "" if the call fails."""
        try:
            return model.ask(self.prompt, "summary", self.reply, behind=True)
        except (ModelError, BudgetError):
            return ""

    def folded(self, text: str) -> Folded | None:
        """The summary with this text; None if it is empty, unfounded, or not smaller than the old messages."""
        made = Folded(text.strip() + self.quoted, self.covers, self.why, self.refused)
        founded = text.strip() and is_founded(text, [message.content or "" for message in self.old])
        return made if founded and self.budget.count(summary_message(made)) < self.tokens else None


def _readable_start(
    view: Sequence[Message], stays: Collection[str], instruction: Message, budget: Budget
) -> Sequence[Message]:
    """The start of the view that one call can read, with at least one block that may go; [] if none is left.

    It does not end with a question, which the model would answer.
    """
    goes = [message.id not in stays and not message.covers for message in view]
    room, stop = budget.limit - budget.size([*view[:1], instruction]), 0
    for block in blocks(view):
        room -= sum(budget.count(view[index]) for index in block)
        if room < 0 and any(goes[:stop]):
            break
        if view[block[-1]].role != "user" or view[block[-1]].why:
            stop = block.stop
    return view[:stop] if any(goes[:stop]) else []


def before_newest(tail: int, turns: Sequence[range], messages: Sequence[Message]) -> int:
    """The index at which the newest `tail` of these turns start; for 0 the end, before calls that wait for results."""
    kept = turns[max(0, len(turns) - tail) :]
    return kept[0].start if kept else len(messages) - len(pending_turn(messages))


def newest_that_fit(messages: Sequence[Message], least: int, room: float, budget: Budget) -> int:
    """The index from which the newest turns, with the messages between them, take at most `room` tokens.

    At least `least` turns, if the history has them.
    """
    start, kept = len(messages), 0
    for block in reversed(blocks(messages)):
        room -= sum(budget.count(messages[index]) for index in block)
        if room < 0 and kept >= least:
            break
        start = block.start
        kept += messages[start].role == "assistant"
    return start


def _with_summary(messages: Sequence[Message], folded: Folded) -> list[Message]:
    """The messages with the summary after the last one that it covers (The Complexity Trap, Eq. 6)."""
    covers = set(folded.covers)
    rest = [message for message in messages if message.id not in covers]
    if len(rest) == len(messages):
        return rest
    last = max(at for at, message in enumerate(messages) if message.id in covers)
    place = len(rest) - sum(message.id not in covers for message in messages[last:])
    return [*rest[:place], summary_message(folded, {message.id for message in rest}), *rest[place:]]


def summary_message(folded: Folded, taken: Collection[str] = ()) -> Message:
    """The message in place of those that the summary covers; its id differs from another strategy's summary."""
    covers = tuple(folded.covers)
    text, why = f"{SUMMARY_TAG}\n{folded.summary}", f"stands for {len(covers)} messages: {folded.why}"
    ids = (f"summary{'-again' * number}-to-{covers[-1]}" for number in count())
    return Message(next(id_ for id_ in ids if id_ not in taken), "user", text, why=why, covers=covers)
