"""The session as one JSON document: of each branch the messages and the events of `--json`.

docs/reference/formats.md explains it. Printable ASCII; decoded, every text is as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from thimble.agent.errors import UsageError
from thimble.agent.events import Changed, Planted, Prepared
from thimble.agent.messages import Message
from thimble.session import jsonl
from thimble.session.journal.records import Opened, Record
from thimble.session.journal.state import SavedState
from thimble.session.journal.tree import Tree

if TYPE_CHECKING:
    from thimble.session.session import Session

FORMAT, FORMAT_VERSION = "thimble-session", 2


def export(session: Session) -> Iterator[str]:
    """The document, piece by piece: an event a line. Raises UsageError where nothing was asked."""
    lines, damaged = session.journal.read()
    if not lines:
        raise UsageError("there is nothing to export yet", "ask something first")
    tree, count = Tree(lines), session.agent.backend.counter.count
    told = {**jsonl.session(session), "name": tree.name or None, "branch": tree.current}
    head = {"format": FORMAT, "version": FORMAT_VERSION, "session": told, "damaged": [one.number for one in damaged]}
    yield jsonl.to_json(head)[:-1] + ',\n"branches": ['
    for place, branch in enumerate(tree.branches.values()):
        about, then = {"branch": branch.number, "parent": branch.parent or None}, SavedState()
        yield "," * bool(place) + f'\n{jsonl.to_json(about)[:-1]}, "events": ['
        events = ((line.at, _fields(then.read(line), then)) for line in tree.path(branch.number))
        yield from _lines({"at": at, **fields} for at, fields in events if fields)
        yield '],\n"messages": ['
        yield from _lines({**_message(one), "tokens": count(one)} for one in then.history)
        yield "]}"
    yield "]}\n"


def _lines(values: Iterator[jsonl.Fields]) -> Iterator[str]:
    for number, value in enumerate(values):
        yield f"{',' * bool(number)}\n{jsonl.to_json(value)}"


def _fields(record: Record, then: SavedState) -> jsonl.Fields:
    """The fields of a record, which `then` has taken already; none of one that nobody need know."""
    match record:
        case Opened():
            return {"type": "opened", **jsonl.selected(record, "settings")}
        case Changed():
            return {"type": "changed", **asdict(record)}
        case Prepared(view=view):
            there = {message.id: message for message in view.history}
            sent = [one.id if there.get(one.id) is one else _message(one) for one in view.messages]
            tools = [tool["function"]["name"] for tool in record.tools]
            return {**jsonl.event(record, then.ledger), "tools": tools, "sent": sent}
        case Planted(messages=messages):
            return {**jsonl.event(record, then.ledger), "messages": [*map(_message, messages)]}
    return jsonl.event(record, then.ledger) if type(record) in jsonl.EVENTS else {}  # type: ignore[arg-type]


def _message(of: Message) -> jsonl.Fields:
    return {name: value for name, value in asdict(of).items() if value or name == "content"}
