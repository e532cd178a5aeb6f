"""aider: its history is for people to read, and cannot be replayed."""

from __future__ import annotations

from thimble.agent.errors import UsageError
from thimble.logs.log import Log, Values


def read(values: Values, name: str) -> list[Log]:
    """Raises UsageError: it says what the history lacks."""
    raise UsageError(
        f"{name} is aider's history, which cannot be replayed: it has no system prompt, no contents of files, no tool "
        "results, and no mark where a summary stands",
        "nor does aider's --llm-history-file keep messages: record its requests with a proxy, and give those",
    )
