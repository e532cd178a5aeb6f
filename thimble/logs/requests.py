"""Logs of requests and responses of OpenAI's and Anthropic's APIs: each request is what was sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thimble.logs.items import Items
from thimble.logs.log import Entry, Log, key_of, seconds
from thimble.logs.parts import dig, listed, reported, said, schemas

REQUESTS = ("request", "request_body", "body", "kwargs")
RESPONSES = ("response", "response_body")


def recognises(opening: Sequence[Any]) -> bool:
    """A request with `messages` or `input` and its response, or requests of the Responses API."""
    value = next(iter(listed(opening[0])), None)
    request = _request(value)
    with_response = _object(value, RESPONSES) and {"messages", "input"} & request.keys()
    return bool(with_response) or {"model", "input"} <= request.keys()


def _object(value: Any, keys: Sequence[str]) -> Mapping[str, Any]:
    """The object below the first of these keys that has one, as JSON or as a text of it; or the `body` of that."""
    for found in (dig(value, key) for key in keys):
        if isinstance(found, str) and found.startswith("{"):
            found = json.loads(found)
        if isinstance(found, Mapping):
            return _object(found, ("body",)) or found
    return {}


def _request(value: Any) -> Mapping[str, Any]:
    found = _object(value, REQUESTS)
    return found if {"messages", "input"} & found.keys() else value if isinstance(value, Mapping) else {}


def read(values: Iterable[Any], name: str) -> list[Log]:
    """A log for each conversation: a request goes on with one if they have a message in common, and the same tools."""
    chains = _Chains(name)
    exchanges = [one for value in values for one in listed(value) if isinstance(one, Mapping)]
    if all(isinstance(one.get("timestamp"), int | float) for one in exchanges):
        exchanges.sort(key=lambda one: float(one["timestamp"]))
    for one in exchanges:
        chains.take(one)
    return chains.logs


class _Chains:
    def __init__(self, name: str) -> None:
        self.name = name
        self.logs: list[Log] = []
        self.by_response: dict[object, Log] = {}

    def take(self, value: Mapping[str, Any]) -> None:
        """Take a request with its response."""
        request, response = _request(value), _object(value, RESPONSES)
        if value.get("raw_messages"):  # OpenHands, where the model has no calls of its own: these are before that
            request = {**request, "messages": value["raw_messages"]}
        draft = Log("", "")
        sent = _sent(request, draft)
        tools = schemas(request.get("tools") or value.get("tools"))
        log = self._log(sent, tools, request.get("previous_response_id"))
        log.left_out += draft.left_out
        log.bytes_left_out += draft.bytes_left_out
        log.leave_out_rest(request, "messages", "input", "system", "instructions", "tools", "response")
        log.send([*log.view, *sent] if request.get("previous_response_id") in self.by_response else sent)
        log.tools = tools or log.tools
        reply = _reply(response, log)
        if not reply:
            log.leave_out("response that is not one of an API", response)
        model = response.get("model") or request.get("model")
        log.say(reply, reported(response.get("usage")), model, seconds(value.get("timestamp")))
        self.by_response[response.get("id")] = log

    def _log(self, sent: Sequence[Entry], tools: Sequence[Any], previous: object) -> Log:
        keys = {key_of(entry) for entry in sent if entry["role"] != "system"}
        for log in reversed(self.logs):
            if len(log.tools) == len(tools) and previous is None and not keys.isdisjoint(map(key_of, log.view)):
                return log
        if previous in self.by_response:
            return self.by_response[previous]
        log = Log(f"{self.name}:{len(self.logs) + 1}", "requests")
        if previous is not None:
            log.notes.append("It goes on from a response that is not in the file: what came before is not known.")
        self.logs.append(log)
        return log


def _sent(request: Mapping[str, Any], log: Log) -> list[Entry]:
    """The messages of a request."""
    system = {"role": "system", "content": request.get("system") or request.get("instructions")}
    given = request.get("input")
    if given is None:
        return [entry for one in (system, *(request.get("messages") or ())) for entry in said(one, log)]
    items = Items(log)
    given = [{"role": "user", "content": given}] if isinstance(given, str) else given
    return [*said(system, log), *(entry for item in given for entry in items.take(item))]


def _reply(response: Mapping[str, Any], log: Log) -> list[Entry]:
    """The reply in a response, if it is one of an API."""
    items = Items(log)
    taken = [entry for item in response.get("output") or () for entry in items.take(item)]
    message = response["choices"][0]["message"] if response.get("choices") else response
    return taken[:1] or said({**message, "role": "assistant"}, log)
