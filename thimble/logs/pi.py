"""pi: entries in a tree by `parentId`; a compaction names the first entry that it kept. Version 1 has no ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from thimble.logs.log import Json, Log, Values
from thimble.logs.parts import first_present, log_message, read_message

ROLES: Mapping[object, str] = {"assistant": "assistant", "toolResult": "tool"}
SENT = "message custom_message branch_summary"
"""Types of lines that are sent."""
KEPT = "firstKeptEntryId firstKeptEntryIndex"


def read(values: Values, name: str) -> list[Log]:
    """The path from the newest entry to the root, and a log for each other leaf."""
    header, *lines = [line for line in values if isinstance(line, Mapping)]
    name = str(header.get("id") or name)
    by_id = {line.get("id", at): {"at": at, "parentId": at - 1, **line} for at, line in enumerate(lines, 1)}
    inner = {line["parentId"] for line in by_id.values()}
    logs: list[Log] = []
    for at in reversed([id_ for id_ in by_id if id_ not in inner]):
        path: list[Json] = []
        while at in by_id:
            path.insert(0, by_id[at])
            at = path[0]["parentId"]
        logs.append(_log(f"{name}, branch {len(logs) + 1}" if logs else name, path))
    return logs


def _log(name: str, path: Sequence[Json]) -> Log:
    log = Log(name, "pi")
    starts: dict[object, int] = {}  # the index of the next entry, by the id and by the number of each line
    for line in path:
        starts |= dict.fromkeys((line.get("id"), line["at"]), len(log.entries))
        kind, given = line.get("type"), line.get("message") or line
        role, words = given.get("role"), given.get("content") or given.get("summary")
        if role == "bashExecution":
            words = f"{given.get('command')}\n{given.get('output')}"
        message = {**given, "role": ROLES.get(role, "user"), "content": words, "timestamp": line.get("timestamp")}
        if kind == "compaction":
            start = starts.get(first_present(line, KEPT), len(log.entries))
            kept = [entry for at, entry in enumerate(log.entries) if at >= start and at not in log.summaries]
            log.view = [*read_message(message, log), *kept]
        elif kind not in SENT.split() or given.get("excludeFromContext") or not log_message(message, log):
            log.leave_out(f"{role}, not sent" if role else kind)
    return log
