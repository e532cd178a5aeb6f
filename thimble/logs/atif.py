"""ATIF, the trajectories of Harbor: a step of the agent is a call with its results."""

from __future__ import annotations

from thimble.logs.log import Json, Log, Values, add_each
from thimble.logs.parts import as_list, dig, first_present, log_message, read_message, schemas

ROLES = {"agent": "assistant", "system": "system"}


def read(values: Values, name: str) -> list[Log]:
    """A log of the trajectory, and one of each sub-agent's trajectory inside it."""
    return [_log(one, name) for value in values for one in (value, *as_list(value, "subagent_trajectories"))]


def _log(trajectory: Json, name: str) -> Log:
    log = Log(str(first_present(trajectory, "trajectory_id session_id") or name), "ATIF")
    log.tools, model = schemas(dig(trajectory, "agent", "tool_definitions")), dig(trajectory, "agent", "model_name")
    add_each(as_list(trajectory, "steps"), lambda step: _add_step(log, {"model": model, **step}), log)
    log.leave_out_rest(trajectory, "steps subagent_trajectories")
    if then := trajectory.get("continued_trajectory_ref"):
        log.notes.append(f"It continues in {then}.")
    return log


def _add_step(log: Log, step: Json) -> None:
    calls = step.get("llm_call_count", 1)
    message = {**step, "role": ROLES.get(step["source"], "user"), "content": step.get("message")}
    if dig(step, "extra", "context_management", "type") == "compaction":
        system = [entry for entry in log.view if entry["role"] == "system"]
        log.view = [*system, *read_message({**message, "role": "user"}, log)]
    elif step.get("is_copied_context") or not calls:
        log.add(*read_message(message, log))
    else:  # usage summed over several calls is not that of one
        log_message(message if calls == 1 else {**message, "metrics": None}, log)
    for one in as_list(step, "observation", "results"):
        log_message({**one, "role": "tool" if one.get("source_call_id") else "user"}, log)
