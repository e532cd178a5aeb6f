"""Events as JSON Lines (docs/reference/formats.md). A line is printable ASCII, whatever a model wrote."""

from __future__ import annotations

import json
import math
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

from thimble.agent import events
from thimble.agent.foreign import is_deep
from thimble.agent.ledger import Call
from thimble.agent.protocols import ModelId, Sent, Waiting
from thimble.session.journal.checksum_lines import as_fields
from thimble.session.totals import add_up

if TYPE_CHECKING:
    from thimble.session.session import Session

Fields = dict[str, Any]

EVENTS: dict[type, str] = {
    events.Asked: "asked: id=message.id text=message.content",
    events.Preparing: "preparing: turn strategy",
    events.SideBegan: "side_began: purpose model counted_tokens=prompt_tokens exact",
    events.SideCalled: (
        "side_called: purpose model counted_tokens=prompt_tokens exact usage seconds waited_seconds lag held_seconds "
        "began error"
    ),
    events.Prepared: (
        "prepared: turn strategy tokens=view.tokens history_tokens=view.history_tokens budget=view.limit "
        "overhead=view.overhead cached=view.cached prefill=view.prefill exact edited=view.edited acted=view.acted "
        "fates=view.fates inserted=view.inserted sizes=view.sizes notes=view.notes"
    ),
    Sent: "sent: to bytes=body",
    Waiting: "waiting: what seconds",
    events.PromptCut: "prompt_cut: turn sent_tokens=sent read_tokens=read exact",
    events.ReplyPiece: "said: text",
    events.Replied: (
        "replied: turn id=message.id text=message.content calls=message.calls usage seconds first_token_seconds "
        "waited_seconds began stopped_by"
    ),
    events.ToolCalled: "tool_called: call_id=call.id tool=call.name arguments=call.arguments",
    events.ToolReturned: (
        "tool_returned: call_id=call.id tool=call.name arguments=call.arguments id=message.id ok text=message.content "
        "tokens seconds began"
    ),
    events.Answered: "answered: text ending from_memory invented passage",
    events.Planted: "planted: fact path id=holder.id messages",
}
"""The type of each event and its fields, as `select_fields` takes them."""
DIGITS = 4_300
"""The most digits of an integer that Python reads."""
TOO_DEEP = "it is nested too deep"
TOO_LARGE = "{:.40} is too large a number"
AMOUNTS = (
    "prompt_tokens=prompt cached_tokens=cached prefill_tokens=prefill output_tokens=output "
    "raw_prompt_tokens=raw_prompt raw_prefill_tokens=raw_prefill over_budget=over most_over_budget=most_over "
    "model_seconds=seconds waited_seconds=waited"
)


def from_json(text: str) -> Any:
    """Parse foreign JSON, strictly: every value can be written as JSON again.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_parse_float, parse_int=_parse_int)
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error
    if is_deep(value):
        raise ValueError(TOO_DEEP)
    return value


def to_json(value: object) -> str:
    """A value as JSON, in printable ASCII."""
    return json.dumps(value).replace("\x7f", "\\u007f")


def to_line(value: object) -> str:
    """One line of JSON, newline included."""
    return to_json(value) + "\n"


def select_fields(of: object, names: str) -> Fields:
    """The attributes of these names, as JSON values; `new=path.to.it` renames one."""
    pairs = (name.split("=") for name in names.split())
    values = {pair[0]: attrgetter(pair[-1])(of) for pair in pairs}
    return {name: str(value) if isinstance(value, ModelId) else as_fields(value) for name, value in values.items()}


def event_fields(of: events.Event, spent: Call | None) -> Fields:
    """The fields of an event of an exchange, and of the call that it belongs to; unknown values are None."""
    kind, _, names = EVENTS[type(of)].partition(": ")
    fields = {"type": kind, **select_fields(of, names)}
    match of:
        case events.ReplyPiece(kind):
            fields["type"] = kind
        case events.Prepared(view=view):
            fields["inserted"] = [{"index": index, "text": view.messages[index].content} for index in view.inserted]
        case Sent(body=body):
            fields["bytes"] = len(body.encode("utf-8", "replace"))
        case events.Planted(messages=messages):
            fields["messages"] = [message.id for message in messages]
        case events.Replied(message=message):
            fields["calls"] = [select_fields(call, "call_id=id tool=name arguments") for call in message.calls]
            fields["stopped_by"] = of.stopped_by or None
        case events.SideCalled():
            fields["error"] = of.error or None
    if isinstance(of, events.Replied | events.SideCalled):
        fields["cached"] = as_fields(spent.cached) if spent else None
    if "usage" in fields:
        fields["usage"]["finish"] = fields["usage"]["finish"] or None
    return fields


def session_fields(of: Session) -> Fields:
    """The last line: the session's settings and costs, from the ledger."""
    ledger = of.agent.ledger
    sums = add_up(ledger.calls)
    return {
        "type": "session",
        "id": of.journal.id or None,
        **select_fields(of.agent, "backend=backend.name model=backend.model strategy=strategy_name budget=limit"),
        **select_fields(ledger, "exchanges answered"),
        **select_fields(sums, "turns model_calls=calls"),
        **select_fields(ledger, "tool_calls"),
        **select_fields(sums, AMOUNTS),
        **select_fields(ledger, "tool_seconds"),
    }


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _parse_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(TOO_LARGE.format(text))
    return number


def _parse_int(text: str) -> int:
    if len(text) > DIGITS:
        raise ValueError(TOO_LARGE.format(text))
    return int(text)
