"""Codex CLI: a rollout, whose `response_item` lines are what the model was sent; `event_msg` lines say it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thimble.logs.items import Items
from thimble.logs.log import Log, Reported, seconds, take_each
from thimble.logs.parts import dig, reported

CONTEXT = ("# AGENTS.md", "<environment_context>", "<user_instructions>")
"""How messages of the user's role begin that are not the user's."""
BURST = 2.0
"""Seconds in which a fork writes down what it has of its parent."""


def recognises(opening: Sequence[Any]) -> bool:
    """A line `session_meta` with a payload."""
    return any(dig(one, "type") == "session_meta" and "payload" in one for one in opening)


def read(values: Iterable[Any], name: str) -> list[Log]:
    """The session of the file."""
    rollout = _Rollout(name)
    take_each(values, rollout.take, rollout.log)
    rollout.log.report(rollout.usages)
    return [rollout.log]


class _Rollout:
    def __init__(self, name: str) -> None:
        self.log = Log(name, "Codex")
        self.items = Items(self.log)
        self.opened = False
        self.copied_until = 0.0  # in seconds since 1970: the file of a fork begins with its parent's lines
        self.usages: list[Reported] = []
        self.total: object = None

    def take(self, line: Any) -> None:
        """Take a line."""
        kind, payload = dig(line, "type"), dig(line, "payload")
        event, time = dig(payload, "type"), seconds(dig(line, "timestamp"))
        is_copied = (time or self.copied_until) < self.copied_until
        if kind == "session_meta" and not self.opened:
            self._opened(payload)
        elif kind == "response_item":
            entries = self.items.take(payload)
            if is_copied:
                self.log.add(*entries)
            else:
                self.log.say(entries, began=time)
        elif kind == "compacted":
            self._compacted(payload)
        elif event == "thread_rolled_back":
            view = self.log.view
            asked = [at for at, entry in enumerate(view) if entry["role"] == "user" and not _is_context(entry)]
            turns = int(payload.get("num_turns") or 1)
            self.log.view = view[: asked[-turns]] if turns <= len(asked) else []
            self.items.reply = None
        elif event == "token_count" and payload.get("info"):
            info = payload["info"]
            if info.get("total_token_usage") != self.total:  # most records are written twice
                self.total = info.get("total_token_usage")
                self.usages += [] if is_copied else [reported(info.get("last_token_usage"))]
        else:
            self.log.leave_out(f"event {event}" if kind == "event_msg" else kind, line)

    def _opened(self, meta: Mapping[str, Any]) -> None:
        self.opened = True
        self.log.name = str(meta.get("id") or self.log.name)
        if meta.get("forked_from_id") or dig(meta, "source", "subagent"):
            self.copied_until = (seconds(meta.get("timestamp")) or 0) + BURST
            self.log.notes.append("A fork: calls that its parent made are context here.")
        given = meta.get("base_instructions") or meta.get("instructions")
        text = dig(given, "text") or given
        if text:
            self.log.add({"role": "system", "content": str(text)})
        else:
            self.log.notes.append("The system prompt and the tools are not in the file.")

    def _compacted(self, payload: Mapping[str, Any]) -> None:
        """The list is replaced; before there was a new one in the file, it was what the user said, and a summary."""
        self.items.reply = None
        view, items = self.log.view, payload.get("replacement_history")
        if items is None:
            said = [entry for entry in view if entry["role"] in ("user", "system", "developer")]
            self.log.view = [*said, {"role": "user", "content": str(payload.get("message") or "")}]
            return
        taken = Items(self.log)
        system = [entry for entry in view if entry["role"] == "system"]
        self.log.view = [*system, *self.log.same(entry for item in items for entry in taken.take(item))]


def _is_context(entry: Mapping[str, Any]) -> bool:
    return any(part.get("text", "").startswith(CONTEXT) for part in entry["content"])
