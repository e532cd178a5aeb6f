"""The session as one JSON document (docs/reference/formats.md). Printable ASCII; decoded, every text is as it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from thimble.agent.ledger import Call
from thimble.agent.messages import Message
from thimble.agent.protocols import ModelId
from thimble.repl.commands.export.transcript import Differences, Exchange, ModelCall, Transcript, left_out, transcripts
from thimble.session.journal.header import sampling
from thimble.session.journal.lines import EVERYTHING
from thimble.session.jsonl import Fields, selected, to_json
from thimble.session.timeline import ROLES, timeline
from thimble.session.totals import totals

if TYPE_CHECKING:
    from thimble.agent.budget import Counter
    from thimble.agent.events import Prepared
    from thimble.session.session import Session

FORMAT, VERSION = "thimble-session", 1
CALL = (
    "number exchange turn=prepared.turn at strategy=prepared.strategy model=prepared.model budget=prepared.view.limit "
    "tokens=prepared.view.tokens history_tokens=prepared.view.history_tokens overhead=prepared.view.overhead "
    "exact=prepared.exact edited=prepared.view.edited sizes=prepared.view.sizes "
    "notes=prepared.view.notes"
)
"""The fields of a call that was made, as `selected` takes them."""


def export(session: Session) -> Iterator[str]:
    """The document, piece by piece: a call a line. Raises UsageError where nothing was asked."""
    (first, *others), counter, copies = transcripts(session), session.agent.backend.counter, _Copies()
    yield f'{{"format": "{FORMAT}", "version": {VERSION},\n'
    yield from _branch(first, counter, copies)
    yield ',\n"branches": ['
    for number, other in enumerate(others):
        yield f"{',' if number else ''}\n{{"
        yield from _branch(other, counter, copies)
        yield "}"
    yield "]"
    yield from _list("copies", (message(one, counter) for one in copies.all))
    yield "}\n"


def _branch(told: Transcript, counter: Counter, copies: _Copies) -> Iterator[str]:
    """The fields of one branch."""
    views = _Views(told.past.history, copies)
    yield f'"session": {to_json(about(told))}'
    yield from _list("messages", (message(one, counter) for one in told.past.history))
    yield from _list("exchanges", map(_exchange, told.exchanges))
    yield from _list("calls", ({**_call(made), **views.new(made.prepared)} for made in told.calls))
    yield from _list("ledger", map(account, told.past.ledger.calls))
    yield f',\n"totals": {to_json(_totals(told))}'
    yield f',\n"timeline": {to_json(_timeline(told))}'


def about(told: Transcript) -> Fields:
    """The session as it is after its last line."""
    lost = [*told.past.lost, *["a line of the journal"] * told.damaged]
    return {
        **selected(told.past, "id=opened.id name"),
        "sampling": sampling(told.past.opened),
        "started": told.exchanges[0].at,
        "ended": told.exchanges[-1].until,
        **selected(ModelId.read(told.past.model), "backend model=name"),
        **selected(told.past, "strategy budget=limit"),
        **selected(told, "branch branches"),
        "parent": told.parent or None,
        "lost": lost,
    }


def message(of: Message, counter: Counter) -> Fields:
    """A message, and its tokens in a prompt by the counter of the model in use."""
    said = {name: value for name, value in asdict(of).items() if value or name == "content"}
    return {**said, "tokens": counter.count(of)}


def account(call: Call) -> Fields:
    """A row of the ledger: amounts are tokens, and whether they are exact; null is what nobody reported."""
    return {**asdict(call), "prefill": asdict(call.prefill), "over": call.over}


def _exchange(of: Exchange) -> Fields:
    return {
        "number": of.number or None,
        **selected(of, "at question=question.id text=question.content answer ending from_memory invented"),
        "seconds": round(of.until - of.at, 3),
        "calls": [call.number for call in of.calls],
    }


def _call(made: ModelCall) -> Fields:
    reply: Fields = dict.fromkeys(("reply", "seconds", "first_token_seconds", "waited_seconds", "usage"))
    if made.replied:
        reply = selected(made.replied, "reply=message.id seconds first_token_seconds waited_seconds usage")
    results = [selected(done, "id=message.id call_id=call.id ok seconds") for done in made.returned]
    return {**selected(made, CALL), "cached": asdict(made.cached), **reply, "results": results}


class _Copies:
    """The copies in the views of all branches, each once."""

    def __init__(self) -> None:
        self.all: list[Message] = []
        self._places: dict[object, int] = {}

    def place(self, of: Message) -> int:
        """Its place among them."""
        place = self._places.setdefault(EVERYTHING(of), len(self.all))
        if place == len(self.all):
            self.all.append(of)
        return place


class _Views:
    """The views of a branch, each as what is new of its lists since the one before."""

    def __init__(self, history: Sequence[Message], copies: _Copies) -> None:
        self._known = {message.id: message for message in history}
        self._copies = copies
        self._new = Differences().new

    def new(self, of: Prepared) -> Fields:
        """The new part of a call's lists; null if the sent messages are lost."""
        view = of.view
        tools = self._new("tools", [dict(tool) for tool in of.tools])
        if not view.messages:
            return {"tools": tools, "history": None, "fates": None, "sent": None, "left_out": None}
        return {
            "tools": tools,
            "history": self._new("history", [message.id for message in view.history]),
            "fates": self._new("fates", view.fates),
            "sent": self._new("sent", [self._name(message) for message in view.messages]),
            "left_out": left_out(view),
        }

    def _name(self, message: Message) -> str | int:
        """The id of a message that is unchanged, else its place among the copies."""
        return message.id if message is self._known.get(message.id) else self._copies.place(message)


def _totals(told: Transcript) -> Fields:
    ledger = told.past.ledger
    return {**asdict(totals(ledger.calls)), **selected(ledger, "exchanges answered tool_calls tool_seconds")}


def _timeline(told: Transcript) -> Fields:
    """The sums and the spans; each begins so many seconds after the first one."""
    of = timeline(told.past.ledger)
    spans = [{**asdict(span), "began": round(span.began - of.began, 6)} for span in of.spans]
    busy = {role: of.busy(role) for role in ROLES if role != "waiting"}
    return {**selected(of, "seconds overlapped waited saved"), "busy": busy, "spans": spans}


def _list(name: str, values: Iterator[Fields]) -> Iterator[str]:
    yield f',\n"{name}": ['
    for number, value in enumerate(values):
        yield f"{',' if number else ''}\n{to_json(value)}"
    yield "]"
