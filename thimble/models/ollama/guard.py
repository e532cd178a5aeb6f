"""Ollama's guard: it ends a reply in which the same token comes again and again, and sends no last line then."""

from __future__ import annotations

from collections.abc import Sequence

from thimble.agent.protocols import Delta, Text, Thinking

MOST_EQUAL = 30
"""Equal tokens in a row, but for the blanks around them, that the guard lets pass. Source: `llm/server.go`, 0.33.0."""


def stopped(said: Sequence[Delta]) -> bool:
    """Whether it is the guard that ended a reply of these deltas, each a token."""
    last = [delta.text.strip() for delta in said[-MOST_EQUAL - 1 :] if isinstance(delta, Text | Thinking)]
    return len(last) > MOST_EQUAL and len(set(last)) == 1
