"""notes: old results may go once the agent has saved notes; its notes are recited at the end of the context."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from thimble.agent.budget import Budget
from thimble.agent.errors import BudgetError
from thimble.agent.fit import fit
from thimble.agent.messages import CANCELLED, NO_RESULT, Message, pending_turn, turns
from thimble.corpus.markdown import shorten
from thimble.strategies.making_room import list_offers, pick_until_goal
from thimble.strategies.masks import mask_message, with_masks
from thimble.strategies.newest import newest_turns_start
from thimble.strategies.parameter import parameter
from thimble.strategies.recital import make_recital
from thimble.strategies.state import Stateful

FAILED = ("Error:", CANCELLED, NO_RESULT)
"""Starts of the result of a call that saved no note."""

LETTERS_A_WORD = 6

NOTES_REQUEST = """\
The context is nearly full and older results are about to be taken away. Before anything else, write down with \
save_note whatever you still need from them: exact values, names, where they stand. What you have noted is kept."""


@dataclass
class Noted:
    """Why each observation is masked, by id; and the end of the history when the model was asked for a note."""

    masked: dict[str, str] = field(default_factory=dict)
    asked: str = ""


@dataclass
class Notes(Stateful):
    """Hide old results once the agent has saved notes, and recite the notes at the end. Facts without a note are lost.

    After a call of save_note, every observation before it may go. Over the budget, the oldest of them are masked until
    the view is down to `target`, and the prefix stays until the view is over the budget again. From then on the notes
    follow the newest turn, where models read best, as Manus recites its todo.md. If the notes do not let enough
    observations go, the model is asked for a note; if it writes none, `fit` shortens. Anthropic combines its memory
    tool with clearing in the same way.
    """

    window: int = parameter(2, "newest turns whose observations stay")
    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    warn: float = parameter(0.9, "share of the budget past which the model is asked for notes", 0.1, 1)
    words: int = parameter(150, "length of the recited notes (the newest), at six letters a word", 10, 10_000)
    memory: Noted = field(default_factory=Noted)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with noted observations masked, and notes or a request for notes at its end; see the class."""
        self.memory.asked = ""
        written, upto = _collect_notes(messages)
        view = with_masks(messages, self.memory.masked)
        size = budget.size(view)
        old = list_offers(view[: min(newest_turns_start(view, self.window), upto)], mask_message, budget)
        least = size - sum(saved for _, saved in old)
        why = f"the view was {size:,} of {budget.limit:,} tokens, and a note was written since"
        if size > budget.limit and (goes := pick_until_goal(size, budget, (self.target * budget.limit, why, old))):
            self.memory.masked.update(goes)
            view = with_masks(messages, self.memory.masked)
            size = budget.size(view)
        if pending_turn(view):
            return view
        full = least > self.warn * budget.limit
        ask = NOTES_REQUEST if full and any(list_offers([one], mask_message, budget) for one in view[upto:]) else ""
        masked = bool(self.memory.masked)
        notes = _recital(written, self.words) if masked else ""
        spare = min(budget.limit, budget.size(messages) if masked else size) - size
        for words in filter(None, ("\n\n".join(filter(None, (notes, ask))), ask, notes)):
            said = _append_message(view, words)
            if budget.count(said) <= spare:
                return [*view, said]
        nothing_to_say = spare >= 0 and not (notes and ask)
        return view if nothing_to_say or not ask else self._asking(view, budget)

    def _asking(self, view: list[Message], budget: Budget) -> list[Message]:
        """A view over the budget with the request for notes at its end, both made to fit.

        Each such call is an edit; the memory records it.
        """
        self.memory.asked = view[-1].id
        said = _append_message(view, NOTES_REQUEST)
        try:
            fitted = fit(view, replace(budget, limit=budget.limit - budget.count(said)))
        except BudgetError:
            return view
        return [*fitted, _append_message(fitted, NOTES_REQUEST)]


def _append_message(view: Sequence[Message], words: str) -> Message:
    return make_recital(f"notes-after-{view[-1].id}", words, "notes, where a model reads best: at the end")


def _collect_notes(history: Sequence[Message]) -> tuple[list[str], int]:
    """The notes in the history, each once, the newest last; and the start of the turn that wrote the newest."""
    notes, upto = dict[str, None](), 0
    for turn in turns(history):
        for call in history[turn.start].calls:
            note = _note_text(call.arguments) if call.name == "save_note" else ""
            if note and _is_kept(call.id, history[turn.start + 1 : turn.stop]):
                notes.pop(note, None)
                notes[note], upto = None, turn.start
    return [*notes], upto


def _is_kept(call_id: str, results: Sequence[Message]) -> bool:
    return any(result.call_id == call_id and not result.content.startswith(FAILED) for result in results)


@lru_cache(maxsize=8192)
def _note_text(arguments: str) -> str:
    """The note in a call of save_note, as one line; "" if there is none."""
    try:
        written = json.loads(arguments)
        title, text = written.get("title") or "", written["text"]
    except (ValueError, RecursionError, AttributeError, KeyError):
        return ""
    if not (isinstance(title, str) and isinstance(text, str) and text.strip()):
        return ""
    return " ".join(f"{title}: {text}".split())


def _recital(notes: Sequence[str], words: int) -> str:
    """The newest notes, as many as `words` allow and at least one: a line each, the newest last."""
    left = words * LETTERS_A_WORD
    lines: list[str] = []
    for note in reversed(notes):
        if lines and len(note) > left:
            break
        lines.append(f"- {shorten(note, left)}")
        left -= len(note)
    older = f"; get_notes has {len(notes) - len(lines)} older ones" if len(lines) < len(notes) else ""
    return "\n".join([f"Your notes so far, the newest last{older}:", *reversed(lines)]) if lines else ""
