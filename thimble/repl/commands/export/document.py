"""The session as one JSON document: the messages of each branch and the events of `--json`.

docs/reference/formats.md explains it. Printable ASCII that decodes to the original texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from thimble.agent.errors import UsageError
from thimble.agent.events import Changed, Planted, Prepared
from thimble.agent.messages import Message
from thimble.session import jsonl
from thimble.session.journal.records import Opened
from thimble.session.story import Recorded, read_stories

if TYPE_CHECKING:
    from thimble.session.session import Session

FORMAT, FORMAT_VERSION = "thimble-session", 2


def export(session: Session) -> Iterator[str]:
    """Yield the document, an event per line. Raises UsageError if nothing was asked."""
    branches = sorted(read_stories(*session.journal.read()), key=lambda one: one.branch)
    if not branches[0].records:
        raise UsageError("there is nothing to export yet", "ask a question first")
    tree, count = branches[0].tree, session.agent.backend.counter.count
    told = {**jsonl.session_fields(session), "name": tree.name or None, "branch": tree.current}
    head = {"format": FORMAT, "version": FORMAT_VERSION, "session": told, "damaged": branches[0].damaged}
    yield jsonl.to_json(head)[:-1] + ',\n"branches": ['
    for place, one in enumerate(branches):
        about = {"branch": one.branch, "parent": tree.branches[one.branch].parent or None}
        yield "," * bool(place) + f'\n{jsonl.to_json(about)[:-1]}, "events": ['
        yield from _lines({"at": each.at, **fields} for each in one.records if (fields := _fields(each)))
        yield '],\n"messages": ['
        yield from _lines({**_message(each), "tokens": count(each)} for each in one.past.history)
        yield "]}"
    yield "]}\n"


def _lines(values: Iterator[jsonl.Fields]) -> Iterator[str]:
    for number, value in enumerate(values):
        yield f"{',' * bool(number)}\n{jsonl.to_json(value)}"


def _fields(of: Recorded) -> jsonl.Fields:
    """The fields of a record; {} for internal ones."""
    match of.record:
        case Opened() as record:
            return {"type": "opened", **jsonl.select_fields(record, "settings")}
        case Changed() as record:
            return {"type": "changed", **asdict(record)}
        case Prepared(view=view) as record:
            there = {message.id: message for message in view.history}
            sent = [one.id if there.get(one.id) is one else _message(one) for one in view.messages]
            tools = [tool["function"]["name"] for tool in record.tools]
            return {**jsonl.event_fields(record, None), "tools": tools, "sent": sent}
        case Planted(messages=messages) as record:
            return {**jsonl.event_fields(record, None), "messages": [*map(_message, messages)]}
    return jsonl.event_fields(of.record, of.spent) if type(of.record) in jsonl.EVENTS else {}  # type: ignore[arg-type]


def _message(of: Message) -> jsonl.Fields:
    return {name: value for name, value in asdict(of).items() if value or name == "content"}
