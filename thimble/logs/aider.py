"""aider: its history is for people to read, and cannot be replayed."""

from __future__ import annotations

from thimble.agent.errors import UsageError
from thimble.logs.log import Log, Values


def read(values: Values, name: str) -> list[Log]:
    """Raise UsageError: the history lacks prompts and tool results."""
    raise UsageError(
        f"{name} is aider's history, which cannot be replayed: it has no system prompt, no contents of files, no tool "
        "results, and no mark of a summary",
        "record its requests with a proxy and give those: aider's --llm-history-file has no messages either",
    )
