"""Plant: put a fact where facts get lost, into an observation. No model is asked, so none has spoken of it yet."""

from __future__ import annotations

import json
from dataclasses import replace

from agent.agent import Agent
from agent.errors import UsageError
from agent.events import Planted
from agent.messages import ToolCall

LONGEST = 500
"""Characters of a fact: what `read_file` shows of a line."""
FORM = "write /plant FACT, such as /plant The launch code is 4711."


def plant(agent: Agent, fact: str, number: int) -> Planted:
    """Append an exchange in which a file of one line, the fact, was read; its result looks as `read_file` gives it.

    `number` names the file, planted-N.txt. There is no such file: what the context loses nobody can read again.

    Raises:
        UsageError: the fact is empty, longer than 500 characters, or of several lines; nothing was appended.
    """
    fact = fact.strip()
    if not fact:
        raise UsageError("there is no fact to plant", FORM)
    if len(fact) > LONGEST:
        raise UsageError(f"a fact has at most {LONGEST} characters, and this one has {len(fact):,}", FORM)
    if len(fact.splitlines()) > 1:
        raise UsageError("a fact is one line, and this one has several", FORM)
    path = f"planted-{number}.txt"
    call = ToolCall(f"planted_{number}", "read_file", json.dumps({"path": path}))
    planned = replace(agent)
    exchange = (
        planned.add("user", f"Read {path}."),
        planned.add("assistant", f"I will read the file {path}.", calls=(call,)),
        planned.add("tool", f"{path} · lines 1-1 of 1\n1: {fact}", call_id=call.id, name=call.name),
        planned.add("assistant", f"I have read {path}."),
    )
    agent.history = planned.history  # at once: Ctrl-C leaves no call without its result
    return Planted(fact, path, exchange)
