"""Logs of requests and responses of OpenAI's and Anthropic's APIs: each request is a whole prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thimble.logs.log import Entry, Json, Log, Values, key_of
from thimble.logs.parts import as_list, call_of, dig, entries_of_items, read_message, schemas


def _unwrap(value: Any, name: str) -> Json:
    """The request or the response in a value, wherever a proxy or client nests it."""
    found = dig(value, name, "body") or dig(value, f"{name}_body") or dig(value, name)
    return found if isinstance(found, Mapping) else {}


def read(values: Values, name: str) -> list[Log]:
    """A log for each conversation: a request continues one if they share a message and have as many tools."""
    exchanges = [one for value in values for one in as_list(value) if isinstance(one, Mapping)]
    if all(isinstance(one.get("timestamp"), int | float) for one in exchanges):
        exchanges.sort(key=lambda one: float(one["timestamp"]))
    logs: list[Log] = []
    answered: dict[object, Log] = {}  # by the id of a response
    for value in exchanges:
        request, response = {**value, **_unwrap(value, "request")}, _unwrap(value, "response")
        new, previous = Log(f"{name}:{len(logs) + 1}", "requests"), request.get("previous_response_id")
        sent, new.tools = _sent_messages(request, new), schemas(request.get("tools"))
        before = previous and answered.get(previous)
        log = before or next((log for log in reversed(logs) if _continues(log, sent, new)), new)
        if log is new:
            logs.append(log)
            log.notes += ["It continues from a response that is not in the file."] if previous else []
        else:
            log.left_out += new.left_out
            log.tools = new.tools or log.tools
        log.set_prompt([*(before.view if before else ()), *sent])
        message = dig(response, "choices", 0, "message") or response
        reply = entries_of_items(as_list(response, "output") or [{**message, "role": "assistant"}], log)
        log.append(reply, call_of({**request, **response}))
        if not reply:
            log.leave_out("response without a message")
        log.leave_out_rest(request, "messages raw_messages input system instructions tools request response")
        answered[response.get("id")] = log
    return logs


def _continues(log: Log, sent: Sequence[Entry], new: Log) -> bool:
    said = {key_of(entry) for entry in sent if entry["role"] != "system"}
    return len(log.tools) == len(new.tools) and not said.isdisjoint(map(key_of, log.view))


def _sent_messages(request: Json, log: Log) -> list[Entry]:
    """The messages of a request; those of OpenHands are in `raw_messages`, before it writes its tools into the text."""
    system = {"role": "system", "content": request.get("system") or request.get("instructions")}
    given = request.get("raw_messages") or request.get("messages") or request.get("input") or []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    return [*read_message(system, log), *entries_of_items(items, log)]
