"""How the model of a session calls tools, and when it must call by schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thimble.agent.agent import Agent
from thimble.agent.protocols import Backend

if TYPE_CHECKING:
    from thimble.corpus.library import Library


def by_schema(backend: Backend) -> bool:
    """Whether this model writes each turn as an object of a schema."""
    return getattr(backend, "calls", "") == "schema"


def fails_to_call(agent: Agent, question: str, library: Library) -> bool:
    """Whether no call of the model has ever returned anything, although the library has a passage for this question."""
    from thimble.corpus.search import Search
    from thimble.session.grounding import shown_by_tools

    search = Search(library)
    best = search.find(question, 1) if "?" in question else []
    return bool(best) and best[0].score >= search.min_score and not any(shown_by_tools(agent.history))
