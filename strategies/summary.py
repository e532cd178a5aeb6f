"""Summaries: what summary-buffer and hybrid share. A summary stands for the messages it covers.

State is a dict with `summary` (its text), `covers` (ids) and, after a failure, `refused` (the newest message then). A
summary is asked for *behind* what it covers, the instruction last, and folds the one before (The Complexity Trap,
Eq. 5: s_last goes in with the turns since).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent.budget import Budget
from agent.errors import BudgetError, ModelError
from agent.fit import fit
from agent.messages import Message, pinned
from agent.prompts import SUMMARY_TAG
from agent.side import SideModel

INSTRUCTION = """\
Stop here and write a summary of everything above for yourself. It replaces those messages: what you leave out is gone.
Keep exact values, names and [sources]; keep what failed and the error it gave; take over what an earlier summary says.
Write at most {words} words in these sections, a line a point, nothing else.
Sections:
- Asked: what the user wants, in their own terms
- Found: facts established so far, each with its [source]
- Read: articles, sections and files read, and what was noted
- Open: what is still to be found, and what went wrong"""


def with_summary(messages: Sequence[Message], state: dict[str, Any]) -> list[Message]:
    """The messages with the summary in place of what it covers; the messages themselves where there is none."""
    covers = set(state.get("covers", ()))
    rest = [message for message in messages if message.id not in covers]
    if len(rest) == len(messages):
        return rest
    first = next(index for index, message in enumerate(messages) if message.id in covers)
    summary = _message(state)
    return [*rest[:first], summary, *rest[first:]]


def summarise(
    messages: Sequence[Message], keep: int, words: int, model: SideModel, state: dict[str, Any], budget: Budget
) -> bool:
    """Ask for a summary of everything but the `keep` newest messages, the task and the current question.

    Returns:
        Whether there is a new one. A call that failed, and a summary that is empty or not smaller than what it
        stands for, change nothing; none is asked for again until what was newest then is no longer kept.
    """
    if any(message.id == state.get("refused") for message in messages[len(messages) - keep :]):
        return False
    stays = {message.id for message in pinned(messages)}
    old = [message for message in messages[: len(messages) - keep] if message.id not in stays]
    covered = with_summary(old, state)
    if not old or all(message.covers for message in covered):
        return False
    instruction = Message("summarise", "user", INSTRUCTION.format(words=words))
    upto = with_summary(messages[: len(messages) - keep], state)
    try:
        text = model.ask(fit([*upto, instruction], budget), "summary", max_tokens=3 * words).strip()
    except (ModelError, BudgetError):
        text = ""
    new = {"summary": text, "covers": [message.id for message in old]}
    if not text or budget.count(_message(new)) >= sum(map(budget.count, covered)):
        state["refused"] = messages[-1].id
        return False
    state.update(new)
    return True


def _message(state: dict[str, Any]) -> Message:
    covers = tuple(state["covers"])
    return Message(
        id=f"summary-to-{covers[-1]}",
        role="user",
        content=f"{SUMMARY_TAG}\n{state['summary']}",
        why=f"stands for {len(covers)} messages",
        covers=covers,
    )
