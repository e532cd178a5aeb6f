"""Make the summary of a strategy now, by hand, with the user's wish for its content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thimble.agent.budget import Budget
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message, turns
from thimble.agent.protocols import Strategy
from thimble.strategies.comem import Summaries
from thimble.strategies.recital import without_recital
from thimble.strategies.summary import SECTIONS, Folded, Folding, extra_section

NOTHING_TO_SUMMARISE = (
    "there is nothing to summarise: at most one turn is not in the summary yet",
    "ask a question first",
)
"""The error, and its fix."""


def has_summary(strategy: Strategy) -> bool:
    """Whether the strategy, or a part of it, has a summary."""
    return any(isinstance(getattr(part, "memory", None), Folded) for part in getattr(strategy, "parts", [strategy]))


def fold_now(strategy: Strategy, messages: Sequence[Message], budget: Budget, words: str) -> bool:
    """Fold everything before the newest turn into the summary of a strategy that `folds`; return whether it changed.

    `words` is the user's wish for its content. In a pipeline, the first part with a summary folds the view of the parts
    before it.

    Raises:
        UsageError: there is nothing before the newest turn.
    """
    for part in getattr(strategy, "parts", [strategy]):
        memory: Any = getattr(part, "memory", None)
        if isinstance(memory, Folded):
            return _fold_part(part, memory, messages, budget, words)
        messages = without_recital(part.prepare([*messages], budget), messages)
    raise TypeError("the strategy has no summary")


def _fold_part(part: Any, memory: Folded, messages: Sequence[Message], budget: Budget, words: str) -> bool:
    sections = getattr(part, "sections", SECTIONS) + extra_section(words)
    folding = Folding(part.model, part.words, memory, sections)
    if len(folding.turns_since(messages)) < 2:
        raise UsageError(*NOTHING_TO_SUMMARISE)
    memory.refused = ""
    why = f"you asked for it: /compact {words}".rstrip()
    folded = folding.fold(messages, turns(messages)[-1].start, budget, why)
    if folded and words and isinstance(memory, Summaries):
        memory.wish = words  # its next summary reads the whole history again, and not this one
    return folded
