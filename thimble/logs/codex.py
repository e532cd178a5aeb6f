"""Codex CLI: a rollout, whose `response_item` lines are what the model was sent; `event_msg` lines say it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thimble.logs.items import CALLS, OUTPUTS, Items
from thimble.logs.log import Log, Reported, key_of, seconds, take_each
from thimble.logs.parts import reported

DOUBLES = ("user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content")
"""Events that repeat items."""
CONTEXT = ("# AGENTS.md", "<environment_context>", "<user_instructions>")
"""How messages of the user's role begin that are not the user's."""
BURST = 2.0
"""Seconds in which a fork writes down what it has of its parent."""


def recognises(opening: Sequence[Any]) -> bool:
    """A line `session_meta`; of very old files the first line has `instructions`, and bare items follow."""
    lines = [one for one in opening if isinstance(one, Mapping)]
    if any(one.get("type") == "session_meta" and "payload" in one for one in lines):
        return True
    return bool(lines) and {"id", "timestamp", "instructions"} <= lines[0].keys()


def read(values: Iterable[Any], name: str) -> list[Log]:
    """The session of the file."""
    rollout = _Rollout(name)
    take_each(values, rollout.take, rollout.log)
    rollout.log.report(rollout.usages)
    return [rollout.log] if rollout.log.entries else []


class _Rollout:
    def __init__(self, name: str) -> None:
        self.log = Log(name, "Codex")
        self.items = Items(self.log)
        self.copied_until: float | None = (
            None  # in seconds since 1970: a sub-agent's file begins with its parent's lines
        )
        self.turns: list[int] = []  # the places of what the user said
        self.usages: list[Reported] = []
        self.total: object = None

    def take(self, line: Any) -> None:
        """Take a line."""
        kind = line.get("type") if isinstance(line, Mapping) else None
        payload = line.get("payload") if kind else None
        if kind == "session_meta" or (isinstance(line, Mapping) and "instructions" in line and not kind):
            self._opened(payload or line)
        elif kind == "response_item" and isinstance(payload, Mapping):
            self._item(payload, seconds(line.get("timestamp")))
        elif kind == "compacted" and isinstance(payload, Mapping):
            self._compacted(payload)
        elif kind == "event_msg" and isinstance(payload, Mapping):
            self._event(payload, seconds(line.get("timestamp")))
        elif kind in (*CALLS, *OUTPUTS, "reasoning") or (kind and payload is None and "role" in line):
            self._item(line, None)  # a bare item of a very old file
        else:
            self.log.leave_out(str(kind or type(line).__name__), line)

    def _opened(self, meta: Mapping[str, Any]) -> None:
        if self.log.entries or self.log.notes:
            self.log.leave_out("session_meta of the parent", meta)
            return
        self.log.name = str(meta.get("id") or self.log.name)
        source = meta.get("source")
        if meta.get("forked_from_id") or (isinstance(source, Mapping) and "subagent" in source):
            self.copied_until = (seconds(meta.get("timestamp")) or 0) + BURST
            self.log.notes.append("A fork: calls that its parent made are context here.")
        given = meta.get("base_instructions") or meta.get("instructions")
        text = given.get("text") if isinstance(given, Mapping) else given
        if isinstance(text, str) and text:
            self.log.add({"role": "system", "content": text})
        else:
            self.log.notes.append("The system prompt and the tools are not in the file.")

    def _is_copied(self, time: float | None) -> bool:
        return self.copied_until is not None and time is not None and time < self.copied_until

    def _item(self, item: Mapping[str, Any], time: float | None) -> None:
        entry = self.items.take(item)
        if entry is None:
            return
        if entry["role"] == "assistant" and not self._is_copied(time):
            self.log.reply(entry, began=time)
            return
        place = self.log.add(entry)
        words = entry["content"][0].get("text", "") if entry["content"] else ""
        if item.get("role") == "user" and not words.startswith(CONTEXT):
            self.turns.append(place)

    def _event(self, event: Mapping[str, Any], time: float | None) -> None:
        kind = event.get("type")
        if kind == "token_count" and isinstance(event.get("info"), Mapping):
            info = event["info"]
            if info.get("total_token_usage") != self.total:  # most records are written twice
                self.total = info.get("total_token_usage")
                self.usages += [] if self._is_copied(time) else [reported(info.get("last_token_usage"))]
        elif kind == "thread_rolled_back":
            turns = self.turns[-int(event.get("num_turns") or 1) :]
            del self.turns[len(self.turns) - len(turns) :]
            now = self.log.now()
            if turns and turns[0] in now:
                self.items.reply = None
                self.log.begin_context(now[: now.index(turns[0])])
        else:
            self.log.leave_out("said twice" if kind in DOUBLES else f"event {kind}", event)

    def _compacted(self, payload: Mapping[str, Any]) -> None:
        """The list is replaced: from here on a prompt begins with it."""
        self.items.reply = None
        now = self.log.now()
        items = payload.get("replacement_history")
        if items is None:
            said = [place for place in now if self.log.entries[place]["role"] in ("user", "system", "developer")]
            summary = self.log.add({"role": "user", "content": str(payload.get("message") or "")}, summary=True)
            self.log.begin_context([*said, summary])
            return
        known = {key_of(self.log.entries[place]): place for place in now}
        base = [place for place in now if self.log.entries[place]["role"] == "system"]
        taken = Items(self.log)
        for entry in filter(None, map(taken.take, items)):
            place = known.get(key_of(entry))
            base.append(self.log.add(entry, summary=True) if place is None else place)
        self.log.begin_context(base)
