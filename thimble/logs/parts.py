"""Messages, calls, results and usage, under the names that the APIs and agents give them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from thimble.logs.log import Entry, Json, Log, LoggedCall, Reported, parse_time

# Alternative names of a key, separated by blanks: the first one present counts.
IDS = "tool_call_id call_id callID toolCallId tool_use_id source_call_id id"
NAMES = "name function_name tool_name function tool title type"
ARGUMENTS = "arguments input args action query"
OUTPUTS = "content output observation error rejection_reason response tools"
WORDS = "text thinking reasoning refusal summary content prompt snippet banner skills addedLines addedBlocks file"
"""Keys of a part, or of an attachment of Claude Code, that hold its words."""
ENCRYPTED = "signature thinkingSignature thoughtSignature data encrypted_content"
THINKING = "thinking reasoning redacted_thinking"
"""Types of parts that hold thinking."""
CALLS = "tool_use toolCall function_call custom_tool_call local_shell_call web_search_call tool_search_call"
RESULTS = "tool_result function_call_output custom_tool_call_output local_shell_call_output tool_search_output"
KEPT = (
    "reasoning_content reasoning reasoning_details thinking thinking_blocks redacted_thinking image images image_url "
    "input_image audio name function_call refusal"
)
"""Keys of a message that the intake reads besides its content."""
SPOKEN = f"role content tool_calls tool_call_ids {IDS} {KEPT}"
"""Keys of a message that are read."""

PROMPT = "prompt_tokens input_tokens input"
READ_BESIDE = "cache_read_input_tokens cacheRead input_tokens_cache_read read"
"""Counts that the prompt's count does not include, unless it is OpenAI's `prompt_tokens`; nor are writes included."""
READ = f"{READ_BESIDE} cached_tokens cached_input_tokens prompt_cache_hit_tokens cached cache_read_tokens"
WRITTEN = "cache_creation_input_tokens cacheWrite input_tokens_cache_write write cache_write_tokens"
OUTPUT = "completion_tokens output_tokens output"
INSIDE = "prompt_tokens_details input_tokens_details cache extra"
"""Keys of a usage under which counts may be nested."""


def dig(value: Any, *keys: str | int) -> Any:
    """The value under these nested keys, or None."""
    try:
        for key in keys:
            value = value[key]
    except (LookupError, TypeError):
        return None
    return value


def as_list(value: Any, *keys: str) -> list[Any]:
    """The list under these nested keys; [] for an empty value, and a list of one for any other."""
    value = dig(value, *keys)
    return value if isinstance(value, list) else [value] if value else []


def first_present(value: Json, names: str) -> Any:
    """The value under the first of these names, separated by blanks, that the object has; or None."""
    return next((value[name] for name in names.split() if value.get(name) is not None), None)


def read_message(message: Json, log: Log) -> list[Entry]:
    """The entries of a message: one for each tool result in it, then one for the rest, if any."""
    if message.get("role") == "tool":
        return [read_result(message, log)]
    results, calls, content = [], [*map(read_call, as_list(message, "tool_calls"))], []
    for part in as_list(message, "content"):
        if dig(part, "type") in RESULTS.split():
            results.append(read_result(part, log))
        elif dig(part, "type") in CALLS.split():
            calls.append(read_call(part))
        else:
            content += read_content(part, log)
    more = {"tool_calls": calls, **{key: message.get(key) for key in KEPT.split()}}
    entry = {"role": message.get("role"), "content": content, **{key: more[key] for key in more if more[key]}}
    return [*results, entry] if content or len(entry) > 2 else results


def log_message(message: Json, log: Log, key: object = None) -> list[Entry]:
    """Append the entries of a message to the log, and return them."""
    entries = read_message(message, log)
    log.append(entries, call_of(message), key)
    return entries


def call_of(reply: Json) -> LoggedCall:
    """Usage, model and time of a reply; of another message, its time."""
    usage, model = first_present(reply, "usage tokens metrics"), first_present(reply, "modelID model_name model")
    return LoggedCall(0, read_usage(usage), model if isinstance(model, str) else "", parse_time(reply.get("timestamp")))


def entries_of_item(item: Json, log: Log) -> list[Entry]:
    """The entries of an item of OpenAI's Responses API, which Codex logs too."""
    kind = item.get("type", "message")
    if kind in ("message", "reasoning", *CALLS.split(), *RESULTS.split()):
        return read_message(item if kind == "message" else {"role": "assistant", "content": [item]}, log)
    log.leave_out(f"item {kind}")
    return []


def entries_of_items(items: Iterable[Json], log: Log) -> list[Entry]:
    """The entries of a list of items: model output up to the next tool output or other message is one entry."""
    draft, turn = Log("", ""), 0
    for item in items:
        entries = entries_of_item(item, log)
        turn += any(entry["role"] != "assistant" for entry in entries)
        draft.append(entries, key=turn)
    return draft.entries


def read_content(content: Any, log: Log) -> list[Entry]:
    """Content as the parts that the intake reads; other parts are counted in the log."""
    taken = []
    for part in filter(None, as_list(content)):
        given = part if isinstance(part, Mapping) else {"text": str(part)}
        kind = str(given.get("type") or "text")
        name, words = "thinking" if kind in THINKING.split() else "text", _words(given)
        if "image" in kind or "inlineData" in given:
            log.leave_out("image data")
            taken.append({"type": "image"})
            continue
        for key in given.keys() & ENCRYPTED.split():
            log.leave_out(f"{kind} {key}")
        if words:
            taken.append({"type": name, name: words})
        elif name == "text" and "text" not in given:
            log.leave_out(f"part {kind}")
    return taken


def _words(value: Any) -> str:
    if isinstance(value, Mapping):  # redacted reasoning of Inspect is encrypted
        value = [value.get(key) for key in WORDS.split() if key != "reasoning" or not value.get("redacted")]
    if isinstance(value, list):
        return "\n".join(filter(None, map(_words, value)))
    return value if isinstance(value, str) else ""


def read_call(given: Json) -> Entry:
    """A tool call. The free text of a custom tool becomes its argument `input`."""
    function = given["function"] if dig(given, "function", "name") else given
    text = first_present(function, ARGUMENTS) or {}
    if given.get("type") == "custom_tool_call":
        text = {"input": text}
    named = {
        "name": str(first_present(function, NAMES)),
        "arguments": text if isinstance(text, str) else json.dumps(text, ensure_ascii=False),
    }
    return {"id": first_present(given, IDS), "type": "function", "function": named}


def read_result(given: Json, log: Log) -> Entry:
    """The result of a tool call."""
    output = first_present(given, OUTPUTS)
    if isinstance(output, Mapping):
        output = first_present(output, OUTPUTS) or json.dumps(output, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": first_present(given, IDS), "content": read_content(output, log)}


def schemas(tools: Any) -> list[Entry]:
    """Tool schemas as a chat-completions server takes them."""
    return [
        {
            "type": "function",
            "function": {
                "name": first_present(one, NAMES),
                "description": one.get("description") or "",
                "parameters": first_present(one, "parameters input_schema") or {},
            },
        }
        for one in (tool.get("function") or tool for tool in as_list(tools))
    ]


def read_usage(usage: Any) -> Reported:
    """Token counts of a usage. All zeros, as of a call that was cut off, mean that the counts are unknown."""
    known = {**(usage or {})}
    for key in INSIDE.split():
        known |= known.get(key) or {}
    prompt, read, written, output = (first_present(known, names) for names in (PROMPT, READ, WRITTEN, OUTPUT))
    if not (prompt or read or written):
        return Reported()
    if output is not None:
        output += known.get("thoughts") or 0  # of Gemini CLI, beside the output
    beside = "prompt_tokens" not in known and first_present(known, f"{READ_BESIDE} {WRITTEN}") is not None
    if prompt is not None and (not beside or known.get("total_tokens") == prompt + (output or 0)):
        prompt -= (read or 0) + (written or 0)
    return Reported(prompt, read, written, output)
