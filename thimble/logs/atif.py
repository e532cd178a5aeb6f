"""ATIF, the trajectories of Harbor: a step of the agent is a call with its results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thimble.logs.log import Entry, Log, Reported, seconds, take_each
from thimble.logs.parts import call, parts, result, schemas


def recognises(opening: Sequence[Any]) -> bool:
    """An object with `steps` whose `schema_version` says ATIF."""
    first = opening[0] if opening else None
    return isinstance(first, Mapping) and "steps" in first and str(first.get("schema_version")).startswith("ATIF")


def read(values: Iterable[Any], name: str) -> list[Log]:
    """The trajectory, and a log for each of a sub-agent inside it."""
    logs = []
    for value in values:
        inner = value.get("subagent_trajectories") or ()
        logs += [_log(value, name), *(_log(one, f"{name}, sub-agent {at}") for at, one in enumerate(inner, 1))]
    return [log for log in logs if log.entries]


def _log(trajectory: Mapping[str, Any], name: str) -> Log:
    log = Log(str(trajectory.get("trajectory_id") or trajectory.get("session_id") or name), "ATIF")
    agent = trajectory.get("agent") or {}
    log.tools = schemas(agent.get("tool_definitions"))
    take_each(trajectory.get("steps") or (), lambda step: _take(log, step, str(agent.get("model_name") or "")), log)
    log.leave_out_rest(trajectory, "steps", "subagent_trajectories")
    if then := trajectory.get("continued_trajectory_ref"):
        log.notes.append(f"It goes on in {then}.")
    return log


def _take(log: Log, step: Mapping[str, Any], model: str) -> None:
    source, extra = step.get("source"), step.get("extra") or {}
    entry: Entry = {"role": {"agent": "assistant", "system": "system"}.get(str(source), "user")}
    entry["content"] = parts(step.get("message"), log)
    if (extra.get("context_management") or {}).get("type") == "compaction":
        system = [place for place in log.now() if log.entries[place]["role"] == "system"]
        log.begin_context([*system, log.add({**entry, "role": "user"}, summary=True)])
        return
    if source != "agent":
        log.add(entry)
    else:
        if step.get("reasoning_content"):
            entry["reasoning_content"] = step["reasoning_content"]
        if calls := step.get("tool_calls"):
            entry["tool_calls"] = [
                call(c.get("tool_call_id"), c.get("function_name"), c.get("arguments")) for c in calls
            ]
        if step.get("is_copied_context") or step.get("llm_call_count") == 0:
            log.add(entry)
        else:
            log.reply(entry, _reported(log, step), str(step.get("model_name") or model), seconds(step.get("timestamp")))
    for one in (step.get("observation") or {}).get("results") or ():
        if one.get("source_call_id"):
            log.add(result(one["source_call_id"], one.get("content"), log))
        else:
            log.add({"role": "user", "content": parts(one.get("content"), log)})


def _reported(log: Log, step: Mapping[str, Any]) -> Reported:
    """Its prompt includes what was cached. A sum of several calls is the usage of none."""
    metrics, calls = step.get("metrics") or {}, step.get("llm_call_count") or 1
    if calls > 1:
        log.notes.append(f"Step {step.get('step_id')} is {calls} calls, and its usage is their sum.")
        return Reported()
    written = (metrics.get("extra") or {}).get("cache_creation_input_tokens")
    prompt, cached = metrics.get("prompt_tokens"), metrics.get("cached_tokens")
    return Reported.of_sum(prompt, cached, written, metrics.get("completion_tokens"))
