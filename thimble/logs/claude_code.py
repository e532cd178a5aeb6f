"""Claude Code: a line for each block of a message, linked by `parentUuid`; compaction leaves old lines in the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thimble.logs.log import Entry, Log, seconds, take_each
from thimble.logs.parts import blocks, reported

SENT = ("user", "assistant", "system", "attachment")
"""Types of lines that may hold what the model was sent."""
ATTACHED = ("content", "prompt", "snippet", "text", "banner", "skills", "addedLines", "addedBlocks", "file")
"""Keys of an attachment, and of what it holds, that hold the words which the model gets."""
CLEARED = "[Old tool result content cleared]"
"""What the model is sent in place of a result that was cleared."""


def recognises(opening: Sequence[Any]) -> bool:
    """A line with `uuid`, `sessionId` and a `message` inside."""
    return any(
        isinstance(one, Mapping) and {"uuid", "parentUuid", "sessionId"} <= one.keys() and one.get("type") in SENT
        for one in opening
    )


def read(values: Iterable[Any], name: str) -> list[Log]:
    """The session, then a log for each abandoned branch and each sub-agent in the file."""
    session = _Session(name)
    take_each(values, session.take, session.main)
    return session.logs()


class _Session:
    def __init__(self, name: str) -> None:
        self.main = Log(name, "Claude Code")
        self.main.notes.append("The system prompt and the tools are not in the file.")
        self.abandoned: list[Log] = []
        self.side: dict[str, Log] = {}  # by the uuids of their lines
        self.parents: dict[str, str | None] = {}  # of the lines so far
        self.places: dict[str, int] = {}  # of entries, by the uuid of their line
        self.results: dict[object, int] = {}  # the places of results, by the id of their call
        self.replies: dict[str, tuple[Log, int]] = {}  # by message.id
        self.asked: dict[str | None, int] = {}  # the place of the prompt below each line
        self.preserved: Sequence[str] = ()

    def logs(self) -> list[Log]:
        """Those with an entry; the main one first."""
        sides = [*{id(log): log for log in self.side.values()}.values()]
        return [log for log in (self.main, *self.abandoned, *sides) if log.entries]

    def take(self, line: Any) -> None:
        """Take a line. One that is there twice counts once."""
        kind = line.get("type") if isinstance(line, Mapping) else None
        if kind not in SENT or "uuid" not in line:
            self.main.leave_out(str(kind or type(line).__name__), line)
            return
        uuid = str(line["uuid"])
        if uuid in self.parents:
            self.main.leave_out("repeated line", line)
            return
        self.parents[uuid] = line.get("parentUuid")
        if "toolUseResult" in line:
            self.main.leave_out("toolUseResult", line["toolUseResult"])
        log = self._log_of(line, uuid)
        if kind == "assistant":
            self._assistant(log, line, uuid)
        elif kind == "user":
            self._user(log, line, uuid)
        elif kind == "attachment":
            self._attachment(log, line.get("attachment") or {}, uuid)
        else:
            self._boundary(log, line)

    def _boundary(self, log: Log, line: Mapping[str, Any]) -> None:
        compacted, cleared = line.get("compactMetadata"), line.get("microcompactMetadata")
        if compacted is not None:
            self.preserved = (compacted.get("preservedMessages") or {}).get("uuids") or self._segment(
                compacted.get("preservedSegment") or {}
            )
        elif cleared is not None:
            places = [self.results[id_] for id_ in cleared.get("compactedToolIds") or () if id_ in self.results]
            log.swap({place: {**log.entries[place], "content": CLEARED} for place in places})
        else:
            log.leave_out(f"system {line.get('subtype') or ''}".strip(), line)

    def _segment(self, segment: Mapping[str, Any]) -> list[str]:
        """The lines from the head to the tail."""
        at, lines = segment.get("tailUuid"), []
        while at in self.parents and at not in lines:
            lines.append(at)
            at = None if at == segment.get("headUuid") else self.parents[at]
        return lines[::-1]

    def _log_of(self, line: Mapping[str, Any], uuid: str) -> Log:
        """The main log, or that of the sub-agent whose line it is."""
        if not line.get("isSidechain"):
            return self.main
        parent = str(line.get("parentUuid"))
        log = self.side.get(parent) or Log(f"{self.main.name}, sub-agent {uuid[:8]}", self.main.form)
        self.side[uuid] = log
        return log

    def _assistant(self, log: Log, line: Mapping[str, Any], uuid: str) -> None:
        message = line["message"]
        if message.get("model") == "<synthetic>" or line.get("isApiErrorMessage"):
            log.leave_out("error shown as a reply", message)
            return
        entry, _ = blocks("assistant", message.get("content"), log)
        key = str(message.get("id") or uuid)
        usage = reported(message.get("usage"))
        if key in self.replies:
            log, at = self.replies[key]
            _join(log.entries[at], entry)
            call = next(call for call in reversed(log.calls) if call.at == at)
            call.reported = max(call.reported, usage, key=lambda one: one.output or 0)
        else:
            at = log.reply(entry, usage, str(message.get("model") or ""), seconds(line.get("timestamp")))
            self.replies[key] = log, at
        self.places[uuid] = at

    def _user(self, log: Log, line: Mapping[str, Any], uuid: str) -> None:
        entry, results = blocks("user", line["message"].get("content"), log)
        if line.get("isCompactSummary"):
            at = log.add(entry, summary=True)
            preserved = [self.places[one] for one in self.preserved if one in self.places]
            log.begin_context(dict.fromkeys([at, *preserved]))
            self.preserved = ()
            self.places[uuid] = at
            log.notes.append("Files that Claude Code puts back after a compaction may not be in the file.")
            return
        for result in results:
            self.places[uuid] = self.results[result["tool_call_id"]] = log.add(result)
        if entry["content"]:
            if log is self.main and not results and not line.get("isMeta"):
                log = self._rewind(line.get("parentUuid"))
            self.places[uuid] = log.add(entry)

    def _attachment(self, log: Log, attachment: Mapping[str, Any], uuid: str) -> None:
        """What Claude Code put in beside the user's words."""
        words = [*_words(attachment)]
        if not words or str(attachment.get("type")).startswith("hook_success"):
            log.leave_out(f"attachment {attachment.get('type')}", attachment)
            return
        entry, _ = blocks("user", words, log)
        self.places[uuid] = log.add(entry)

    def _rewind(self, parent: str | None) -> Log:
        """The main log. A second prompt below a line takes back the first: what followed that is a log of its own."""
        at, whole = self.asked.get(parent), self.main
        if parent is not None and at is not None:
            self.main = whole.until(at, whole.name)
            self.main.notes, self.main.left_out = whole.notes, whole.left_out
            self.main.bytes_left_out = whole.bytes_left_out
            whole.name = f"{whole.name}, branch {len(self.abandoned) + 2}"
            self.abandoned.append(whole)
            self.asked = {line: place for line, place in self.asked.items() if place < at}
        self.asked[parent] = len(self.main.entries)
        return self.main


def _join(entry: Entry, more: Entry) -> None:
    """Add the blocks of a further line of the same message."""
    for key in ("content", "tool_calls"):
        if more.get(key):
            entry[key] = [*entry.get(key, ()), *more[key]]


def _words(value: Any) -> Iterable[Any]:
    """The texts and images below the keys of an attachment that hold what is sent."""
    if isinstance(value, str) or (isinstance(value, Mapping) and value.get("type") == "image"):
        yield value
    else:
        for one in value if isinstance(value, list) else [value[key] for key in ATTACHED if key in value]:
            yield from _words(one)
