"""SWE-agent: `history` has all messages; what its history processors elided stands only in the `query` of a step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thimble.logs.log import Entry, Log

TAKEN = ("role", "content", "tool_calls", "thinking_blocks", "reasoning_content")
EXAMPLE = ("demonstration",)


def recognises(opening: Sequence[Any]) -> bool:
    """An object with a `history` of messages, and mostly a `trajectory` of steps."""
    first = opening[0] if len(opening) == 1 else None
    history = first.get("history") if isinstance(first, Mapping) else None
    return isinstance(history, list) and any(isinstance(one, Mapping) and "role" in one for one in history)


def read(values: Iterable[Any], name: str) -> list[Log]:
    """The run of the main agent."""
    log = Log(name, "SWE-agent")
    for run in values:
        prompts = _prompts(run.get("trajectory") or ())
        for message in run.get("history") or ():
            if message.get("agent") not in (None, "main", "primary"):
                log.leave_out("message of another agent", message)
                continue
            entry = _entry(message)
            if entry["role"] == "assistant" and not (message.get("is_demo") or message.get("message_type") in EXAMPLE):
                if sent := prompts.get(len(log.calls)):
                    log.send([*map(_entry, sent)])
                log.reply(entry)
            else:
                log.add(entry)
            log.leave_out("thought and action, said twice", [message.get("thought"), message.get("action")])
        log.leave_out_rest(run, "history")
        if not prompts:
            log.notes.append("Which results were elided for a call is not in the file.")
        stats = (run.get("info") or {}).get("model_stats") or {}
        if stats.get("tokens_sent"):
            log.notes.append(
                f"Usage of the session: {stats['tokens_sent']:,} tokens sent in {stats.get('api_calls')} calls."
            )
    return [log] if log.entries else []


def _prompts(steps: Sequence[Mapping[str, Any]]) -> dict[int, Sequence[Mapping[str, Any]]]:
    """What each call was sent: a step's `query`, or the `messages` after the step before."""
    before = {at: step["query"] for at, step in enumerate(steps) if step.get("query")}
    return before or {at: step["messages"] for at, step in enumerate(steps, 1) if step.get("messages")}


def _entry(message: Mapping[str, Any]) -> Entry:
    entry = {key: message[key] for key in TAKEN if message.get(key)} | {"content": message.get("content") or ""}
    if ids := message.get("tool_call_ids"):
        entry["tool_call_id"] = ids[0]
    return entry
