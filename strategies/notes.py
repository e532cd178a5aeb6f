"""notes: what the agent has noted outside may go; its notes are recited at the end of the context."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from agent.budget import Budget
from agent.errors import BudgetError
from agent.fit import fit
from agent.messages import Message, pending, turns
from agent.protocols import Strategy
from agent.repair import NO_RESULT
from corpus.markdown import shorten
from strategies.making_room import enough, observations
from strategies.observation_masking import savings, with_masks
from strategies.parameter import parameter
from strategies.recital import recited

FAILED = ("Error:", "[cancelled", NO_RESULT)
"""How the result of a call that kept nothing begins."""

LETTERS_A_WORD = 6

ASK = """\
The context is nearly full and older results are about to be taken away. Before anything else, write down with \
save_note whatever you still need from them: exact values, names, where they stand. What you have noted is kept."""


@dataclass
class Notes(Strategy):
    """Let old results go once the agent has noted what matters, and recite its notes at the end. Who notes little pays.

    A call of save_note vouches for every observation before it. Over the budget the oldest of those give way to a mask
    each until `target` is reached, and the prefix stays until the budget is passed again. From then on the notes stand
    behind the newest turn, where a model reads best, as Manus recites its todo.md. When no note allows enough to go,
    the model is asked for one; if it writes none, `fit` shortens. Anthropic pairs its memory tool with clearing so.
    """

    window: int = parameter(2, "newest turns whose observations stay")
    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    warn: float = parameter(0.9, "share of the budget past which the model is asked for notes", 0.1, 1)
    words: int = parameter(150, "length of the notes recited, the newest ones, at six letters a word", 10, 10_000)
    state: dict[str, Any] = field(default_factory=dict)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with noted observations masked and what is to be said at its end; see the class."""
        masked = self.state.setdefault("masked", {})
        self.state.pop("asked", None)
        groups = turns(messages)
        notes, upto = _noted(messages, groups)
        old = [turn for turn in groups[: max(0, len(groups) - self.window)] if turn.start < upto]
        new = [turn for turn in groups if turn.start >= upto]
        view = with_masks(messages, masked)
        size, offers = budget.size(view), list(savings(observations(view, old), budget))
        least = size - sum(saved for _, saved in offers)
        if size > budget.limit:
            why = f"the view was {size:,} of {budget.limit:,} tokens, and a note was written since"
            goal = self.target * budget.limit
            masked.update((message.id, why) for message in enough(size, budget, (goal, offers)))
            view = with_masks(messages, masked)
            size = budget.size(view)
        ask = ASK if least > self.warn * budget.limit and any(savings(observations(view, new), budget)) else ""
        recital = _recital(notes, self.words) if masked else ""
        spare = min(budget.limit, budget.size(messages) if masked else size) - size
        for words in ("\n\n".join(filter(None, (recital, ask))), ask, recital):
            said = _said(view, words) if words else view
            if sum(map(budget.count, said[len(view) :])) <= spare:
                return said
        return self._asking(view, budget) if ask and not pending(view) else view

    def _asking(self, view: list[Message], budget: Budget) -> list[Message]:
        """A view over the budget, with the question for notes: `fit` would shorten it anyway, here it does so for both.

        Each such call is an edit, and the state says so.
        """
        self.state["asked"] = view[-1].id
        asking = budget.count(_said(view, ASK)[-1])
        try:
            return _said(fit(view, replace(budget, limit=budget.limit - asking)), ASK)
        except BudgetError:
            return view


def _said(view: Sequence[Message], words: str) -> list[Message]:
    return recited(view, f"notes-after-{view[-1].id}", words, "notes, where a model reads best: at the end")


def _noted(messages: Sequence[Message], groups: Sequence[range]) -> tuple[list[str], int]:
    """The notes that stand in the history, each once, the newest last; and where the call that wrote it begins."""
    notes: dict[str, None] = {}
    upto = 0
    for turn in groups:
        for call in messages[turn.start].calls:
            note = _note(call.arguments) if call.name == "save_note" else ""
            if note and _kept(call.id, messages[turn.start + 1 : turn.stop]):
                notes.pop(note, None)
                notes[note], upto = None, turn.start
    return list(notes), upto


def _kept(call_id: str, results: Sequence[Message]) -> bool:
    return any(result.call_id == call_id and not result.content.startswith(FAILED) for result in results)


@lru_cache(maxsize=8192)
def _note(arguments: str) -> str:
    """The note that a call of save_note keeps, as one line; "" where there is none in it."""
    try:
        written = json.loads(arguments)
        title, text = written.get("title") or "", written["text"]
    except (ValueError, RecursionError, AttributeError, KeyError):
        return ""
    if not (isinstance(title, str) and isinstance(text, str) and text.strip()):
        return ""
    return " ".join(f"{title}: {text}".split())


def _recital(notes: Sequence[str], words: int) -> str:
    """As many of the newest notes as `words` allow, one of them at least, a line each, the newest last."""
    left = words * LETTERS_A_WORD
    lines: list[str] = []
    for note in reversed(notes):
        if lines and len(note) > left:
            break
        lines.append(f"- {shorten(note, left)}")
        left -= len(note)
    older = f"; get_notes has {len(notes) - len(lines)} older ones" if len(lines) < len(notes) else ""
    return "\n".join([f"Your notes so far, the newest last{older}:", *reversed(lines)]) if lines else ""
