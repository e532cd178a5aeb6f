"""opencode: sessions, messages and parts, each an object; an export nests them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from thimble.logs.log import Entry, Json, Log, Values
from thimble.logs.parts import dig, first_present, log_message


def _objects(values: Values) -> Iterable[Json]:
    """The objects of an export and of lists, one by one."""
    for value in values:
        if isinstance(value, list):
            yield from _objects(value)
        elif info := dig(value, "info"):
            yield from _objects([info, value.get("messages"), value.get("parts")])
        elif isinstance(value, Mapping):
            yield value


def read(values: Values, name: str) -> list[Log]:
    """A log for each session."""
    messages: list[Json] = []
    pieces: dict[object, list[Json]] = defaultdict(list)  # by message; None: sessions and anything else
    sessions: dict[str, list[tuple[Json, list[Json]]]] = defaultdict(list)
    for one in sorted(_objects(values), key=lambda one: str(one.get("id"))):
        (pieces[one.get("messageID")] if "messageID" in one or "role" not in one else messages).append(one)
    for message in messages:
        sessions[str(message.get("sessionID") or name)].append((message, pieces.pop(message.get("id"), [])))
    logs = [_log(session, said) for session, said in sessions.items()]
    for one in chain(*pieces.values()) if logs else ():
        logs[0].leave_out(f"{one.get('type', 'session')} without a message")
    return logs


def _log(name: str, messages: Iterable[tuple[Json, Sequence[Json]]]) -> Log:
    """The log of messages, each with its parts."""
    log = Log(name, "opencode")
    said: dict[object, Entry] = {}  # the entry of each message
    pruned: dict[object, float] = {}  # when each result was pruned, in milliseconds, by the id of its call
    tail = None  # the first message that a compaction keeps
    for message, given in messages:
        role, began = message["role"], dig(message, "time", "created") or 0
        calls = [{**part, **(part.get("state") or {})} for part in given if part.get("type") == "tool"]
        words = [part for part in given if part.get("type") in ("text", "reasoning") and not part.get("ignored")]
        log.leave_out_rest(message, "id sessionID role time tokens modelID")
        for part in given:
            if part.get("type") != "tool" and part not in words:
                log.leave_out(f"part {part.get('type')}")
                tail = part.get("tail_start_id") or tail
        words.sort(key=lambda part: str(part["type"]))  # reasoning, then text
        if role == "assistant":
            log.clear_results([id_ for id_, time in pruned.items() if time <= began])
        time = began / 1000 if role == "user" else None  # the times of a reply are those of its tools too
        told = {"content": words, "tool_calls": calls, "timestamp": time}
        for entry in log_message({**message, **told}, log):
            said[message.get("id")] = entry
            if message.get("summary") is True:
                log.summaries.add(len(log.entries) - 1)
                log.view = [entry, *log.view[log.at(said.get(tail)) : log.at(entry)]]
        for one in calls:
            if first_present(one, "output error") is not None:
                log_message({**one, "role": "tool"}, log)
            if time := dig(one, "time", "compacted"):
                pruned[one.get("callID")] = time
    return log
