"""SWE-agent: `history` has all messages; what its history processors elided stands only in the `query` of a step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from thimble.logs.log import Entry, Json, Log
from thimble.logs.parts import dig, listed, said


def recognises(opening: Sequence[Any]) -> bool:
    """An object with a `history` of messages, and mostly a `trajectory` of steps."""
    return len(opening) == 1 and any(dig(one, "role") for one in listed(dig(opening[0], "history")))


def read(values: Iterable[Any], name: str) -> list[Log]:
    """The run of the main agent."""
    log = Log(name, "SWE-agent")
    for run in values:
        steps = run.get("trajectory") or ()
        prompts = [step.get("query") for step in steps]
        if not any(prompts):
            prompts = [None, *(step.get("messages") for step in steps)]
        for message in run.get("history") or ():
            log.leave_out("thought and action, said twice", [message.get("thought"), message.get("action")])
            if message.get("agent") not in (None, "main", "primary"):
                log.leave_out("message of another agent", message)
            elif message.get("is_demo") or message.get("message_type") == "demonstration":
                log.add(*_said(message, log))
            else:
                if message["role"] == "assistant" and (sent := prompts[len(log.calls) :][:1]) and sent[0]:
                    log.send([entry for one in sent[0] for entry in _said(one, log)])
                log.say(_said(message, log))
        log.leave_out_rest(run, "history")
        if not any(prompts):
            log.notes.append("Which results were elided for a call is not in the file.")
        if stats := dig(run, "info", "model_stats"):
            sent, calls = stats.get("tokens_sent"), stats.get("api_calls")
            log.notes.append(f"Usage of the session: {sent} tokens sent in {calls} calls.")
    return [log]


def _said(message: Json, log: Log) -> list[Entry]:
    return said({**message, "tool_call_id": (message.get("tool_call_ids") or [None])[0]}, log)
