"""Items of OpenAI's Responses API, which Codex keeps too, as messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from thimble.logs.log import Entry, Log
from thimble.logs.parts import call, parts, result

CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output")


class Items:
    """What the model says up to the first output of a tool, or up to another's message, is one message."""

    def __init__(self, log: Log, has_system: bool = False) -> None:
        self.log = log
        self.has_system = has_system
        self.reply: Entry | None = None

    def take(self, item: Mapping[str, Any]) -> Entry | None:
        """A new message with this item, or None: the item went into the newest reply, or is left out and counted."""
        kind = item.get("type", "message")
        if kind == "message" and item.get("role") != "assistant":
            self.reply = None
            return {"role": self._role(item.get("role")), "content": parts(item.get("content"), self.log)}
        if kind in OUTPUTS:
            self.reply = None
            output = item.get("output", item.get("tools"))
            if isinstance(output, Mapping):
                output = output.get("content", json.dumps(output, ensure_ascii=False))
            return result(item.get("call_id"), output, self.log)
        if kind in CALLS:
            more: Entry = {"tool_calls": [_call(item)]}
        elif kind == "message":
            more = {"content": parts(item.get("content"), self.log)}
        elif kind == "reasoning":
            if item.get("encrypted_content"):
                self.log.leave_out("reasoning, encrypted", item["encrypted_content"])
            said = parts([*(item.get("summary") or ()), *(item.get("content") or ())], self.log)
            more = {"content": [{"type": "thinking", "thinking": part["text"]} for part in said if "text" in part]}
        else:
            self.log.leave_out(f"item {kind}", item)
            return None
        new = self.reply is None
        self.reply = self.reply or {"role": "assistant", "content": []}
        for key, value in more.items():
            self.reply[key] = [*self.reply.get(key, ()), *value]
        return self.reply if new else None

    def _role(self, role: Any) -> Any:
        """The first developer's message is the system prompt; where there is one, further ones stay in their places."""
        if role not in ("developer", "system"):
            return role or "user"
        first = not self.has_system and not any(
            entry["role"] in ("developer", "system") for entry in self.log.entries[:1]
        )
        self.has_system = True
        return role if first else "user"


def _call(item: Mapping[str, Any]) -> Entry:
    """A call, whose free text becomes an argument `input`."""
    given = item.get("arguments", item.get("input", item.get("action", item.get("query", {}))))
    free = isinstance(given, str) and item["type"] != "function_call"
    return call(
        item.get("call_id") or item.get("id"), item.get("name") or item["type"], {"input": given} if free else given
    )
