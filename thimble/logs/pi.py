"""pi: entries in a tree by `parentId`; a compaction names the first entry that it kept. Version 1 has no ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thimble.logs.log import Entry, Log, Reported, seconds
from thimble.logs.parts import call, parts, result


def recognises(opening: Sequence[Any]) -> bool:
    """The first line is a `session` with an id and a folder."""
    first = opening[0] if opening else None
    return isinstance(first, Mapping) and first.get("type") == "session" and "cwd" in first


def read(values: Iterable[Any], name: str) -> list[Log]:
    """The path from the newest entry to the root, and a log for each other leaf."""
    header, *lines = [line for line in values if isinstance(line, Mapping)]
    name = str(header.get("id") or name)
    parents = {line["id"]: line.get("parentId") for line in lines if "id" in line}
    if not parents:
        return [_log(name, [(number, line) for number, line in enumerate(lines, 1)])]
    by_id = {line["id"]: (number, line) for number, line in enumerate(lines, 1) if "id" in line}
    inner = {*parents.values()}
    leaves = [id_ for id_ in by_id if id_ not in inner]
    logs: list[Log] = []
    for leaf in reversed(leaves):
        path, at = [], leaf
        while at in by_id:
            path.append(by_id[at])
            at = parents[at]
        logs.append(_log(name if leaf == leaves[-1] else f"{name}, branch {len(logs) + 1}", path[::-1]))
    return logs


def _log(name: str, path: Sequence[tuple[int, Mapping[str, Any]]]) -> Log:
    """The log of the lines of a path, each with its number in the file."""
    log = Log(name, "pi")
    log.notes.append("The system prompt and the tools are not in the file.")
    places: dict[object, int] = {}  # of the next entry, by the id and by the number of each line
    for number, line in path:
        places[line.get("id")] = places[number] = len(log.entries)
        kind = line.get("type")
        if kind == "message":
            _message(log, line["message"], seconds(line.get("timestamp")))
        elif kind in ("custom_message", "branch_summary"):
            log.add({"role": "user", "content": parts(line.get("content", line.get("summary")), log)})
        elif kind == "compaction":
            first = places.get(line.get("firstKeptEntryId", line.get("firstKeptEntryIndex")), len(log.entries))
            kept = [place for place in log.now() if place >= first and place not in log.summaries]
            summary = log.add({"role": "user", "content": str(line.get("summary") or "")}, summary=True)
            log.begin_context([summary, *kept])
        else:
            log.leave_out(str(kind), line)
    return log


def _message(log: Log, message: Mapping[str, Any], began: float | None) -> None:
    role, content = message.get("role"), message.get("content")
    listed = content if isinstance(content, list) else [content] if content else []
    calls = [part for part in listed if isinstance(part, Mapping) and part.get("type") == "toolCall"]
    if role == "bashExecution" and message.get("excludeFromContext"):
        log.leave_out("command of the user, not sent", message)
        return
    if role == "bashExecution":
        listed = [f"{message.get('command')}\n{message.get('output')}"]
    entry: Entry = {"role": "user", "content": parts([part for part in listed if part not in calls], log)}
    if role == "toolResult":
        log.add(result(message.get("toolCallId"), listed, log))
    elif role != "assistant":
        log.add(entry)
    elif not entry["content"] and not calls:
        log.leave_out("empty reply")
    else:
        entry["role"] = "assistant"
        if calls:
            entry["tool_calls"] = [call(one.get("id"), one.get("name"), one.get("arguments")) for one in calls]
        log.reply(entry, _reported(message.get("usage") or {}), str(message.get("model") or ""), began)


def _reported(usage: Mapping[str, Any]) -> Reported:
    """Its input leaves out what was cached; a call that was broken off has zeros, which are not known."""
    if not any(usage.get(key) for key in ("input", "cacheRead", "cacheWrite")):
        return Reported()
    return Reported(*(usage.get(key) for key in ("input", "cacheRead", "cacheWrite", "output")))
