"""Inspect: a sample is a log; each `model` event holds exactly what was sent. Texts may lie under `attachments`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from thimble.logs.log import Entry, Log, Reported, seconds
from thimble.logs.parts import call, parts, schemas

ATTACHED = "attachment://"


def recognises(opening: Sequence[Any]) -> bool:
    """An object with `version`, `eval` and `samples`, or the header of a zip."""
    return bool(opening) and isinstance(opening[0], Mapping) and {"version", "eval"} <= opening[0].keys()


def read(values: Iterable[Any], name: str) -> list[Log]:
    """A log for each sample."""
    return [_Sample(sample, name).log for sample in _samples(values)]


def _samples(values: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    for value in values:
        if isinstance(value, Mapping) and "events" in value and "input" in value:
            yield value
        elif isinstance(value, Mapping):
            yield from value.get("samples") or ()


class _Sample:
    def __init__(self, sample: Mapping[str, Any], name: str) -> None:
        self.attachments = sample.get("attachments") or {}
        self.data = sample.get("events_data") or {}
        self.pool = sample.get("message_pool") or self.data.get("messages") or []
        self.log = Log(f"{name}, sample {sample.get('id')}, epoch {sample.get('epoch')}", "Inspect")
        self.log.leave_out_rest(sample, "events", "transcript", "attachments", "events_data", "message_pool")
        scoring: set[object] = set()  # spans, and "step" in the logs of 2024, which have no spans
        for event in sample.get("events") or (sample.get("transcript") or {}).get("events") or ():
            kind, scores = event.get("event"), event.get("type") in ("scorer", "scorers")
            if kind == "span_begin" and (scores or event.get("parent_id") in scoring):
                scoring.add(event.get("id"))
            elif kind == "step" and scores:
                (scoring.add if event.get("action") == "begin" else scoring.discard)("step")
            elif kind == "model":
                self._call(event, "step" in scoring or event.get("span_id") in scoring)
            else:
                self.log.leave_out(f"event {kind}", event)

    def _call(self, event: Mapping[str, Any], is_grader: bool) -> None:
        output = event.get("output") or {}
        choices = output.get("choices") or ()
        if is_grader or event.get("role") == "grader" or not choices:
            self.log.leave_out("call of a grader" if choices else "call without a reply", event)
            return
        self.log.send([*map(self._entry, self._input(event))])
        self.log.tools = schemas(event.get("tools")) or self.log.tools
        usage = _reported(output.get("usage") or {})
        self.log.reply(
            self._entry(choices[0]["message"]), usage, str(event.get("model") or ""), seconds(event.get("timestamp"))
        )

    def _input(self, event: Mapping[str, Any]) -> list[Any]:
        if refs := event.get("input_refs"):
            return [message for start, end in refs for message in self.pool[start:end]]
        return list(event.get("input") or ())

    def _entry(self, message: Mapping[str, Any]) -> Entry:
        message = self._whole(message)
        entry: Entry = {"role": message["role"], "content": parts(message.get("content"), self.log)}
        if calls := message.get("tool_calls"):
            entry["tool_calls"] = [call(one.get("id"), one.get("function"), one.get("arguments")) for one in calls]
        if message["role"] == "tool":
            entry["tool_call_id"] = message.get("tool_call_id")
        return entry

    def _whole(self, value: Any) -> Any:
        """The value with its attachments put in."""
        if isinstance(value, str) and value.startswith(ATTACHED):
            return self.attachments.get(value.removeprefix(ATTACHED), value)
        if isinstance(value, list):
            return [self._whole(one) for one in value]
        return {key: self._whole(one) for key, one in value.items()} if isinstance(value, dict) else value


def _reported(usage: Mapping[str, Any]) -> Reported:
    """Whether the input includes what was cached, the sum tells: it moved from version to version."""
    prompt, output, cached = (usage.get(key) for key in ("input_tokens", "output_tokens", "input_tokens_cache_read"))
    written = usage.get("input_tokens_cache_write")
    if prompt is not None and cached and usage.get("total_tokens") == prompt + (output or 0):
        prompt -= cached + (written or 0)
    return Reported(prompt, cached, written, output)
