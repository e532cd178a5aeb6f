"""OpenHands: events of its first and second generation; a condensation drops events and inserts a summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thimble.logs.log import Entry, Json, Log, Reported, Values, add_each
from thimble.logs.parts import as_list, dig, first_present, log_message, read_message, read_usage, schemas

KINDS = "kind action observation"
NOT_SENT = "change_agent_state recall null agent_state_changed condensation_request loop_recovery"
"""Actions and observations that are not sent to the model verbatim."""
NOT_ARGUMENTS = "action thought security_risk confirmation_state is_confirmed"
"""Keys among the arguments of an action that are not arguments."""
COUNTS = "prompt_tokens completion_tokens cache_read_tokens cache_write_tokens"


def _events(value: Any) -> list[Any]:
    return as_list(dig(value, "history") or value)


def read(values: Values, name: str) -> list[Log]:
    """A log for each list of events; a file with an event per line is one list."""
    runs = [_Run(name)]
    for value in values:
        events, run = _events(value), runs[0]
        if events != [value]:
            run = _Run(str(dig(value, "instance_id") or f"{name}:{len(runs)}"))
            runs.append(run)
            run.log.leave_out_rest(value if isinstance(value, Mapping) else {}, "history")
        add_each(events, run.add_event, run.log)
    for run in runs:
        run.log.report(run.usages)
    return [run.log for run in runs]


class _Run:
    def __init__(self, name: str) -> None:
        self.log = Log(name, "OpenHands")
        self.calls: dict[object, object] = {}  # the ids of calls, by the id of their event; None: the last one
        self.events: list[tuple[object, list[Entry]]] = []  # each event's id and entries, as in the view
        self.used: Json = {}
        self.usages: list[Reported] = []

    def add_event(self, event: Json) -> None:
        """Add an event to the log."""
        id_, kind, before = event.get("id", len(self.events)), str(first_present(event, KINDS)), len(self.log.entries)
        response = dig(event, "tool_call_metadata", "model_response") or {}
        if kind.lower() == "condensation":
            self._condense(event.get("args") or event)
            return
        message = {} if kind in NOT_SENT.split() else (self._second if "kind" in event else self._first)(event, kind)
        shown = [event[name] for name in ("message", "extras") if event.get(name)]
        if shown or not message:
            self.log.leave_out("shown on the screen" if message else kind)
        key = event.get("llm_response_id") or response.get("id") or id_
        log_message({**response, "timestamp": event.get("timestamp"), **message}, self.log, key)
        self.events.append((id_, self.log.entries[before:]))

    def _first(self, event: Json, kind: str) -> Json:
        """The message of an event of the first generation, in which each action repeats its whole response."""
        args, metadata = event.get("args") or event, event.get("tool_call_metadata") or {}
        words, id_ = args.get("content") or event.get("message"), metadata.get("tool_call_id")
        if "observation" in event:
            id_ = id_ or self.calls.get(event.get("cause"))
            return {"role": "tool" if id_ else "user", "id": id_, "content": event.get("content")}
        if kind == "system" or event.get("source") == "user" or not self.log.entries:
            self.log.tools = schemas(args.get("tools")) or self.log.tools
            return {"role": "system" if kind == "system" else "user", "content": words}
        id_ = self.calls[event.get("id")] = self.calls[None] = id_ or f"event {len(self.events)}"
        if message := dig(metadata, "model_response", "choices", 0, "message"):
            is_told = dig(metadata, "model_response", "id") in self.log.replies
            return {} if is_told else {**message, "role": "assistant"}
        if kind == "message":
            return {"role": "assistant", "content": args.get("thought") or words}
        given = {name: args[name] for name in args if name not in NOT_ARGUMENTS.split()}
        call = {"id": id_, "name": metadata.get("function_name") or kind, "arguments": given}
        return {"role": "assistant", "content": args.get("thought"), "tool_calls": [call]}

    def _second(self, event: Json, kind: str) -> Json:
        """The message of an event of the second generation, in which each call of a response is an event."""
        if kind == "SystemPromptEvent":
            self.log.tools = schemas(event.get("tools"))
            return {"role": "system", "content": [event.get("system_prompt"), event.get("dynamic_context")]}
        if message := event.get("llm_message"):
            return {**message, "content": as_list(message, "content") + as_list(event, "extended_content")}
        if kind == "ActionEvent":
            call = event.get("tool_call") or event
            return {**event, "role": "assistant", "content": event.get("thought"), "tool_calls": [call]}
        if "tool_call_id" in event:
            return {**event, "role": "tool"}
        uses = dig(event, "value", "usage_to_metrics") or {}  # running sums: the difference from the last is one call's
        now = dig(uses.get("agent") or uses.get("default"), "accumulated_token_usage") or self.used
        usage = {name: (now.get(name) or 0) - (self.used.get(name) or 0) for name in COUNTS.split()}
        self.usages += [read_usage(usage)] if usage["prompt_tokens"] > 0 else []
        self.used = now
        return {}

    def _condense(self, given: Json) -> None:
        """Drop the forgotten events and any earlier summary, and insert the new summary at its offset."""
        start, end = given.get("forgotten_events_start_id"), given.get("forgotten_events_end_id")
        gone = {"summary", *(given.get("forgotten_event_ids") or range(start or 0, (end or -1) + 1))}
        self.events = [event for event in self.events if event[0] not in gone]
        summary, offset = given.get("summary"), given.get("summary_offset")
        if summary and offset is not None:
            self.events.insert(offset, ("summary", read_message({"role": "user", "content": summary}, self.log)))
        self.log.view = [entry for _, entries in self.events for entry in entries]
