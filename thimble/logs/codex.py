"""Codex CLI: a rollout whose `response_item` lines are the messages; `event_msg` lines repeat them for the screen."""

from __future__ import annotations

from thimble.logs.log import Entry, Json, Log, Reported, Values, add_each, parse_time
from thimble.logs.parts import call_of, dig, entries_of_item, entries_of_items, read_message, read_usage

CONTEXT = ("# AGENTS.md", "<")
"""Starts of user messages that Codex wrote; the second is that of a tag, such as `<environment_context>`."""
BURST = 2.0
"""Seconds within which a fork copies its parent's lines."""


def read(values: Values, name: str) -> list[Log]:
    """The session of the file."""
    rollout = _Rollout(name)
    add_each(values, rollout.add_line, rollout.log)
    rollout.log.report(rollout.usages)
    return [rollout.log]


class _Rollout:
    def __init__(self, name: str) -> None:
        self.log = Log(name, "Codex")
        self.turn = 0  # model output up to the next tool output or other message is one reply
        self.copied_until: float | None = None  # in seconds since 1970: a fork's file starts with its parent's lines
        self.usages: list[Reported] = []
        self.total: object = None

    def add_line(self, line: Json) -> None:
        """Add a line to the log."""
        kind, payload, time = dig(line, "type"), dig(line, "payload"), parse_time(dig(line, "timestamp"))
        event, is_copied = dig(payload, "type"), (time or 0) < (self.copied_until or 0)
        if kind == "session_meta" and self.copied_until is None:
            self._opened(payload)
        elif kind == "response_item":
            entries = entries_of_item(self._item(payload), self.log)
            self.turn += any(entry["role"] != "assistant" for entry in entries)
            self.log.append(entries, call_of(line), self.turn)
            if is_copied:
                self.log.calls.clear()
        elif kind == "compacted":
            self._continue_from(self._compacted(payload))
        elif event == "thread_rolled_back":
            turns = int(payload.get("num_turns") or 1)
            asked = [at for at, entry in enumerate(self.log.view) if _is_asked(entry)]
            self._continue_from(self.log.view[: min(asked[-turns:], default=None)])
        elif event == "token_count" and payload.get("info"):
            total, last = (payload["info"].get(key) for key in ("total_token_usage", "last_token_usage"))
            self.usages += [read_usage(last)] if total != self.total and not is_copied else []  # most are written twice
            self.total = total
        else:
            said_twice = str(event).startswith(("user_", "agent_"))
            self.log.leave_out("said twice" if said_twice else f"event {event}" if event else kind)

    def _opened(self, meta: Json) -> None:
        self.log.name = str(meta.get("id") or self.log.name)
        self.copied_until = 0
        if meta.get("forked_from_id") or dig(meta, "source", "subagent"):
            self.copied_until = (parse_time(meta.get("timestamp")) or 0) + BURST
            self.log.notes.append("A fork: calls that its parent made are context here.")
        if text := dig(meta, "base_instructions", "text") or meta.get("instructions"):
            self.log.add({"role": "system", "content": str(text)})

    def _item(self, item: Json) -> Json:
        """The item; a developer message other than the first becomes a user message in its place."""
        return {**item, "role": "user"} if item.get("role") == "developer" and self.log.entries else item

    def _continue_from(self, view: list[Entry]) -> None:
        self.log.view = view
        self.turn += 1

    def _compacted(self, payload: Json) -> list[Entry]:
        """The messages after a compaction. Old files do not list them: they were the user's messages and a summary."""
        system = [entry for entry in self.log.view if entry["role"] == "system"]
        items = payload.get("replacement_history")
        if items is None:
            asked = [entry for entry in self.log.view if entry["role"] == "user"]
            return [*system, *asked, *read_message({"role": "user", "content": payload.get("message")}, self.log)]
        return [*system, *self.log.reuse_equal(entries_of_items(map(self._item, items), self.log))]


def _is_asked(entry: Entry) -> bool:
    return entry["role"] == "user" and not any(part.get("text", "").startswith(CONTEXT) for part in entry["content"])
