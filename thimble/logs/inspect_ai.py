"""Inspect: a sample is a log; each `model` event holds exactly what was sent. Texts may lie under `attachments`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from thimble.logs.log import Entry, Json, Log, seconds
from thimble.logs.parts import dig, reported, said, schemas

ATTACHED = "attachment://"


def recognises(opening: Sequence[Any]) -> bool:
    """An object with `version` and `eval`: a log, or the header of one in a zip."""
    return isinstance(opening[0], Mapping) and {"version", "eval"} <= opening[0].keys()


def read(values: Iterable[Any], name: str) -> list[Log]:
    """A log for each sample."""
    return [_Sample(sample, name).log for sample in _samples(values)]


def _samples(values: Iterable[Any]) -> Iterator[Json]:
    for value in values:
        if dig(value, "input") is not None:
            yield value
        else:
            yield from dig(value, "samples") or ()


class _Sample:
    def __init__(self, sample: Json, name: str) -> None:
        self.attachments = sample.get("attachments") or {}
        self.pool = sample.get("message_pool") or dig(sample, "events_data", "messages") or []
        self.log = Log(f"{name}, sample {sample.get('id')}, epoch {sample.get('epoch')}", "Inspect")
        self.log.leave_out_rest(sample, "events transcript attachments events_data message_pool")
        scoring: set[object] = set()  # spans, and "step" in the logs of 2024, which have no spans
        for event in sample.get("events") or dig(sample, "transcript", "events") or ():
            kind, scores = event.get("event"), event.get("type") in ("scorer", "scorers")
            if kind == "span_begin" and (scores or event.get("parent_id") in scoring):
                scoring.add(event.get("id"))
            elif kind == "step" and scores:
                (scoring.add if event.get("action") == "begin" else scoring.discard)("step")
            elif kind != "model":
                self.log.leave_out(f"event {kind}", event)
            elif event.get("role") == "grader" or scoring & {"step", event.get("span_id")} - {None}:
                self.log.leave_out("call of a grader", event)
            else:
                self._call(event)

    def _call(self, event: Json) -> None:
        choices = dig(event, "output", "choices")
        if not choices:
            self.log.leave_out("call without a reply", event)
            return
        refs = event.get("input_refs") or ()
        sent = [message for start, end in refs for message in self.pool[start:end]] or event.get("input") or ()
        self.log.send([entry for message in sent for entry in self._said(message)])
        self.log.tools = schemas(event.get("tools")) or self.log.tools
        usage, began = reported(event["output"].get("usage")), seconds(event.get("timestamp"))
        self.log.say(self._said(choices[0]["message"]), usage, event.get("model"), began)

    def _said(self, message: Any) -> list[Entry]:
        return said(self._whole(message), self.log)

    def _whole(self, value: Any) -> Any:
        """The value with its attachments put in."""
        if isinstance(value, str) and value.startswith(ATTACHED):
            return self.attachments.get(value.removeprefix(ATTACHED), value)
        if isinstance(value, list):
            return [*map(self._whole, value)]
        return {key: self._whole(one) for key, one in value.items()} if isinstance(value, dict) else value
