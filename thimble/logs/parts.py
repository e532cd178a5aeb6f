"""What the forms have in common: parts of a content, calls of tools, and the tokens that a provider reports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from thimble.logs.log import Entry, Log, Reported

THINKING = ("thinking", "reasoning", "redacted_thinking")
WORDS = ("text", "thinking", "reasoning", "refusal")
"""Keys of a part that hold its words."""
ENCRYPTED = ("signature", "thinkingSignature", "thoughtSignature", "data", "encrypted_content")


def parts(content: Any, log: Log) -> list[Entry]:
    """The parts of a content as the intake takes them; what cannot be taken is counted in the log."""
    taken = []
    for part in [content] if isinstance(content, str | Mapping) else content or ():
        given = part if isinstance(part, Mapping) else {"text": part}
        kind = str(given.get("type") or "text")
        words = next((given[key] for key in WORDS if isinstance(given.get(key), str)), None)
        if given.get("redacted"):
            words = given.get("summary") or ""
        for key in ENCRYPTED:
            if given.get(key) and kind != "image":
                log.leave_out(f"{kind} {key}", given[key])
        if "image" in kind or "inlineData" in given:
            log.leave_out("image data", given)
            taken.append({"type": "image"})
        elif kind in THINKING or given.get("thought") is True:
            taken += [{"type": "thinking", "thinking": words}] if words else []
        elif words is not None:
            taken.append({"type": "text", "text": words})
        else:
            log.leave_out(f"part {kind}", given)
    return taken


def blocks(role: str, content: Any, log: Log) -> tuple[Entry, list[Entry]]:
    """A message of Anthropic's API, and the results of tools among its blocks as messages of their own."""
    entry: Entry = {"role": role, "content": []}
    results = []
    listed: Any = [content] if isinstance(content, str) else content or ()
    for block in listed:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "tool_use":
            entry.setdefault("tool_calls", []).append(call(block.get("id"), block.get("name"), block.get("input")))
        elif kind == "tool_result":
            results.append(result(block.get("tool_use_id"), block.get("content"), log))
        else:
            entry["content"] += parts([block], log)
    return entry, results


def call(id_: object, name: object, arguments: object) -> Entry:
    """A call of a tool; free text becomes its arguments as it is."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": id_, "type": "function", "function": {"name": str(name), "arguments": text}}


def result(id_: object, content: Any, log: Log) -> Entry:
    """The result of a call of a tool."""
    return {"role": "tool", "tool_call_id": id_, "content": parts(content, log)}


def schemas(tools: Any) -> list[Entry]:
    """Schemas of tools as a chat-completions server takes them."""
    listed = []
    for tool in tools if isinstance(tools, list) else ():
        given = tool.get("function") or tool
        parameters = given.get("parameters") or given.get("input_schema") or {}
        function = {"name": given.get("name") or given.get("title"), "description": given.get("description") or ""}
        listed.append({"type": "function", "function": {**function, "parameters": parameters}})
    return listed


def reported(usage: Any) -> Reported:
    """Tokens as the APIs of OpenAI and Anthropic report them: only the latter's input is without the cache."""
    known = usage if isinstance(usage, Mapping) else {}
    prompt, output = known.get("prompt_tokens"), known.get("completion_tokens", known.get("output_tokens"))
    read, written = known.get("cache_read_input_tokens"), known.get("cache_creation_input_tokens")
    if prompt is None and (read is not None or written is not None):
        return Reported(known.get("input_tokens"), read, written, output)
    prompt = known.get("input_tokens") if prompt is None else prompt
    details = known.get("prompt_tokens_details") or known.get("input_tokens_details") or {}
    others = (
        details.get("cached_tokens"),
        known.get("prompt_cache_hit_tokens"),
        known.get("cached_input_tokens"),
        read,
    )
    cached = next((one for one in others if one is not None), None)
    return Reported.of_sum(prompt, cached, written, output)
