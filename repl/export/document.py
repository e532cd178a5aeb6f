"""The session as one JSON document, described in docs/export.md. Printable ASCII; decoded, every text is as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from agent.ledger import Call, totals
from agent.messages import Message
from repl.export.story import Exchange, Made, Story, story
from repl.xray.rows import Row, rows_of

if TYPE_CHECKING:
    from agent.protocols import Counter
    from repl.session import Session

FORMAT, VERSION = "thimble-session", 1
Fields = dict[str, Any]


def export(session: Session, columns: int) -> Iterator[str]:
    """The document, piece by piece: a call a line. Raises UsageError where nothing was asked."""
    told, counter = story(session), session.agent.backend.counter
    yield f'{{"format": "{FORMAT}", "version": {VERSION},\n"session": {dumped(about(told))}'
    yield from _list("messages", (message(one, counter) for one in told.past.history))
    yield from _list("exchanges", map(_exchange, told.exchanges))
    yield from _list("calls", (_call(made, counter) for made in told.calls))
    yield from _list("ledger", map(account, told.past.ledger.calls))
    yield f',\n"totals": {dumped(_totals(told))}}}\n'


def dumped(value: object) -> str:
    """The value as JSON of printable ASCII."""
    return json.dumps(value, ensure_ascii=True).replace("\x7f", "\\u007f")


def about(told: Story) -> Fields:
    """What the session is, as it stands behind its last line."""
    past = told.past
    return {
        "id": past.opened.id,
        "name": past.name,
        "started": told.exchanges[0].at,
        "ended": told.exchanges[-1].until,
        "backend": past.backend,
        "model": past.model,
        "strategy": past.strategy,
        "budget": past.limit,
        "branch": told.branch,
        "branches": told.branches,
        "lost": [*past.lost, *["a line of the journal"] * told.damaged],
    }


def message(of: Message, counter: Counter) -> Fields:
    """A message of the history, and its tokens in a prompt by the counter of the model in use."""
    fields = asdict(of)
    return {
        **{name: value for name, value in fields.items() if value or name == "content"},
        "tokens": counter.count(of),
    }


def account(call: Call) -> Fields:
    """A row of the ledger: amounts are tokens, and whether they are exact; null is what nobody reported."""
    fields = asdict(call)
    return {**fields, "prefill": asdict(call.prefill)}


def _exchange(of: Exchange) -> Fields:
    return {
        "number": of.number or None,
        "at": of.at,
        "question": of.question.id,
        "text": of.question.content,
        "answer": of.answer,
        "ending": of.ending,
        "seconds": round(of.until - of.at, 3),
        "calls": [call.number for call in of.calls],
    }


def _call(made: Made, counter: Counter) -> Fields:
    of, view = made.prepared, made.prepared.view
    known = bool(view.messages)
    rows = rows_of(view, counter.count) if known else []
    return {
        "number": made.number,
        "exchange": made.exchange,
        "turn": of.turn,
        "at": made.at,
        "strategy": of.strategy,
        "model": of.model,
        "budget": view.limit,
        "tokens": view.tokens,
        "history_tokens": view.history_tokens,
        "overhead": view.overhead,
        "cached": view.cached,
        "prefill": view.prefill,
        "exact": of.exact,
        "edited": view.edited,
        "notes": list(view.notes),
        "tools": [dict(tool) for tool in of.tools],
        "view": [_row(row) for row in rows if row.after] if known else None,
        "absent": [*_absent(rows, view.left_out)] if known else None,
        "reply": made.replied.message.id if made.replied else None,
        "seconds": made.replied.seconds if made.replied else None,
        "first_token_seconds": made.replied.first_token_seconds if made.replied else None,
        "waited_seconds": made.replied.waited_seconds if made.replied else None,
        "usage": asdict(made.replied.usage) if made.replied else None,
        "results": [
            {"id": done.message.id, "call_id": done.call.id, "ok": done.ok, "seconds": done.seconds}
            for done in made.returned
        ],
    }


def _row(row: Row) -> Fields:
    """A message that was sent; its text where it is another than in the history."""
    fields: Fields = {"id": row.message.id, "role": row.message.role, "fate": row.fate}
    fields |= {"tokens_before": row.tokens_before, "tokens": row.tokens_after, "cached": row.cached}
    if row.after and row.after is not row.before:
        copy = asdict(row.after)
        fields |= {name: copy[name] for name in COPIED if copy[name] or name == "content"}
    return fields


def _absent(rows: list[Row], left_out: Mapping[str, str]) -> Iterator[Fields]:
    """The messages that were not sent, those in a row together that share fate and reason."""
    missing = (row for row in rows if row.after is None)
    for (fate, why), same in groupby(missing, key=lambda row: (row.fate, left_out.get(row.message.id, ""))):
        group = [*same]
        tokens = sum(row.tokens_before for row in group)
        yield {"fate": fate, "why": why, "tokens_before": tokens, "ids": [row.message.id for row in group]}


COPIED = ("content", "thinking", "calls", "call_id", "name", "why", "covers", "ref")


def _totals(told: Story) -> Fields:
    sums, ledger = totals(told.past.ledger.calls), told.past.ledger
    done = {"exchanges": ledger.exchanges, "answered": ledger.answered, "tool_calls": ledger.tool_calls}
    return {**asdict(sums), **done, "tool_seconds": ledger.tool_seconds}


def _list(name: str, values: Iterator[Fields]) -> Iterator[str]:
    yield f',\n"{name}": ['
    for number, value in enumerate(values):
        yield f"{',' if number else ''}\n{dumped(value)}"
    yield "]"
