"""Logs of requests and responses of OpenAI's and Anthropic's APIs: each request is what was sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thimble.logs.items import Items
from thimble.logs.log import Entry, Log, key_of, seconds
from thimble.logs.parts import blocks, parts, reported, schemas

REQUESTS = ("request", "request_body", "body", "kwargs")
RESPONSES = ("response", "response_body")
KEPT = ("name", "reasoning_content", "reasoning", "thinking_blocks", "function_call", "refusal")
"""Keys of a message that hold words beside its content, or what a server needs."""


def recognises(opening: Sequence[Any]) -> bool:
    """A request with `messages` or `input` and its response, or requests of the Responses API."""
    first = opening[0] if opening else None
    listed = first if isinstance(first, list) else [first]
    return bool(listed) and isinstance(listed[0], Mapping) and _is_exchange(listed[0])


def _is_exchange(value: Mapping[str, Any]) -> bool:
    request = _request(value)
    return (
        bool(_response(value) and ("messages" in request or "input" in request)) or {"model", "input"} <= request.keys()
    )


def _request(value: Mapping[str, Any]) -> Mapping[str, Any]:
    found = [_object(value.get(key)) for key in REQUESTS]
    return next((one.get("body") or one for one in found if one.keys() & {"messages", "input", "body"}), value)


def _response(value: Mapping[str, Any]) -> Mapping[str, Any]:
    found = next(filter(None, (_object(value.get(key)) for key in RESPONSES)), {})
    return _object(found.get("body")) or found


def _object(value: Any) -> Mapping[str, Any]:
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, Mapping) else {}


def read(values: Iterable[Any], name: str) -> list[Log]:
    """A log for each conversation: a request goes on with one if they have a message in common, and the same tools."""
    chains = _Chains(name)
    listed = [one for value in values for one in (value if isinstance(value, list) else [value])]
    if all(isinstance(one, Mapping) and isinstance(one.get("timestamp"), int | float) for one in listed):
        listed.sort(key=lambda one: float(one["timestamp"]))
    for value in listed:
        if isinstance(value, Mapping):
            chains.take(value)
    return [log for log in chains.logs if log.entries]


class _Chains:
    def __init__(self, name: str) -> None:
        self.name = name
        self.logs: list[Log] = []
        self.by_response: dict[object, Log] = {}

    def take(self, value: Mapping[str, Any]) -> None:
        """Take a request with its response."""
        request, response = _request(value), _response(value)
        if value.get("raw_messages"):  # OpenHands, where the model has no calls of its own: these are before that
            request = {**request, "messages": value["raw_messages"]}
        draft = Log("", "")
        entries = _sent(request, draft)
        tools = schemas(request.get("tools") or value.get("tools"))
        log = self._log(entries, tools, request.get("previous_response_id"))
        for kind, count in draft.left_out.items():
            log.left_out[kind] += count
            log.bytes_left_out[kind] += draft.bytes_left_out[kind]
        log.leave_out_rest(request, "messages", "input", "system", "instructions", "tools", "response")
        if request.get("previous_response_id") in self.by_response:
            entries = [*(log.entries[place] for place in log.now()), *entries]
        log.send(entries)
        log.tools = tools or log.tools
        reply = _reply(response, log)
        if reply is None:
            log.leave_out("response that is not one of an API", response)
            return
        model = str(response.get("model") or request.get("model") or "")
        log.reply(reply, reported(response.get("usage")), model, seconds(value.get("timestamp")))
        self.by_response[response.get("id")] = log

    def _log(self, entries: Sequence[Entry], tools: Sequence[Any], previous: object) -> Log:
        if previous is not None and previous in self.by_response:
            return self.by_response[previous]
        said = {key_of(entry) for entry in entries if entry["role"] != "system"}
        for log in reversed(self.logs):
            if (
                previous is None
                and said & {key_of(log.entries[place]) for place in log.now()}
                and len(log.tools) == len(tools)
            ):
                return log
        log = Log(f"{self.name}:{len(self.logs) + 1}", "requests")
        if previous is not None:
            log.notes.append("It goes on from a response that is not in the file: what came before is not known.")
        self.logs.append(log)
        return log


def _sent(request: Mapping[str, Any], log: Log) -> list[Entry]:
    """The messages of a request."""
    system = request.get("system") or request.get("instructions")
    entries: list[Entry] = [{"role": "system", "content": parts(system, log)}] if system else []
    given = request.get("input")
    if given is not None:
        items = Items(log, has_system=bool(system))
        listed = [{"role": "user", "content": given}] if isinstance(given, str) else given
        return [*entries, *filter(None, map(items.take, listed))]
    for message in request.get("messages") or ():
        entries += _entries(message, log)
    return entries


def _entries(message: Mapping[str, Any], log: Log) -> list[Entry]:
    """A message without what a reply says of itself beside its words, so that it is equal when it is sent again."""
    entry, results = blocks(str(message.get("role")), message.get("content"), log)
    if message.get("tool_calls"):
        functions = [(one.get("id"), one.get("function") or {}) for one in message["tool_calls"]]
        entry["tool_calls"] = [
            {"id": id_, "type": "function", "function": dict(function)} for id_, function in functions
        ]
    entry |= {key: message[key] for key in KEPT if message.get(key)}
    if entry["role"] == "tool":
        entry["tool_call_id"] = message.get("tool_call_id")
    return [*results, *([entry] if entry["content"] or len(entry) > 2 or not results else [])]


def _reply(response: Mapping[str, Any], log: Log) -> Entry | None:
    choices = response.get("choices") or ()
    if choices:
        return _entries(choices[0].get("message") or {}, log)[0] | {"role": "assistant"}
    if "output" in response:
        items = Items(log)
        return next(filter(None, [items.take(item) for item in response["output"]]), None)
    if "content" in response:
        return blocks("assistant", response["content"], log)[0]
    return None
