"""Messages as chat-completions servers and Anthropic's API take them: lists, requests, runs of such lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from thimble.logs.log import Entry, Log, Reported
from thimble.logs.parts import blocks, reported, schemas

LISTS = ("messages", "traj")
"""Keys that hold the messages of a run."""
BLOCKS = ("tool_use", "tool_result")
"""Types of parts that only Anthropic's API has."""


def recognises(opening: Sequence[Any]) -> bool:
    """A message, a list of messages, an object with `messages` or `traj`, or a list of these."""
    return bool(opening) and any(True for _ in _runs(opening[0]))


def read(values: Iterable[Any], name: str) -> list[Log]:
    """A log for each run."""
    logs = []
    for line, value in enumerate(values, 1):
        for number, run in enumerate(_runs(value), 1):
            given = run.get("id") or run.get("instance_id")
            named = given if isinstance(given, str | int) else f"{name}:{line}:{number}"
            logs.append(_log(run, str(named)))
    return logs


def _runs(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping) and any(_are_messages(value.get(key)) for key in LISTS):
        yield value
    elif _are_messages(value):
        yield {"messages": value}
    elif isinstance(value, list):
        for one in value:
            yield from _runs(one)


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, Mapping) and "role" in one for one in value)


def _log(run: Mapping[str, Any], name: str) -> Log:
    log = Log(name, "messages")
    log.tools = schemas(run.get("tools") or run.get("functions"))
    log.leave_out_rest(run, "messages", "traj", "tools", "functions", "system")
    if run.get("system"):
        log.add({"role": "system", "content": run["system"]})
    for message in run.get("messages") or run.get("traj") or ():
        for entry in _entries(message, log):
            if entry.get("role") == "assistant":
                log.reply(entry, _reported(message))
            else:
                log.add(entry)
    return log


def _entries(message: Mapping[str, Any], log: Log) -> Iterator[Entry]:
    content = message.get("content")
    if isinstance(content, list) and any(isinstance(part, Mapping) and part.get("type") in BLOCKS for part in content):
        entry, results = blocks(str(message.get("role")), content, log)
        yield from results
        if entry["content"] or entry.get("tool_calls"):
            yield entry
        return
    if "extra" in message:
        log.leave_out("extra", message["extra"])
    yield {key: value for key, value in message.items() if key != "extra"}


def _reported(message: Mapping[str, Any]) -> Reported:
    """What mini-swe-agent keeps of a response, or a `usage` on the message."""
    response = (message.get("extra") or {}).get("response") or {}
    return reported(response.get("usage") or message.get("usage"))
