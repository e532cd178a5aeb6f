"""opencode: sessions, messages and parts, each an object; an export holds them inside each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thimble.logs.log import Entry, Json, Log
from thimble.logs.parts import dig, first, tell


def recognises(opening: Sequence[Any]) -> bool:
    """A message or a part with `sessionID`, or an export with `info` and `messages`."""
    return any("messageID" in one or ("sessionID" in one and "role" in one) for one in _objects(opening))


def _objects(values: Iterable[Any]) -> Iterable[Json]:
    """The objects of an export and of lists, one by one."""
    for value in values:
        if isinstance(value, list):
            yield from _objects(value)
        elif info := dig(value, "info"):
            yield from _objects([info, value.get("messages"), value.get("parts")])
        elif isinstance(value, Mapping):
            yield value


def read(values: Iterable[Any], name: str) -> list[Log]:
    """A log for each session."""
    messages: dict[object, Json] = {}
    sessions: dict[object, _Session] = {}
    pieces: dict[object, dict[object, Json]] = defaultdict(dict)
    for one in _objects(values):
        if "messageID" in one or "role" not in one:
            pieces[one.get("messageID")][one.get("id")] = one
        else:
            messages[one.get("id")] = one
    for id_, message in sorted(messages.items()):
        session = message.get("sessionID", name)
        sessions[session] = sessions.get(session) or _Session(session)
        sessions[session].take(message, [part for _, part in sorted(pieces.pop(id_, {}).items())])
    logs = [session.log for session in sessions.values()]
    for one in [one for found in pieces.values() for one in found.values()] if logs else ():
        logs[0].leave_out(f"{one.get('type', 'session')} without a message", one)
    return logs


class _Session:
    def __init__(self, name: str) -> None:
        self.log = Log(name, "opencode")
        self.log.notes.append("The system prompt and the tools are not in the file.")
        self.said: dict[object, Entry] = {}  # the first entry of each message
        self.pruned: dict[object, float] = {}  # when a result was, in milliseconds, by the id of its call
        self.tail: object = None  # the first message that a compaction keeps

    def take(self, message: Json, given: Sequence[Json]) -> None:
        """Take a message with its parts."""
        log, role, began = self.log, message["role"], dig(message, "time", "created") or 0
        calls = [{**part, **(part.get("state") or {})} for part in given if part.get("type") == "tool"]
        words = [part for part in given if part.get("type") in ("text", "reasoning") and not part.get("ignored")]
        for part in given:
            if part.get("type") != "tool" and part not in words:
                log.leave_out(f"part {part.get('type')}", part)
                self.tail = part.get("tail_start_id") or self.tail
        words.sort(key=lambda part: str(part["type"]))  # reasoning, then text
        if role == "assistant":
            log.clear([id_ for id_, time in self.pruned.items() if time <= began])
        told = {"role": role, "content": words, "tool_calls": calls, "timestamp": began / 1000}
        for entry in tell({**message, **told}, log):
            self.said[message.get("id")] = entry
            if message.get("summary") is True:
                log.summaries.add(len(log.entries) - 1)
                log.view = [entry, *log.view[log.at(self.said.get(self.tail)) : log.at(entry)]]
        for one in calls:
            if first(one, "output error") is not None:
                tell({**one, "role": "tool"}, log)
            if time := dig(one, "time", "compacted"):
                self.pruned[one.get("callID")] = time
