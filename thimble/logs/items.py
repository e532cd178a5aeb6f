"""Items of OpenAI's Responses API, which Codex keeps too, as messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thimble.logs.log import Entry, Log
from thimble.logs.parts import CALLS, RESULTS, join, said


class Items:
    """What the model says up to the first output of a tool, or up to another's message, is one message."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.reply: Entry | None = None

    def take(self, item: Mapping[str, Any]) -> list[Entry]:
        """A new message with this item, or nothing: the item went into the newest reply, or is left out and counted."""
        kind = item.get("type", "message")
        if kind not in ("message", "reasoning", *CALLS, *RESULTS):
            self.log.leave_out(f"item {kind}", item)
            return []
        entries = said(item if kind == "message" else {"role": "assistant", "content": [item]}, self.log)
        if kind in RESULTS or item.get("role", "assistant") != "assistant":
            self.reply = None
        elif entries and self.reply:
            join(self.reply, entries[0])
            return []
        elif entries:
            self.reply = entries[0]
        return entries
