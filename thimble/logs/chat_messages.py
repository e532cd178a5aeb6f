"""Messages as chat-completions servers and Anthropic's API take them: lists, and runs of such lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from thimble.logs.log import Json, Log, Values
from thimble.logs.parts import SPOKEN, dig, log_message, schemas


def read(values: Values, name: str) -> list[Log]:
    """A log for each run."""
    return [
        _log(run, str(run.get("id") or run.get("instance_id") or f"{name}:{line}:{number}"))
        for line, value in enumerate(values, 1)
        for number, run in enumerate(_runs(value), 1)
    ]


def _runs(value: Any) -> Iterator[Json]:
    messages = dig(value, "messages") or dig(value, "traj") or value
    if isinstance(messages, list) and messages and all(dig(one, "role") for one in messages):
        yield {**(value if isinstance(value, Mapping) else {}), "messages": messages}
    elif isinstance(value, list):
        for one in value:
            yield from _runs(one)


def _log(run: Json, name: str) -> Log:
    log = Log(name, "messages")
    log.tools = schemas(run.get("tools") or run.get("functions"))
    log.leave_out_rest(run, "messages traj tools functions system")
    for message in ({"role": "system", "content": run.get("system")}, *run["messages"]):
        usage = dig(message, "extra", "response", "usage") or message.get("usage")  # of mini-swe-agent, or beside
        log_message({**message, "usage": usage}, log)
        log.leave_out_rest(message, SPOKEN)
    return log
