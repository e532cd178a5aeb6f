"""Gemini CLI: records of a chat, each with a call and its results; `$set.messages` replaces the list."""

from __future__ import annotations

from thimble.logs.log import Entry, Json, Log, Values
from thimble.logs.parts import as_list, dig, log_message

ROLES = {"user": "user", "gemini": "assistant"}
"""Roles of the types of records that are sent."""


def read(values: Values, name: str) -> list[Log]:
    """The session of the file. Of a record written twice, the last counts: the first was incomplete."""
    log = Log(name, "Gemini CLI")
    lines = [line for value in values for line in (value, *as_list(value, "messages"))]
    records = {line["id"]: line for line in lines if "id" in line}
    told: dict[object, list[Entry]] = {}  # the entries of each record
    for line in lines:
        log.name = str(line.get("sessionId") or log.name)
        if (id_ := line.get("id")) not in told and id_ in records:
            told[id_] = _read_record(records[id_], log)
        elif to := line.get("$rewindTo"):
            log.view = log.view[: min(map(log.at, told[to]), default=None)] if to in told else []
        elif messages := dig(line, "$set", "messages"):
            for one in messages:
                told[one.get("id")] = log.reuse_equal(_read_record(one, Log("", "")))
            log.view = [entry for one in messages for entry in told[one.get("id")]]
        elif id_ is None:
            log.leave_out("header")
    return [log]


def _read_record(record: Json, log: Log) -> list[Entry]:
    if record.get("type") not in ROLES:
        log.leave_out(f"record {record.get('type')}")
        return []
    calls = as_list(record, "toolCalls")
    log.leave_out("shown of thoughts and calls")
    entries = log_message({**record, "role": ROLES[record["type"]], "tool_calls": calls}, log)
    for one in calls:
        for part in as_list(one, "result"):
            given = dig(part, "functionResponse") or {"content": part}
            entries += log_message({"role": "tool", "id": one.get("id"), **given}, log)
    return entries
