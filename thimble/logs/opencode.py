"""opencode: sessions, messages and parts, each an object; an export holds them inside each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thimble.logs.log import Entry, Log, Reported
from thimble.logs.parts import call, parts

CLEARED = "[Old tool result content cleared]"
"""What the model is sent in place of a result that was pruned."""


def recognises(opening: Sequence[Any]) -> bool:
    """A message or a part with `sessionID`, or an export with `info` and `messages`."""
    return any("messageID" in one or ("sessionID" in one and "role" in one) for one in _objects(opening))


def _objects(values: Iterable[Any]) -> Iterable[Mapping[str, Any]]:
    """The objects of an export and of lists, one by one."""
    for value in values:
        if isinstance(value, list):
            yield from _objects(value)
        elif isinstance(value, Mapping) and isinstance(value.get("info"), Mapping):
            info = value["info"]
            yield info
            yield from _objects(value.get("messages") or ())
            yield from ({"messageID": info.get("id"), **part} for part in value.get("parts") or ())
        elif isinstance(value, Mapping):
            yield value


def read(values: Iterable[Any], name: str) -> list[Log]:
    """A log for each session."""
    messages: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    pieces: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    others: list[Mapping[str, Any]] = []
    for number, one in enumerate(_objects(values)):
        if "messageID" in one:
            pieces[str(one["messageID"])][str(one.get("id", number))] = one
        elif "role" in one:
            messages[str(one.get("sessionID", name))][str(one.get("id"))] = one
        elif "slug" not in one and "projectID" not in one:
            others.append(one)
    logs = []
    for session, listed in messages.items():
        reader = _Session(session)
        for id_, message in sorted(listed.items()):
            reader.take(message, [part for _, part in sorted(pieces[id_].items())])
        logs.append(reader.log)
    for one in others if logs else ():
        logs[0].leave_out(f"{one.get('type')} without a message", one)
    return [log for log in logs if log.entries]


class _Session:
    def __init__(self, name: str) -> None:
        self.log = Log(name, "opencode")
        self.log.notes.append("The system prompt and the tools are not in the file.")
        self.places: dict[str, int] = {}  # of messages, by their ids
        self.pruned: dict[int, float] = {}  # when each result was, in milliseconds, by its place
        self.tail: str | None = None  # the first message that a compaction keeps

    def take(self, message: Mapping[str, Any], given: Sequence[Mapping[str, Any]]) -> None:
        """Take a message with its parts."""
        began = (message.get("time") or {}).get("created")
        self.places[str(message.get("id"))] = len(self.log.entries)
        by_type: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for part in given:
            by_type["ignored" if part.get("ignored") else str(part.get("type"))].append(part)
        for kind in by_type.keys() - {"text", "reasoning", "tool"}:
            for part in by_type[kind]:
                self.log.leave_out(f"part {kind}", part)
                self.tail = part.get("tail_start_id") or self.tail
        entry: Entry = {"role": message["role"], "content": parts([*by_type["reasoning"], *by_type["text"]], self.log)}
        if message["role"] != "assistant":
            if message.get("summary"):
                self.log.leave_out("summary of changes", message["summary"])
            if entry["content"]:
                self.log.add(entry)
            return
        if by_type["tool"]:
            entry["tool_calls"] = [
                call(part.get("callID"), part.get("tool"), (part.get("state") or {}).get("input"))
                for part in by_type["tool"]
            ]
        elif not entry["content"]:
            self.log.leave_out("empty reply")
            return
        self._prune(began)
        at = self.log.reply(
            entry, _reported(message.get("tokens") or {}), str(message.get("modelID") or ""), began and began / 1000
        )
        for part in by_type["tool"]:
            self._result(part.get("callID"), part.get("state") or {})
        if message.get("summary") is True:
            first, self.tail = self.places.get(self.tail or "", at), None
            self.log.summaries.add(at)
            self.log.begin_context([at, *(place for place in self.log.now() if first <= place < at)])

    def _result(self, id_: object, state: Mapping[str, Any]) -> None:
        words = state.get("output", state.get("error"))
        if words is None:
            return
        place = self.log.add({"role": "tool", "tool_call_id": id_, "content": parts(words, self.log)})
        if pruned := (state.get("time") or {}).get("compacted"):
            self.pruned[place] = pruned

    def _prune(self, now: float | None) -> None:
        """Results that were pruned before this call have their placeholder in its prompt."""
        due = [place for place, time in self.pruned.items() if now and time <= now]
        self.log.swap({place: {**self.log.entries[place], "content": CLEARED} for place in due})
        for place in due:
            del self.pruned[place]


def _reported(tokens: Mapping[str, Any]) -> Reported:
    """Its input leaves out what was cached; a message that was broken off has zeros, which are not known."""
    cache = tokens.get("cache") or {}
    if not any((tokens.get("input"), cache.get("read"), cache.get("write"))):
        return Reported()
    return Reported(tokens.get("input"), cache.get("read"), cache.get("write"), tokens.get("output"))
