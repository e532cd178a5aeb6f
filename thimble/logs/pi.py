"""pi: entries in a tree by `parentId`; a compaction names the first entry that it kept. Version 1 has no ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thimble.logs.log import Log, seconds
from thimble.logs.parts import dig, reported, said

ROLES: Mapping[object, str] = {"assistant": "assistant", "toolResult": "tool"}


def recognises(opening: Sequence[Any]) -> bool:
    """The first line is a `session` with a folder."""
    return dig(opening[0], "type") == "session" and "cwd" in opening[0]


def read(values: Iterable[Any], name: str) -> list[Log]:
    """The path from the newest entry to the root, and a log for each other leaf."""
    header, *lines = [line for line in values if isinstance(line, Mapping)]
    name = str(header.get("id") or name)
    by_id = {line.get("id", at): {"at": at, "parentId": at - 1, **line} for at, line in enumerate(lines, 1)}
    inner = {line["parentId"] for line in by_id.values()}
    logs: list[Log] = []
    for leaf in reversed([id_ for id_ in by_id if id_ not in inner]):
        path, at = [], leaf
        while at in by_id:
            path.append(by_id[at])
            at = by_id[at]["parentId"]
        logs.append(_log(f"{name}, branch {len(logs) + 1}" if logs else name, path[::-1]))
    return logs


def _log(name: str, path: Sequence[Mapping[str, Any]]) -> Log:
    log = Log(name, "pi")
    log.notes.append("The system prompt and the tools are not in the file.")
    starts: dict[object, int] = {}  # the place of the next entry, by the id and by the number of each line
    for line in path:
        starts[line.get("id")] = starts[line["at"]] = len(log.entries)
        kind, message = line.get("type"), line.get("message") or line
        role = message.get("role")
        if kind == "compaction":
            first = starts.get(line.get("firstKeptEntryId", line.get("firstKeptEntryIndex")), len(log.entries))
            kept = [entry for at, entry in enumerate(log.entries) if at >= first and at not in log.summaries]
            log.view = [{"role": "user", "content": str(line.get("summary") or "")}, *kept]
        elif kind not in ("message", "custom_message", "branch_summary") or message.get("excludeFromContext"):
            log.leave_out(kind, line)
        else:
            content = message.get("content") or line.get("summary") or message.get("summary")
            if role == "bashExecution":
                content = f"{message.get('command')}\n{message.get('output')}"
            entries = said({**message, "role": ROLES.get(role, "user"), "content": content}, log)
            log.say(entries, reported(message.get("usage")), message.get("model"), seconds(line.get("timestamp")))
            if not entries:
                log.leave_out(f"empty {role}", line)
    return log
