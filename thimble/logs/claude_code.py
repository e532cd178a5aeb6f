"""Claude Code: a line for each block of a message, linked by `parentUuid`; compaction leaves old lines in the file."""

from __future__ import annotations

from collections.abc import Sequence

from thimble.logs.log import Entry, Json, Log, Values, add_each
from thimble.logs.parts import call_of, dig, log_message, read_message

SENT = "user assistant system attachment"
"""Types of lines that may hold messages sent to the model."""


def read(values: Values, name: str) -> list[Log]:
    """The session, then a log for each sub-agent in the file."""
    session = _Session(name)
    add_each(values, session.add_line, session.main)
    return [*dict.fromkeys((session.main, *session.side.values()))]


class _Session:
    def __init__(self, name: str) -> None:
        self.main = Log(name, "Claude Code")
        self.main.notes.append("Files that Claude Code puts back after a compaction may not be in the file.")
        self.side: dict[object, Log] = {}  # of each line of a sub-agent
        self.lines: dict[str, Entry | None] = {}  # the last entry of each line so far
        self.asked: dict[str | None, Entry] = {}  # the user's prompt whose parent is this line
        self.preserved: list[Entry] = []  # by the compaction whose summary is read next

    def add_line(self, line: Json) -> None:
        """Add a line to its log; a repeated line counts once."""
        kind, uuid, log = dig(line, "type"), dig(line, "uuid"), self.main
        attached = dig(line, "attachment", "type")
        if kind not in SENT.split() or not uuid or uuid in self.lines or attached == "hook_success":
            log.leave_out("repeated line" if uuid in self.lines else attached or kind)
            return
        if "toolUseResult" in line:
            log.leave_out("toolUseResult")
        if line.get("isSidechain"):
            log = self.side.get(line.get("parentUuid")) or Log(f"{log.name}, sub-agent {uuid[:8]}", log.form)
            self.side[uuid] = log
        self.lines[uuid] = None
        if kind == "system":
            self._boundary(log, line)
        elif kind == "assistant":
            self._reply(log, line, uuid)
        elif attached:
            log.append(_put_in(read_message({"role": "user", "content": [line["attachment"]]}, log)), call_of(line))
        else:
            self._add_message(log, line, uuid)

    def _boundary(self, log: Log, line: Json) -> None:
        if compacted := line.get("compactMetadata"):
            ends = [dig(compacted, "preservedSegment", key) for key in ("headUuid", "tailUuid")]
            named = dig(compacted, "preservedMessages", "uuids") or ends
            places = [log.at(self.lines.get(uuid)) for uuid in named]
            self.preserved = log.view[min(places) : max(places) + 1]
        elif cleared := line.get("microcompactMetadata"):
            log.clear_results(cleared.get("compactedToolIds") or ())
        else:
            log.leave_out(f"system {line.get('subtype')}")

    def _reply(self, log: Log, line: Json, uuid: str) -> None:
        """Add a block of a reply."""
        message = line["message"]
        if message.get("model") == "<synthetic>" or line.get("isApiErrorMessage"):
            log.leave_out("error shown as a reply")
            return
        key = message.get("id") or uuid
        if log_message({**line, **message}, log, key):
            self.lines[uuid] = log.entries[log.replies[key].at]

    def _add_message(self, log: Log, line: Json, uuid: str) -> None:
        """Add a message of the user, a tool or a compaction. A second prompt of one parent replaces the first."""
        entries, parent = read_message(line["message"], log), line.get("parentUuid")
        if line.get("isCompactSummary"):
            log.view = [*entries, *self.preserved]
            return
        if log is self.main and [entry["role"] for entry in entries] == ["user"] and not line.get("isMeta"):
            log.view = log.view[: log.at(self.asked.get(parent))]
            self.asked |= {parent: entries[0]} if parent else {}
        entries = _put_in(entries) if line.get("isMeta") else entries
        log.append(entries, call_of(line))
        self.lines[uuid] = log.entries[-1] if entries else None


def _put_in(entries: Sequence[Entry]) -> list[Entry]:
    """Mark messages that Claude Code adds to the user's: reminders, and the output of its own commands."""
    return [{**entry, "put_in": True} for entry in entries]
