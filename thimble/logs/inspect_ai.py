"""Inspect: a sample is a log; each `model` event has the exact prompt. Texts may be under `attachments`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thimble.logs.log import Json, Log, Values
from thimble.logs.parts import as_list, dig, log_message, read_message, schemas

ATTACHED = "attachment://"


def read(values: Values, name: str) -> list[Log]:
    """A log for each sample."""
    return [
        _log(_insert_attachments(sample, sample.get("attachments") or {}), name) for sample in _iter_samples(values)
    ]


def _iter_samples(values: Values) -> Iterator[Json]:
    for value in values:
        yield from [value] if dig(value, "input") is not None else as_list(value, "samples")


def _insert_attachments(value: Any, attachments: Json) -> Any:
    """The value with its attachments inserted."""
    if isinstance(value, str) and value.startswith(ATTACHED):
        return attachments.get(value.removeprefix(ATTACHED), value)
    if isinstance(value, list):
        return [_insert_attachments(one, attachments) for one in value]
    return (
        {key: _insert_attachments(one, attachments) for key, one in value.items()} if isinstance(value, dict) else value
    )


def _log(sample: Json, name: str) -> Log:
    log = Log(f"{name}, sample {sample.get('id')}, epoch {sample.get('epoch')}", "Inspect")
    log.leave_out_rest(sample, "events transcript attachments events_data message_pool")
    pool = sample.get("message_pool") or dig(sample, "events_data", "messages") or []
    scoring: set[object] = set()  # spans, and "step" in the logs of 2024, which have no spans
    for event in as_list(sample, "events") or as_list(sample, "transcript", "events"):
        kind, reply = event.get("event"), dig(event, "output", "choices", 0)
        scores = event.get("type") in ("scorer", "scorers")
        if kind == "span_begin" and (scores or event.get("parent_id") in scoring):
            scoring.add(event.get("id"))
        elif kind == "step" and scores:
            (scoring.add if event.get("action") == "begin" else scoring.discard)("step")
        elif kind != "model" or not reply:
            log.leave_out(f"event {kind}")
        elif event.get("role") == "grader" or "step" in scoring or event.get("span_id") in scoring:
            log.leave_out("call of a grader")
        else:
            refs = as_list(event, "input_refs")
            sent = [message for start, end in refs for message in pool[start:end]] or event["input"]
            log.set_prompt([entry for message in sent for entry in read_message(message, log)])
            log.tools = schemas(event.get("tools")) or log.tools
            log_message({**event["output"], **event, **reply["message"], "model": event.get("model")}, log)
    return log
