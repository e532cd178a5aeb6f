"""OpenHands: events of its first and second generation; a condensation forgets events and puts a summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from thimble.logs.log import Entry, Log, Reported, seconds, take_each
from thimble.logs.parts import call, parts, reported, result, schemas

SILENT = ("change_agent_state", "recall", "null", "agent_state_changed", "condensation_request", "loop_recovery")
"""Actions and observations that are not sent to the model as they are."""
APART = ("thought", "security_risk", "confirmation_state", "is_confirmed")
"""What stands among the arguments of an action and is not one."""
UNKNOWN = Reported()


def recognises(opening: Sequence[Any]) -> bool:
    """Events with `action` or `observation`, or with a `kind`; or a benchmark's line with a `history` of them."""
    return any(True for value in opening[:1] for _ in _runs(value)) or any(map(_is_event, opening))


def _is_event(value: Any) -> bool:
    if not isinstance(value, Mapping) or "role" in value:
        return False
    old = isinstance(value.get("action", value.get("observation")), str)
    return old or ("source" in value and str(value.get("kind")).endswith(("Event", "Condensation")))


def _runs(value: Any) -> Iterator[Sequence[Any]]:
    listed = value.get("history") if isinstance(value, Mapping) else value
    if isinstance(listed, list) and any(map(_is_event, listed)):
        yield listed
    elif isinstance(listed, list) and all(isinstance(pair, list) for pair in listed):
        events = [event for pair in listed for event in pair]  # very old: pairs of an action and its observation
        if any(map(_is_event, events)):
            yield events


def read(values: Iterable[Any], name: str) -> list[Log]:
    """A log for each list of events; an event a line is one list."""
    runs: list[_Run] = []
    lines = _Run(name)
    for value in values:
        for number, events in enumerate(_runs(value), 1):
            id_ = value.get("instance_id") if isinstance(value, Mapping) else None
            runs.append(_Run(str(id_ or f"{name}:{len(runs) + number}")))
            take_each(events, runs[-1].take, runs[-1].log)
            if isinstance(value, Mapping):
                runs[-1].log.leave_out_rest(value, "history")
        if _is_event(value):
            take_each([value], lines.take, lines.log)
    for run in [lines, *runs]:
        run.log.report(run.usages)
    return [run.log for run in [lines, *runs] if run.log.entries]


class _Run:
    def __init__(self, name: str) -> None:
        self.log = Log(name, "OpenHands")
        self.replies: dict[object, Entry] = {}  # by the id of the model's response
        self.calls: dict[object, object] = {}  # the ids of calls, by the id of their event
        self.events: list[tuple[object, list[int]]] = []  # the places of each, in the order of the view
        self.forgotten: set[object] = set()
        self.used: Mapping[str, Any] = {}
        self.usages: list[Reported] = []

    def take(self, event: Any) -> None:
        """Take an event."""
        if not _is_event(event):
            self.log.leave_out("value that is not an event", event)
            return
        if event.get("message"):
            self.log.leave_out("shown on the screen", event["message"])
        before, id_ = len(self.log.entries), event.get("id", len(self.events))
        kind = event.get("kind") or event.get("action") or event.get("observation")
        if str(kind).lower() == "condensation":
            self._condense(event.get("args") or event)
            return
        if "kind" in event:
            self._second(event, id_)
        elif kind in SILENT:
            self.log.leave_out(str(kind), event)
        elif "observation" in event:
            self._observation(event, id_)
        else:
            self._action(event, id_, event.get("args") or event)
        self.events.append((id_, [*range(before, len(self.log.entries))]))

    def _action(self, event: Mapping[str, Any], id_: object, args: Mapping[str, Any]) -> None:
        metadata, action = event.get("tool_call_metadata") or {}, event["action"]
        response = metadata.get("model_response") or {}
        choices = response.get("choices") or ()
        if action == "system":
            self.log.tools = schemas(args.get("tools"))
            self.log.add({"role": "system", "content": str(args.get("content") or event.get("message") or "")})
        elif event.get("source") == "user" or (action == "message" and not self.log.entries):
            self.log.add({"role": "user", "content": str(args.get("content") or event.get("message") or "")})
        elif choices:
            self.calls[id_] = metadata.get("tool_call_id")
            if response.get("id") not in self.replies:
                message = choices[0].get("message") or {}
                entry = {"role": "assistant", "content": parts(message.get("content"), self.log)}
                entry |= {key: message[key] for key in ("tool_calls", "reasoning_content") if message.get(key)}
                self._reply(response.get("id"), entry, event, reported(response.get("usage")), response.get("model"))
        else:
            words = args.get("thought") or (args.get("content") if action == "message" else "") or ""
            entry = {"role": "assistant", "content": str(words)}
            if action != "message":
                self.calls[id_] = metadata.get("tool_call_id") or f"event {id_}"
                given = {key: args[key] for key in args if key not in (*APART, "action")}
                entry["tool_calls"] = [call(self.calls[id_], metadata.get("function_name") or action, given)]
            self._reply(id_, entry, event)

    def _observation(self, event: Mapping[str, Any], id_: object) -> None:
        known = (event.get("tool_call_metadata") or {}).get("tool_call_id") or self.calls.get(event.get("cause"))
        if known is None and "cause" not in event and self.calls:
            known = [*self.calls.values()][-1]
        if event.get("extras"):
            self.log.leave_out("extras", event["extras"])
        words = f"{event.get('content') or ''}{_appended((event.get('extras') or {}).get('metadata'))}"
        self.log.add(result(known, words, self.log) if known is not None else {"role": "user", "content": words})

    def _second(self, event: Mapping[str, Any], id_: object) -> None:
        """An event of the second generation."""
        kind, message = event["kind"], event.get("llm_message") or {}
        if kind == "SystemPromptEvent":
            self.log.tools = schemas(event.get("tools"))
            words = [event.get("system_prompt") or "", event.get("dynamic_context") or ""]
            self.log.add({"role": "system", "content": parts([*filter(None, words)], self.log)})
        elif kind == "MessageEvent":
            listed = [*(message.get("content") or ()), *(event.get("extended_content") or ())]
            entry = {"role": message.get("role") or "user", "content": parts(listed, self.log)}
            if entry["role"] == "assistant":
                self._reply(event.get("llm_response_id") or id_, entry, event)
            else:
                self.log.add(entry)
        elif kind == "ActionEvent":
            given, key = event.get("tool_call") or {}, event.get("llm_response_id") or id_
            self.calls[id_] = given.get("id") or event.get("tool_call_id")
            one = call(self.calls[id_], given.get("name") or event.get("tool_name"), given.get("arguments") or "{}")
            if key in self.replies:
                self.replies[key].setdefault("tool_calls", []).append(one)
                return
            entry = {"role": "assistant", "content": parts(event.get("thought"), self.log), "tool_calls": [one]}
            if event.get("reasoning_content"):
                entry["reasoning_content"] = event["reasoning_content"]
            self._reply(key, entry, event)
        elif "tool_call_id" in event or "action_id" in event:  # an observation, a refusal of the user, an error
            seen = event.get("observation") or {}
            text = seen.get("content") or event.get("error") or event.get("rejection_reason") or seen.get("output")
            self.log.add(result(event.get("tool_call_id") or self.calls.get(event.get("action_id")), text, self.log))
        else:
            self._state(event)

    def _state(self, event: Mapping[str, Any]) -> None:
        """A running sum of tokens, of which the difference to the last one is a call's."""
        self.log.leave_out(str(event["kind"]), event)
        value = event.get("value")
        uses = value.get("usage_to_metrics") if isinstance(value, Mapping) else None
        use = next((uses[key] for key in ("agent", "default") if key in uses), None) if uses else None
        now = (use or {}).get("accumulated_token_usage") or self.used
        names = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens")
        prompt, output, read, written = (int(now.get(key) or 0) - int(self.used.get(key) or 0) for key in names)
        if prompt > 0:
            self.usages.append(Reported.of_sum(prompt, read, written, output))
        self.used = now

    def _reply(
        self, key: object, entry: Entry, event: Mapping[str, Any], usage: Reported = UNKNOWN, model: object = ""
    ) -> None:
        self.replies[key] = entry
        self.log.reply(entry, usage, str(model or ""), seconds(event.get("timestamp")))

    def _condense(self, given: Mapping[str, Any]) -> None:
        """Forget events, and put the summary where it says; a summary before this one is forgotten with the rest."""
        first, last = given.get("forgotten_events_start_id"), given.get("forgotten_events_end_id")
        ids = given.get("forgotten_event_ids") or (
            range(first, last + 1) if first is not None and last is not None else ()
        )
        self.forgotten |= set(ids)
        kept = [(id_, places) for id_, places in self.events if id_ not in self.forgotten and id_ != "summary"]
        summary, offset = given.get("summary"), given.get("summary_offset")
        if summary and offset is not None:
            kept.insert(offset, ("summary", [self.log.add({"role": "user", "content": str(summary)}, summary=True)]))
        self.events = kept
        self.log.begin_context(place for _, places in kept for place in places)


def _appended(metadata: Any) -> str:
    """What OpenHands writes behind the output of a command."""
    known = metadata if isinstance(metadata, Mapping) else {}
    lines = [("working_dir", "Current working directory:"), ("py_interpreter_path", "Python interpreter:")]
    lines += [("exit_code", "Command finished with exit code")] if known.get("exit_code") != -1 else []
    told = [f"\n[{words} {known[key]}]" for key, words in lines if known.get(key) not in (None, "")]
    return f"{known.get('suffix') or ''}{''.join(told)}"
