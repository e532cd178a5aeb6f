"""Plant a fact in an observation, as facts get lost there. No model is asked, so no reply mentions it yet."""

from __future__ import annotations

import json

from thimble.agent.agent import Agent
from thimble.agent.errors import UsageError
from thimble.agent.events import Planted
from thimble.agent.messages import Message, ToolCall

MAX_FACT_CHARACTERS = 500
"""The most characters of a fact: as many as `read_file` shows of a line."""
HOW_TO_PLANT = "write /plant FACT, such as /plant The launch code is 4711."


def plant_fact(agent: Agent, fact: str) -> Planted:
    """Append an exchange in which a file with one line, the fact, was read; the result looks like one of `read_file`.

    The file is called planted-N.txt. It does not exist, so a lost fact cannot be read again.

    Raises:
        UsageError: the fact is empty, longer than 500 characters, or of several lines; nothing was appended.
    """
    fact = fact.strip()
    if not fact:
        raise UsageError("/plant needs a fact", HOW_TO_PLANT)
    if len(fact) > MAX_FACT_CHARACTERS:
        raise UsageError(
            f"a fact has at most {MAX_FACT_CHARACTERS} characters, and this one has {len(fact):,}", HOW_TO_PLANT
        )
    if len(fact.splitlines()) > 1:
        raise UsageError("a fact is one line, and this one has several", HOW_TO_PLANT)
    number = len(agent.state.planted) + 1
    path = f"planted-{number}.txt"
    call = ToolCall(f"planted_{number}", "read_file", json.dumps({"path": path}))
    ids = agent.state.new_ids()
    exchange = (
        Message(next(ids), "user", f"Read {path}."),
        Message(next(ids), "assistant", f"I will read the file {path}.", calls=(call,)),
        Message(next(ids), "tool", f"{path} · lines 1-1 of 1\n1: {fact}", call_id=call.id, name=call.name),
        Message(next(ids), "assistant", f"I have read {path}."),
    )
    planted = Planted(fact, path, exchange)
    agent.enter(planted)
    return planted
