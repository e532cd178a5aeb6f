"""How the model of a session calls tools: a trial, once a model, and what follows from it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from thimble.agent.agent import Agent
from thimble.agent.messages import Message, ToolCall
from thimble.agent.protocols import Backend

if TYPE_CHECKING:
    from collections.abc import Sequence

QUESTIONS = ("Explain {} to me in simple words.", "When does {} matter, and why?")
"""What a trial asks, each of another article."""
TRIAL_TOKENS = 200


def by_schema(backend: Backend) -> bool:
    """Whether this model writes each turn as an object of a schema."""
    return getattr(backend, "calls", "") == "schema"


def calls_tools(agent: Agent, titles: Sequence[str]) -> bool:
    """Whether the agent's model calls a tool for each of these questions. Each reply is a side call of the agent.

    Raises ModelError.
    """
    from thimble.models.text_calls.parsers import malformed

    backend, tools = agent.side.reporting(agent.backend, "trial of tool calls"), agent.schemas()
    names = {tool["function"]["name"] for tool in tools}
    for question, title in zip(QUESTIONS, titles, strict=False):
        messages = [Message("system", "system", agent.state.system), Message("q", "user", question.format(title))]
        with closing(backend.stream(messages, tools, max_tokens=TRIAL_TOKENS, temperature=0)) as reply:
            calls = [delta for delta in reply if isinstance(delta, ToolCall)]
        if not calls or any(malformed(call) or call.name not in names for call in calls):
            return False
    return True
