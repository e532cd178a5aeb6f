"""ATIF, the trajectories of Harbor: a step of the agent is a call with its results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from thimble.logs.log import Json, Log, seconds, take_each
from thimble.logs.parts import dig, reported, said, schemas

ROLES = {"agent": "assistant", "system": "system"}


def recognises(opening: Sequence[Any]) -> bool:
    """An object with `steps` whose `schema_version` says ATIF."""
    return "ATIF" in str(dig(opening[0], "schema_version")) and "steps" in opening[0]


def read(values: Iterable[Any], name: str) -> list[Log]:
    """The trajectory, and a log for each of a sub-agent inside it."""
    return [_log(one, name) for value in values for one in (value, *(value.get("subagent_trajectories") or ()))]


def _log(trajectory: Json, name: str) -> Log:
    log = Log(str(trajectory.get("trajectory_id") or trajectory.get("session_id") or name), "ATIF")
    agent = trajectory.get("agent") or {}
    log.tools = schemas(agent.get("tool_definitions"))
    take_each(
        trajectory.get("steps") or (), lambda step: _take(log, {"model_name": agent.get("model_name"), **step}), log
    )
    log.leave_out_rest(trajectory, "steps subagent_trajectories")
    if then := trajectory.get("continued_trajectory_ref"):
        log.notes.append(f"It goes on in {then}.")
    return log


def _take(log: Log, step: Json) -> None:
    calls = step.get("llm_call_count", 1)
    entries = said({**step, "role": ROLES.get(step["source"], "user"), "content": step.get("message")}, log)
    if dig(step, "extra", "context_management", "type") == "compaction":
        system = [entry for entry in log.view if entry["role"] == "system"]
        log.view = [*system, *({**entry, "role": "user"} for entry in entries)]
    elif step.get("is_copied_context") or not calls:
        log.add(*entries)
    else:
        usage = reported(step.get("metrics") if calls == 1 else None)  # the sum of several calls is the usage of none
        log.say(entries, usage, step["model_name"], seconds(step.get("timestamp")))
    for one in dig(step, "observation", "results") or ():
        log.add(*said({**one, "role": "tool" if one.get("source_call_id") else "user"}, log))
