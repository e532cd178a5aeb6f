"""Gemini CLI: records of a chat, each with a call and its results; `$set.messages` replaces the list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thimble.logs.log import Entry, Log, seconds, take_each
from thimble.logs.parts import dig, listed, reported, result, said

ROLES = {"user": "user", "gemini": "assistant"}
"""Types of records that are sent."""
SENT = ("id", "name", "args", "result", "status", "timestamp")
"""Keys of a call that are not what the screen shows of it."""


def recognises(opening: Sequence[Any]) -> bool:
    """A header with `sessionId` and `projectHash`."""
    return isinstance(opening[0], Mapping) and {"sessionId", "projectHash"} <= opening[0].keys()


def read(values: Iterable[Any], name: str) -> list[Log]:
    """The session of the file."""
    chat = _Chat(name)
    take_each(values, chat.take, chat.log)
    chat.settle()
    return [chat.log]


class _Chat:
    def __init__(self, name: str) -> None:
        self.log = Log(name, "Gemini CLI")
        self.log.notes.append("The system prompt and the tools are not in the file.")
        self.records: dict[
            object, Mapping[str, Any]
        ] = {}  # the list as it is now, by id: a record may be written twice
        self.told: dict[object, tuple[Mapping[str, Any], list[Entry]]] = {}  # what is in the log

    def take(self, line: Mapping[str, Any]) -> None:
        """Take a header, a record, or a change of the list."""
        records = dig(line, "$set", "messages") or line.get("messages")
        self.log.name = str(line.get("sessionId") or self.log.name)
        if "id" in line:
            self.records[line["id"]] = line
        elif "$rewindTo" in line or records:
            self.settle()
            ids = [*self.records, line.get("$rewindTo")]
            kept = ids[: ids.index(line.get("$rewindTo"))] if ids[-1] in self.records else []
            self.records = {id_: self.records[id_] for id_ in kept}
            self.records |= {one.get("id", at): one for at, one in enumerate(records or ())}
        else:
            self.log.leave_out("header", line)

    def settle(self) -> None:
        """Bring the log to the list as it is: what changed before a record that is told already, was edited."""
        records = [*self.records.items()]
        told = [id_ in self.told and self.told[id_][0] == record for id_, record in records]
        edited = max((at for at, is_told in enumerate(told, 1) if is_told), default=0)
        for (id_, record), is_told in zip(records[:edited], told, strict=False):
            if not is_told:
                self.told[id_] = record, self._entries(record)
        self.log.view = [entry for id_, _ in records[:edited] for entry in self.told[id_][1]]
        for id_, record in records[edited:]:
            entries = self._entries(record)
            if id_ in self.told:
                self.log.add(*entries)
            else:
                time = seconds(record.get("timestamp"))
                self.log.say(entries, reported(record.get("tokens")), record.get("model"), time)
            self.told[id_] = record, entries

    def _entries(self, record: Mapping[str, Any]) -> list[Entry]:
        if record.get("type") not in ROLES:
            self.log.leave_out(f"record {record.get('type')}", record)
            return []
        if record.get("thoughts"):
            self.log.leave_out("headings of thoughts, not sent", record["thoughts"])
        calls = record.get("toolCalls") or ()
        message = {"role": ROLES[record["type"]], "content": record.get("content"), "tool_calls": calls}
        entries = said(message, self.log)
        for one in calls:
            self.log.leave_out("shown of a call", {key: one[key] for key in one if key not in SENT})
            for part in listed(one.get("result")):
                given = dig(part, "functionResponse") or {"content": part}
                entries.append(result({"id": one.get("id"), **given}, self.log))
        return entries
