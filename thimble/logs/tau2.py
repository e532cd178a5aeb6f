"""tau2-bench: simulations of an agent and a user, who is a model too and has calls of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thimble.agent.errors import UsageError
from thimble.logs.log import Log, seconds
from thimble.logs.parts import call, parts, reported, result


def recognises(opening: Sequence[Any]) -> bool:
    """Results with `tasks` and `simulations`, or a simulation with `termination_reason`."""
    first = opening[0] if opening else None
    return isinstance(first, Mapping) and ({"tasks", "info"} <= first.keys() or "termination_reason" in first)


def read(values: Iterable[Any], name: str) -> list[Log]:
    """A log for each simulation. Raises UsageError: it is a voice run, or the simulations are in other files."""
    logs = []
    for value in values:
        simulations = [value] if "termination_reason" in value else value.get("simulations")
        if simulations is None:
            raise UsageError(f"{name} is the index of a run of tau2-bench", "give a file of simulations/ beside it")
        environment = (value.get("info") or {}).get("environment_info") or {}
        logs += [_log(one, environment.get("policy"), name) for one in simulations]
        if logs:
            logs[0].leave_out_rest(value, "simulations", "messages")
    return [log for log in logs if log.entries]


def _log(simulation: Mapping[str, Any], policy: Any, name: str) -> Log:
    if "ticks" in simulation and not simulation.get("messages"):
        what = f"{name} is a voice run of tau2-bench (full duplex): it has ticks of sound and no messages"
        raise UsageError(what, "give a run in text")
    log = Log(f"task {simulation.get('task_id')}, trial {simulation.get('trial')}", "tau2-bench")
    if policy:
        log.add({"role": "system", "content": str(policy)})
        log.notes.append("The system prompt is the policy; what stood around it, and the tools, are not in the file.")
    log.leave_out_rest(simulation, "messages")
    for message in simulation.get("messages") or ():
        for one in message.get("tool_messages") or [message]:
            _take(log, one)
    return log


def _take(log: Log, message: Mapping[str, Any]) -> None:
    role, calls = message.get("role"), message.get("tool_calls") or ()
    if message.get("raw_data"):
        log.leave_out("raw_data", message["raw_data"])
    if message.get("requestor") == "user" or any(one.get("requestor") == "user" for one in calls):
        log.leave_out("call of the simulated user", message)
    elif role == "tool":
        log.add(result(message.get("id"), message.get("content"), log))
    else:
        entry = {"role": role, "content": parts(message.get("content"), log)}
        if calls:
            entry["tool_calls"] = [call(one.get("id"), one.get("name"), one.get("arguments")) for one in calls]
        if role == "assistant" and (message.get("usage") or calls):  # the first greeting is canned
            log.reply(entry, reported(message.get("usage")), began=seconds(message.get("timestamp")))
        else:
            log.add(entry)
