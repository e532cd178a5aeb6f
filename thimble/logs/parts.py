"""Messages, calls, results and usage, under the names that the APIs and agents give them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from thimble.logs.log import Entry, Log, Reported
from thimble.models.chat import TAKEN

IDS = ("tool_call_id", "call_id", "callID", "toolCallId", "tool_use_id", "source_call_id", "id")
NAMES = ("name", "function_name", "function", "tool", "title", "type")
ARGUMENTS = ("arguments", "input", "args", "action", "query")
OUTPUTS = ("content", "output", "error", "response", "tools")
WORDS = ("text", "thinking", "reasoning", "refusal", "summary", "content")
"""Keys of a part that hold its words."""
ENCRYPTED = ("signature", "thinkingSignature", "thoughtSignature", "data", "encrypted_content")
THINKING = ("thinking", "reasoning", "redacted_thinking")
"""Types of parts that hold thinking."""
CALLS = ("tool_use", "toolCall", "function_call", "custom_tool_call", "local_shell_call", "web_search_call",
         "tool_search_call")  # fmt: skip
RESULTS = ("tool_result", "function_call_output", "custom_tool_call_output", "local_shell_call_output",
           "tool_search_output")  # fmt: skip
KEPT = (*map(str, TAKEN), "name", "function_call", "refusal")
"""Keys of a message that hold words beside its content, or what a server needs."""

PROMPT = ("prompt_tokens", "input_tokens", "input")
BESIDE = ("cache_read_input_tokens", "cacheRead", "input_tokens_cache_read", "read", "cache_creation_input_tokens")
"""Counts of the cache that are not in the count of the prompt, unless that is OpenAI's `prompt_tokens`."""
READ = ("cached_tokens", "cached_input_tokens", "prompt_cache_hit_tokens", "cached", "cache_read_tokens", *BESIDE[:-1])
WRITTEN = ("cacheWrite", "input_tokens_cache_write", "write", "cache_write_tokens", BESIDE[-1])
OUTPUT = ("completion_tokens", "output_tokens", "output")
INSIDE = ("prompt_tokens_details", "input_tokens_details", "cache", "extra")
"""Keys of a usage under which counts may lie."""


def dig(value: Any, *keys: str) -> Any:
    """What lies below these keys, or None."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def first(value: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """What an object has under the first of these names that it has, or None."""
    return next((value[name] for name in names if value.get(name) is not None), None)


def listed(value: Any) -> list[Any]:
    """A list as it is, nothing as an empty one, anything else as a list of it."""
    return value if isinstance(value, list) else [value] if value else []


def said(message: Mapping[str, Any], log: Log) -> list[Entry]:
    """The entries of a message: the results in it, each for itself, then what it says besides, if anything."""
    given = listed(message.get("content"))
    calls = [part for part in given if dig(part, "type") in CALLS]
    results = [part for part in given if dig(part, "type") in RESULTS]
    content = parts([part for part in given if part not in calls and part not in results], log)
    entry: Entry = {"role": message.get("role"), "content": content}
    if calls := [*(message.get("tool_calls") or ()), *calls]:
        entry["tool_calls"] = [*map(call, calls)]
    entry |= {key: message[key] for key in KEPT if message.get(key)}
    is_empty = not content and len(entry) == 2
    if entry["role"] == "tool":
        entry["tool_call_id"], is_empty = first(message, IDS), False
    return [*(result(part, log) for part in results), *([] if is_empty else [entry])]


def join(entry: Entry, more: Entry) -> None:
    """Add what a further piece of the same message says."""
    for key in ("content", "tool_calls"):
        if more.get(key):
            entry[key] = [*entry.get(key, ()), *more[key]]


def parts(content: Any, log: Log) -> list[Entry]:
    """The parts of a content as the intake takes them; what cannot be taken is counted in the log."""
    taken = []
    for part in listed(content):
        given = part if isinstance(part, Mapping) else {"text": str(part)}
        kind = str(given.get("type") or "text")
        words = _words({"summary": given.get("summary")} if given.get("redacted") else given)
        for key in ENCRYPTED:
            if given.get(key) and kind != "image":
                log.leave_out(f"{kind} {key}", given[key])
        if "image" in kind or "inlineData" in given:
            log.leave_out("image data", given)
            taken.append({"type": "image"})
        elif words:
            name = "thinking" if kind in THINKING else "text"
            taken.append({"type": name, name: words})
        elif kind not in THINKING and given.get("text") is None:
            log.leave_out(f"part {kind}", given)
    return taken


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        value = [value.get(key) for key in WORDS]
    return (
        "\n".join(filter(None, map(_words, value)))
        if isinstance(value, list)
        else value
        if isinstance(value, str)
        else ""
    )


def call(given: Mapping[str, Any]) -> Entry:
    """A call of a tool. Free text is an argument."""
    function = given["function"] if isinstance(given.get("function"), Mapping) else given
    key = next((key for key in ARGUMENTS if function.get(key)), "arguments")
    text = function.get(key) or {}
    if not isinstance(text, str) or key != "arguments":
        text = json.dumps({key: text} if isinstance(text, str) else text, ensure_ascii=False)
    return {
        "id": first(given, IDS),
        "type": "function",
        "function": {"name": str(first(function, NAMES)), "arguments": text},
    }


def result(given: Mapping[str, Any], log: Log) -> Entry:
    """The result of a call of a tool."""
    output = first(given, OUTPUTS)
    if isinstance(output, Mapping):
        output = first(output, OUTPUTS) or json.dumps(output, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": first(given, IDS), "content": parts(output, log)}


def schemas(tools: Any) -> list[Entry]:
    """Schemas of tools as a chat-completions server takes them."""
    functions = [tool.get("function") or tool for tool in listed(tools)]
    names = ("parameters", "input_schema")
    return [
        {
            "type": "function",
            "function": {
                "name": first(one, NAMES),
                "description": one.get("description") or "",
                "parameters": first(one, names) or {},
            },
        }
        for one in functions
    ]


def reported(usage: Any) -> Reported:
    """Tokens as a provider or an agent reports them. A call that was broken off has zeros, which are not known."""
    known = {**(usage or {})}
    for key in INSIDE:
        known |= known.get(key) or {}
    prompt, read, written, output = (first(known, names) for names in (PROMPT, READ, WRITTEN, OUTPUT))
    if not (prompt or read or written):
        return Reported()
    if output is not None:
        output += known.get("thoughts") or 0  # of Gemini CLI, beside the output
    is_sum = "prompt_tokens" in known or first(known, BESIDE) is None
    if is_sum or known.get("total_tokens") == (prompt or 0) + (output or 0):
        prompt = None if prompt is None else prompt - (read or 0) - (written or 0)
    return Reported(prompt, read, written, output)
