"""OpenHands: events of its first and second generation; a condensation forgets events and puts a summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thimble.logs.log import Entry, Log, Reported, seconds, take_each
from thimble.logs.parts import dig, join, listed, reported, result, said, schemas

SILENT = ("change_agent_state", "recall", "null", "agent_state_changed", "condensation_request", "loop_recovery")
"""Actions and observations that are not sent to the model as they are."""
APART = ("action", "thought", "security_risk", "confirmation_state", "is_confirmed")
"""What stands among the arguments of an action and is not one."""
COUNTS = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens")


def recognises(opening: Sequence[Any]) -> bool:
    """Events with `action` or `observation`, or with a `kind`; or a benchmark's line with a `history` of them."""
    return any(_is_event(event) for value in opening for event in _events(value))


def _events(value: Any) -> list[Any]:
    return listed(dig(value, "history") or value)


def _is_event(value: Any) -> bool:
    if not isinstance(value, Mapping) or "role" in value:
        return False
    first = isinstance(value.get("action", value.get("observation")), str)
    return first or ("source" in value and str(value.get("kind")).endswith(("Event", "Condensation")))


def read(values: Iterable[Any], name: str) -> list[Log]:
    """A log for each list of events; an event a line is one list."""
    runs = [_Run(name)]
    for value in values:
        if isinstance(value, list) or "history" in value:
            runs.append(_Run(str(dig(value, "instance_id") or f"{name}:{len(runs)}")))
            take_each(_events(value), runs[-1].take, runs[-1].log)
        else:
            take_each([value], runs[0].take, runs[0].log)
        if "history" in value:
            runs[-1].log.leave_out_rest(value, "history")
    for run in runs:
        run.log.report(run.usages)
    return [run.log for run in runs]


class _Run:
    def __init__(self, name: str) -> None:
        self.log = Log(name, "OpenHands")
        self.replies: dict[object, Entry] = {}  # by the id of the model's response
        self.calls: dict[object, object] = {}  # the ids of calls, by the id of their event
        self.events: list[tuple[object, list[Entry]]] = []  # what each said, in the order of the view
        self.forgotten: set[object] = set()
        self.used: Mapping[str, Any] = {}
        self.usages: list[Reported] = []

    def take(self, event: Any) -> None:
        """Take an event."""
        before, id_ = len(self.log.entries), event.get("id", len(self.events))
        kind = event.get("kind") or event.get("action") or event.get("observation")
        if event.get("message"):
            self.log.leave_out("shown on the screen", event["message"])
        if str(kind).lower() == "condensation":
            self._condense(event.get("args") or event)
            return
        if "kind" in event:
            self._second(event, id_)
        elif kind in SILENT:
            self.log.leave_out(kind, event)
        elif "observation" in event:
            self._observation(event)
        else:
            self._action(event, id_, event.get("args") or event)
        self.events.append((id_, self.log.entries[before:]))

    def _action(self, event: Mapping[str, Any], id_: object, args: Mapping[str, Any]) -> None:
        metadata, action = event.get("tool_call_metadata") or {}, event["action"]
        words = args.get("content") or event.get("message") or ""
        response = metadata.get("model_response") or {}
        if action == "system" or event.get("source") == "user" or (action == "message" and not self.log.entries):
            self.log.tools = schemas(args.get("tools")) or self.log.tools
            self.log.add({"role": "system" if action == "system" else "user", "content": str(words)})
        elif response.get("choices"):
            self.calls[id_] = metadata.get("tool_call_id")
            if response.get("id") not in self.replies:
                self._reply(response.get("id"), event, response["choices"][0].get("message") or {}, response)
        else:
            message = {"content": args.get("thought") or (words if action == "message" else "")}
            if action != "message":
                self.calls[id_] = metadata.get("tool_call_id") or f"event {id_}"
                given = {key: args[key] for key in args if key not in APART}
                name = metadata.get("function_name") or action
                message["tool_calls"] = [{"id": self.calls[id_], "name": name, "arguments": given}]
            self._reply(id_, event, message)

    def _observation(self, event: Mapping[str, Any]) -> None:
        last = [None, *self.calls.values()][-1] if "cause" not in event else None
        known = dig(event, "tool_call_metadata", "tool_call_id") or self.calls.get(event.get("cause"), last)
        if event.get("extras"):
            self.log.leave_out("extras", event["extras"])
        message = {"content": event.get("content"), "role": "user" if known is None else "tool", "id": known}
        self.log.add(*said(message, self.log))

    def _second(self, event: Mapping[str, Any], id_: object) -> None:
        """An event of the second generation."""
        kind, key = event["kind"], event.get("llm_response_id") or id_
        if kind == "SystemPromptEvent":
            self.log.tools = schemas(event.get("tools"))
            words = [event.get("system_prompt") or "", event.get("dynamic_context") or ""]
            self.log.add(*said({"role": "system", "content": [*filter(None, words)]}, self.log))
        elif kind == "MessageEvent":
            message = event["llm_message"]
            content = [*(message.get("content") or ()), *(event.get("extended_content") or ())]
            if message.get("role") == "assistant":
                self._reply(key, event, {**message, "content": content})
            else:
                self.log.add(*said({**message, "content": content}, self.log))
        elif kind == "ActionEvent":
            given = {"id": event.get("tool_call_id"), "name": event.get("tool_name"), **(event.get("tool_call") or {})}
            self.calls[id_] = given["id"]
            message = {"content": event.get("thought"), "reasoning_content": event.get("reasoning_content")}
            self._reply(key, event, {**message, "tool_calls": [given]})
        elif "tool_call_id" in event or "action_id" in event:  # an observation, a refusal of the user, an error
            text = event.get("observation") or event.get("error") or event.get("rejection_reason")
            id_ = event.get("tool_call_id") or self.calls.get(event.get("action_id"))
            self.log.add(result({"id": id_, "content": text}, self.log))
        else:
            self.log.leave_out(kind, event)
            self._count(dig(event, "value", "usage_to_metrics") or {})

    def _count(self, uses: Mapping[str, Any]) -> None:
        """Running sums of tokens, of which the difference to the last one is a call's."""
        now = dig(uses.get("agent") or uses.get("default"), "accumulated_token_usage") or self.used
        usage = {name: (now.get(name) or 0) - (self.used.get(name) or 0) for name in COUNTS}
        self.usages += [reported(usage)] if usage["prompt_tokens"] > 0 else []
        self.used = now

    def _reply(
        self, key: object, event: Mapping[str, Any], message: Mapping[str, Any], response: Mapping[str, Any] = {}
    ) -> None:
        for entry in said({**message, "role": "assistant"}, self.log):
            if key in self.replies:
                join(self.replies[key], entry)
            else:
                self.replies[key] = entry
                self.log.say(
                    [entry], reported(response.get("usage")), response.get("model"), seconds(event.get("timestamp"))
                )

    def _condense(self, given: Mapping[str, Any]) -> None:
        """Forget events, and put the summary where it says; a summary before this one is forgotten with the rest."""
        start, end = given.get("forgotten_events_start_id"), given.get("forgotten_events_end_id")
        self.forgotten |= {"summary", *(given.get("forgotten_event_ids") or range(start or 0, (end or -1) + 1))}
        self.events = [event for event in self.events if event[0] not in self.forgotten]
        summary, offset = given.get("summary"), given.get("summary_offset")
        if summary and offset is not None:
            self.events.insert(offset, ("summary", [{"role": "user", "content": str(summary)}]))
        self.log.view = [entry for _, entries in self.events for entry in entries]
