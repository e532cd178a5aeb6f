"""Claude Code: a line for each block of a message, linked by `parentUuid`; compaction leaves old lines in the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thimble.logs.log import Entry, Log, seconds, take_each
from thimble.logs.parts import dig, join, reported, said

SENT = ("user", "assistant", "system", "attachment")
"""Types of lines that may hold what the model was sent."""
ATTACHED = ("content", "prompt", "snippet", "text", "banner", "skills", "addedLines", "addedBlocks", "file")
"""Keys of an attachment, and of what it holds, that hold the words which the model gets."""
CLEARED = "[Old tool result content cleared]"
"""What the model is sent in place of a result that was cleared."""


def recognises(opening: Sequence[Any]) -> bool:
    """A line with `uuid`, `parentUuid` and `sessionId`."""
    return any(dig(one, "type") in SENT and {"uuid", "parentUuid", "sessionId"} <= one.keys() for one in opening)


def read(values: Iterable[Any], name: str) -> list[Log]:
    """The session, then a log for each sub-agent in the file."""
    session = _Session(name)
    take_each(values, session.take, session.main)
    return [*{id(log): log for log in (session.main, *session.side.values()) if log.entries}.values()]


class _Session:
    def __init__(self, name: str) -> None:
        self.main = Log(name, "Claude Code")
        self.main.notes.append(
            "The system prompt, the tools, and files put back after a compaction are not in the file."
        )
        self.side: dict[str, Log] = {}  # of each line of a sub-agent
        self.lines: dict[str, Entry | None] = {}  # the entry of each line so far
        self.replies: dict[str, Entry] = {}  # by message.id
        self.asked: dict[str | None, Entry] = {}  # the prompt below each line
        self.preserved: list[str] = []  # lines

    def take(self, line: Any) -> None:
        """Take a line. One that is there twice counts once."""
        kind, uuid, parent = (dig(line, key) for key in ("type", "uuid", "parentUuid"))
        if kind not in SENT or uuid is None or uuid in self.lines:
            self.main.leave_out("repeated line" if uuid in self.lines else kind, line)
            return
        if "toolUseResult" in line:
            self.main.leave_out("toolUseResult", line["toolUseResult"])
        log = self.main
        if line.get("isSidechain"):
            log = self.side.get(parent) or Log(f"{log.name}, sub-agent {uuid[:8]}", log.form)
            self.side[uuid] = log
        self.lines[uuid] = None
        if kind == "system":
            self._boundary(log, line)
        elif kind == "assistant":
            self.lines[uuid] = self._reply(log, line)
        else:
            for entry in self._heard(log, line):
                self.lines[uuid] = entry
                log.add(entry)

    def _boundary(self, log: Log, line: Mapping[str, Any]) -> None:
        if "compactMetadata" in line:
            segment = dig(line, "compactMetadata", "preservedSegment") or {}
            named = dig(line, "compactMetadata", "preservedMessages", "uuids")
            self.preserved = named or [segment.get("headUuid"), segment.get("tailUuid")]
        elif "microcompactMetadata" in line:
            ids = line["microcompactMetadata"].get("compactedToolIds") or ()
            log.view = [
                {**entry, "content": CLEARED} if entry.get("tool_call_id") in ids else entry for entry in log.view
            ]
        else:
            log.leave_out(f"system {line.get('subtype')}", line)

    def _reply(self, log: Log, line: Mapping[str, Any]) -> Entry | None:
        """The entry of the reply whose block a line holds."""
        message = line["message"]
        if message.get("model") == "<synthetic>" or line.get("isApiErrorMessage"):
            log.leave_out("error shown as a reply", message)
            return None
        entry: Entry = {"role": "assistant", "content": []}
        for more in said(message, log):
            join(entry, more)
        usage, key = reported(message.get("usage")), message.get("id") or line["uuid"]
        if key not in self.replies:
            log.say([entry], usage, message.get("model"), seconds(line.get("timestamp")))
            self.replies[key] = entry
            return entry
        join(self.replies[key], entry)
        call = next(call for call in reversed(log.calls) if log.entries[call.at] is self.replies[key])
        call.reported = max(call.reported, usage, key=lambda one: one.output or 0)
        return self.replies[key]

    def _heard(self, log: Log, line: Mapping[str, Any]) -> list[Entry]:
        """What a line of the user, or an attachment to one, says to the model."""
        if line["type"] == "attachment":
            attachment = line["attachment"]
            words = [*_words(attachment)]
            if not words or str(attachment.get("type")).startswith("hook_success"):
                log.leave_out(f"attachment {attachment.get('type')}", attachment)
                return []
            return said({"role": "user", "content": words}, log)
        entries = said(line["message"], log)
        if line.get("isCompactSummary"):
            kept = [log.at(self.lines.get(uuid)) for uuid in self.preserved]
            log.view = [*entries, *(log.view[min(kept) : max(kept) + 1] if kept else ())]
            return []
        if log is self.main and [entry["role"] for entry in entries] == ["user"] and not line.get("isMeta"):
            parent = line.get("parentUuid")
            if parent in self.asked:  # a second prompt below a line takes back the first
                log.view = log.view[: log.at(self.asked[parent])]
            if parent is not None:
                self.asked[parent] = entries[0]
        return entries


def _words(value: Any) -> Iterable[Any]:
    """The texts and images below the keys of an attachment that hold what is sent."""
    if isinstance(value, str) or dig(value, "type") == "image":
        yield value
    else:
        for one in value if isinstance(value, list) else [value[key] for key in ATTACHED if key in value]:
            yield from _words(one)
