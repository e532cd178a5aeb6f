"""Memory: the notes of a session, and the states of its strategy and token counter."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from thimble.agent.agent import Agent
from thimble.agent.errors import UsageError
from thimble.agent.foreign import MAX_DEPTH, is_deep
from thimble.strategies.own_code import call_guarded
from thimble.tools.notebook import Notebook

MOST_STATE_BYTES = 8_000_000
"""A larger state of a strategy is not saved: it would be too much to read again."""


def memory_of(agent: Agent, notes: Notebook) -> tuple[str, str]:
    """The memory as JSON, and the reason why the strategy's state is not in it, or ""."""
    kept = {"notes": notes.state, "learnt": agent.backend.counter.learnt}

    def state() -> str:
        text = json.dumps({"strategy": getattr(agent.strategy, "state", None), **kept})
        if len(text) > MOST_STATE_BYTES:
            raise ValueError(f"it is larger than {MOST_STATE_BYTES // 1_000_000} MB")
        if text.count("[") + text.count("{") > MAX_DEPTH and is_deep(json.loads(text)):
            raise ValueError("it is nested too deep")
        return text

    try:
        return call_guarded(state, f"{agent.strategy_name} starts fresh on resume, since its state cannot be saved"), ""
    except UsageError as error:  # a user's own strategy: its state may fail, not be JSON, or have no end
        return json.dumps(kept), error.what


def restore_memory(
    agent: Agent, notes: Notebook, kept: Mapping[str, Any], same_strategy: bool, same_model: bool
) -> list[str]:
    """Restore a memory; return a notice for each part that can no longer be used. Lost notes count as no notes."""
    parts: list[tuple[str, Any, str, Any]] = [("the notes", notes, "state", kept.get("notes") or {"notes": []})]
    if same_strategy:
        parts.append((f"the memory of {agent.strategy_name}", agent.strategy, "state", kept.get("strategy")))
    if same_model:
        parts.append(("the learnt token counts", agent.backend.counter, "learnt", kept.get("learnt")))
    return list(_refused_notices(parts))


def _refused_notices(parts: list[tuple[str, Any, str, Any]]) -> Iterator[str]:
    for what, owner, name, value in parts:
        try:
            if value is not None:
                call_guarded(partial(_set_memory, owner, name, value), what)
        except UsageError:  # a user's own strategy may raise when its state is set
            yield f"Could not restore {what} from the session file; it was reset."


def _set_memory(owner: Any, name: str, value: Any) -> None:
    if hasattr(owner, name):
        setattr(owner, name, value)
