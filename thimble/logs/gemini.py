"""Gemini CLI: records of a chat, each with a call and its results; `$set.messages` replaces the list."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thimble.logs.log import Entry, Log, Reported, seconds
from thimble.logs.parts import call, parts

SUMMARY = ("<state_snapshot>", "<tool_output_masked>")
"""How texts begin that Gemini CLI's context management wrote."""
UNTOUCHED = ("id", "name", "args", "result", "status", "timestamp")


def recognises(opening: Sequence[Any]) -> bool:
    """A header with `sessionId` and `projectHash`, or a list of contents with `role` and `parts`."""
    first = opening[0] if opening else None
    if isinstance(first, Mapping) and {"sessionId", "projectHash"} <= first.keys():
        return True
    return bool(_contents(first))


def read(values: Iterable[Any], name: str) -> list[Log]:
    """The session of the file."""
    chat = _Chat(name)
    for value in values:
        for content in _contents(value):
            chat.content(content)
        if isinstance(value, Mapping) and "history" not in value:
            chat.take(value)
    chat.settle()
    return [chat.log] if chat.log.entries else []


def _contents(value: Any) -> list[Any]:
    """The contents of a list, or of a checkpoint's `history`."""
    listed = value.get("history") if isinstance(value, Mapping) else value
    are_contents = isinstance(listed, list) and listed and isinstance(listed[0], Mapping) and "parts" in listed[0]
    return listed if are_contents and isinstance(listed, list) else []


class _Chat:
    def __init__(self, name: str) -> None:
        self.log = Log(name, "Gemini CLI")
        self.log.notes.append("The system prompt and the tools are not in the file.")
        self.records: dict[str, Mapping[str, Any]] = {}  # the list as it is now, by id
        self.told: dict[str, tuple[Mapping[str, Any], Sequence[int]]] = {}  # what is in the log, and where

    def take(self, line: Mapping[str, Any]) -> None:
        """Take a header, a record, or a change of the list."""
        given = line.get("$set") or {}
        if "sessionId" in line:
            self.log.name = str(line["sessionId"])
        if "id" in line:
            self.records[str(line["id"])] = line
        elif "$rewindTo" in line:
            self.settle()
            ids = [*self.records]
            kept = ids[: ids.index(line["$rewindTo"])] if line["$rewindTo"] in ids else []
            self.records = {id_: self.records[id_] for id_ in kept}
        elif "messages" in line or "messages" in given:
            self.settle()
            listed = given.get("messages", line.get("messages")) or ()
            self.records = {str(one.get("id", at)): one for at, one in enumerate(listed)}
        else:
            self.log.leave_out("header", line)

    def settle(self) -> None:
        """Bring the log to the list as it is: what changed before a message that was sent already, was edited."""
        records = [*self.records.items()]
        same = [id_ in self.told and self.told[id_][0] == record for id_, record in records]
        edited = len(same) - same[::-1].index(True) if True in same else 0
        base: list[int] = []
        for id_, record in records[:edited]:
            if not (id_ in self.told and self.told[id_][0] == record):
                self.told[id_] = record, [self.log.add(entry, summary=True) for entry in self._entries(record)]
            base += self.told[id_][1]
        if self.told and base != self.log.now():
            self.log.begin_context(base)
        for id_, record in records[edited:]:
            before = len(self.log.entries)
            for entry in self._entries(record):
                if entry["role"] == "assistant" and id_ not in self.told:
                    self._reply(entry, record)
                else:
                    self.log.add(entry, summary=_is_summary(entry))
            self.told[id_] = record, range(before, len(self.log.entries))

    def _reply(self, entry: Entry, record: Mapping[str, Any]) -> None:
        usage = _reported(record.get("tokens") or {})
        self.log.reply(entry, usage, str(record.get("model") or ""), seconds(record.get("timestamp")))

    def _entries(self, record: Mapping[str, Any]) -> list[Entry]:
        if record.get("type") not in ("user", "gemini"):
            self.log.leave_out(f"record {record.get('type')}", record)
            return []
        if record["type"] == "user":
            return [{"role": "user", "content": parts(record.get("content"), self.log)}]
        if record.get("thoughts"):
            self.log.leave_out("headings of thoughts, not sent", record["thoughts"])
        entry: Entry = {"role": "assistant", "content": parts(record.get("content"), self.log)}
        entries, calls = [entry], record.get("toolCalls") or ()
        if calls:
            entry["tool_calls"] = [call(one.get("id"), one.get("name"), one.get("args")) for one in calls]
        for one in calls:
            self.log.leave_out("shown of a call", {key: one[key] for key in one if key not in UNTOUCHED})
            given = one.get("result")
            listed = given if isinstance(given, list) else [given] if given else []
            entries += [self._result(part, one.get("id")) for part in listed]
        return entries if entry["content"] or calls else []

    def content(self, content: Mapping[str, Any]) -> None:
        """Take a content of a list: a call's id may be missing, then its name stands for it."""
        given = content.get("parts") or ()
        calls = [part["functionCall"] for part in given if "functionCall" in part]
        results = [part for part in given if "functionResponse" in part]
        words = parts([part for part in given if "functionCall" not in part and part not in results], self.log)
        for part in results:
            self.log.add(self._result(part, part["functionResponse"].get("name")))
        entry: Entry = {"role": "assistant" if content.get("role") == "model" else "user", "content": words}
        if calls:
            entry["tool_calls"] = [
                call(one.get("id") or one.get("name"), one.get("name"), one.get("args")) for one in calls
            ]
        if entry["role"] == "assistant":
            self.log.reply(entry)
        elif words:
            self.log.add(entry, summary=_is_summary(entry))

    def _result(self, part: Any, id_: object) -> Entry:
        given = part.get("functionResponse") if isinstance(part, Mapping) else None
        if given is None:
            return {"role": "tool", "tool_call_id": id_, "content": parts(part, self.log)}
        response = given.get("response")
        output = response.get("output", response.get("error")) if isinstance(response, Mapping) else response
        text = output if isinstance(output, str) else json.dumps(response, ensure_ascii=False)
        return {"role": "tool", "tool_call_id": given.get("id") or id_, "content": text}


def _is_summary(entry: Entry) -> bool:
    return any(beginning in str(entry["content"])[:80] for beginning in SUMMARY)


def _reported(tokens: Mapping[str, Any]) -> Reported:
    """Its input includes what was cached; what was thought stands beside the output."""
    output = tokens.get("output")
    said = None if output is None else output + (tokens.get("thoughts") or 0)
    return Reported.of_sum(tokens.get("input"), tokens.get("cached"), None, said)
