"""SWE-agent: `history` has all messages; only the `query` of a step shows that results were elided."""

from __future__ import annotations

from thimble.logs.log import Entry, Json, Log, Values
from thimble.logs.parts import SPOKEN, as_list, dig, read_message


def read(values: Values, name: str) -> list[Log]:
    """The run of the main agent."""
    log = Log(name, "SWE-agent")
    for run in values:
        steps = as_list(run, "trajectory")
        prompts = [step.get("query") for step in steps]
        if not any(prompts):
            prompts = [None, *(step.get("messages") for step in steps)]
        for message in as_list(run, "history"):
            log.leave_out_rest(message, SPOKEN)
            prompt = dig(prompts, len(log.calls)) if message["role"] == "assistant" else None
            if message.get("agent") not in (None, "main", "primary"):
                log.leave_out("message of another agent")
            elif message.get("is_demo") or message.get("message_type") == "demonstration":
                log.add(*_read_message(message, log))
            else:
                if prompt:
                    log.set_prompt([entry for one in prompt for entry in _read_message(one, log)])
                log.append(_read_message(message, log))
        log.leave_out_rest(run, "history")
        if not any(prompts):
            log.notes.append("The file does not say which results were elided from a prompt.")
        if sent := dig(run, "info", "model_stats", "tokens_sent"):
            log.notes.append(f"Usage is known for the session only: {sent:,} tokens sent.")
    return [log]


def _read_message(message: Json, log: Log) -> list[Entry]:
    return read_message({**message, "tool_call_id": dig(message, "tool_call_ids", 0)}, log)
