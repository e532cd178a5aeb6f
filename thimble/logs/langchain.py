"""LangChain's messages, as they are dumped in three ways, and the runs of LangSmith."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from thimble.logs.log import Entry, Log, Reported, seconds
from thimble.logs.parts import blocks, call

ROLES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
SPOKEN = {**ROLES, "user": "user", "assistant": "assistant"}
"""Roles of the messages that LangSmith keeps of other clients."""


def recognises(opening: Sequence[Any]) -> bool:
    """A message of type human, ai, system or tool, a list of them, or a run with `run_type`."""
    return any(True for _ in _runs([*opening])) or any(True for value in opening[:1] for _ in _messages(value))


def read(values: Iterable[Any], name: str) -> list[Log]:
    """A log for the model's calls of the runs, else one for each list of messages; a message a line is one list."""
    listed = [*values]
    runs = sorted(_runs(listed), key=lambda run: str(run.get("start_time")))
    if runs:
        return [_calls(runs, name)]
    if not any(isinstance(value, list) or "messages" in value for value in listed):
        listed = [listed]
    logs = [_state(value, f"{name}:{at}") for at, value in enumerate(listed, 1)]
    return [log for log in logs if log.entries]


def _runs(value: Any) -> Iterator[Mapping[str, Any]]:
    """The runs of a model; those above them say the same again."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, Mapping) and one.get("run_type") == "llm":
            yield one
        elif isinstance(one, Mapping | list):
            yield from _runs(one.get("child_runs") or [] if isinstance(one, Mapping) else one)


def _messages(value: Any) -> Iterator[Mapping[str, Any]]:
    """The messages in a value, however it wraps them, each with its `type`."""
    if isinstance(value, list):
        for one in value:
            yield from _messages(one)
    elif isinstance(value, Mapping) and value.get("lc") and isinstance(value.get("id"), list) and value["id"]:
        kind = str(value["id"][-1]).removesuffix("Chunk").removesuffix("Message").lower()
        yield {**(value["kwargs"] if isinstance(value.get("kwargs"), Mapping) else {}), "type": kind}
    elif isinstance(value, Mapping) and str(value.get("type")) in ROLES and ("content" in value or "data" in value):
        yield {**(value["data"] if isinstance(value.get("data"), Mapping) else value), "type": value["type"]}
    elif isinstance(value, Mapping) and isinstance(value.get("messages"), list):
        yield from _messages(value["messages"])


def _sent(run: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    """The messages of the inputs or outputs of a run, those of other clients too."""
    value = run.get(key) or {}
    found = [*_messages([value, *(one.get("message") for one in _generations(value))])]
    if found or not isinstance(value, Mapping):
        yield from found
        return
    for one in [*(value.get("messages") or ()), *(choice.get("message") for choice in value.get("choices") or ())]:
        if isinstance(one, Mapping) and str(one.get("role")) in SPOKEN:
            calls = [{"id": c.get("id"), "function": c.get("function")} for c in one.get("tool_calls") or ()]
            yield {**one, "type": one["role"], "tool_calls": None, "additional_kwargs": {"tool_calls": calls}}


def _calls(runs: Sequence[Mapping[str, Any]], name: str) -> Log:
    log = Log(name, "LangChain")
    for run in runs:
        log.leave_out_rest(run, "inputs", "outputs", "child_runs")
        log.send([entry for message in _sent(run, "inputs") for entry in _entries(message, log)])
        for message in [*_sent(run, "outputs")][:1]:
            usage = {"usage_metadata": (run.get("outputs") or {}).get("usage_metadata")}
            _add(log, {**usage, **message}, seconds(run.get("start_time")))
    return log


def _generations(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping) and "message" in value:
        yield value
    for one in value if isinstance(value, list) else (value or {}).get("generations") or ():
        yield from _generations(one)


def _state(value: Any, name: str) -> Log:
    log = Log(name, "LangChain")
    log.notes.append("What was removed between two calls is not in the file.")
    for message in _messages(value):
        _add(log, message)
    return log


def _add(log: Log, message: Mapping[str, Any], began: float | None = None) -> None:
    for entry in _entries(message, log):
        if entry["role"] == "assistant":
            log.reply(entry, _reported(message.get("usage_metadata") or {}), began=began)
        else:
            log.add(entry)


def _entries(message: Mapping[str, Any], log: Log) -> list[Entry]:
    content = message.get("content")
    listed = content if isinstance(content, list) else [content] if content else []
    words = [one for one in listed if not (isinstance(one, Mapping) and one.get("type") == "tool_use")]  # said twice
    entry, results = blocks(SPOKEN.get(str(message["type"]), "user"), words, log)
    old = (message.get("additional_kwargs") or {}).get("tool_calls") or []
    if calls := message.get("tool_calls"):
        entry["tool_calls"] = [call(one.get("id"), one.get("name"), one.get("args")) for one in calls]
    elif old:
        entry["tool_calls"] = old
    if entry["role"] == "tool":
        entry["tool_call_id"] = message.get("tool_call_id")
    return [*results, entry]


def _reported(usage: Mapping[str, Any]) -> Reported:
    """Its input is the sum of all kinds."""
    details, prompt = usage.get("input_token_details") or {}, usage.get("input_tokens")
    return Reported.of_sum(prompt, details.get("cache_read"), details.get("cache_creation"), usage.get("output_tokens"))
