"""The session as a page to click through, call by call: one file that loads nothing from elsewhere.

Its data is JSON that cannot close the script element, and is shown only as text. The content security policy allows
only this script and this style, by their hashes. A branch is sent in parts: one here, more on the live page as the
session grows. A list is extended by [number of items that stay, new items]; the lists of a call and of the timeline are
sent as differences, [shared at the start, items between, shared at the end]. All branches are in the page, the current
one first; the reader chooses one, or two side by side.
"""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thimble.agent.messages import Message
from thimble.agent.protocols import ModelId
from thimble.commands.timeline import make_timeline
from thimble.commands.why import list_overridden, why
from thimble.repl.commands.export.markdown import asked_stories, grounds
from thimble.repl.commands.timeline import describe_seconds, describe_span
from thimble.repl.screen import trace
from thimble.repl.screen.gantt import SPAN_KINDS, name_of
from thimble.repl.screen.sanitise import clean, one_line
from thimble.repl.screen.theme import FATE_LETTERS
from thimble.session.journal.header import sampling_settings
from thimble.session.jsonl import select_fields
from thimble.session.story import Exchange, ModelCall, Story
from thimble.session.totals import add_up
from thimble.tools.wording import count_noun

if TYPE_CHECKING:
    from thimble.agent.budget import Counter
    from thimble.agent.view import View
    from thimble.session.session import Session

Fields = dict[str, Any]
SCRIPTS = ("page_views.js", "page_parts.js", "page_timeline.js", "page.js")
UNSAFE = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\x7f"}


def export(session: Session) -> Iterator[str]:
    """Yield the page, piece by piece. Raises UsageError if nothing was asked."""
    told = asked_stories(session)
    script = "\n".join(map(read_asset, SCRIPTS))
    return html_page(title_of(told[0]), read_asset("page.css"), script, _data(told, session.agent.backend.counter))


def html_page(title: str, style: str, script: str, data: Iterable[str], allowed: str = "") -> Iterator[str]:
    """Yield the page around its data; `allowed` adds directives to its content security policy."""
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'{allowed}"
    yield f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}; form-action 'none'">
<meta name="viewport" content="width=device-width">
<meta name="referrer" content="no-referrer">
<title>{escape(title)} · thimble</title>
<style>{style}</style>
</head>
<body>
<noscript>This page needs JavaScript, which is turned off.</noscript>
<script type="application/json" id="session">"""
    yield from data
    yield f"</script>\n<script>{script}</script>\n</body>\n</html>\n"


def read_asset(name: str) -> str:
    """The text of a file in this folder."""
    return (Path(__file__).parent / name).read_text("utf-8")


def embed_json(value: object) -> str:
    """The value as JSON that is safe in a script element: ASCII, without characters special to HTML."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).translate(UNSAFE)


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def title_of(told: Story) -> str:
    """The name of the session, or the beginning of its first question."""
    return one_line(told.past.name) or trace.cut_line(one_line(told.exchanges[0].question.content), 70)


def _data(told: Sequence[Story], counter: Counter) -> Iterator[str]:
    texts = MessageTable(counter)
    yield f'{{"about":{embed_json(about(title_of(told[0])))},"branches":['
    for number, branch in enumerate(told):
        yield "," * bool(number) + "\n" + embed_json(PageStream(branch, texts).next_part())
    yield "]}"


def about(title: str) -> Fields:
    """The title of the session, and the letters and kinds with their meanings."""
    kinds = {kind: [letter, meaning] for kind, (letter, _, _, meaning) in SPAN_KINDS.items()}
    return {"title": title, "letters": FATE_LETTERS, "kinds": kinds}


class MessageTable:
    """A table of all messages and their changed copies, each once. The messages must live as long as the table."""

    def __init__(self, counter: Counter) -> None:
        self.table: list[Fields] = []
        self._counter, self._told = counter, 0
        self._places: dict[object, int] = {}
        self._known: dict[int, int] = {}

    def at(self, message: Message) -> int:
        """The place of a message in the table."""
        known = self._known.get(id(message))
        if known is not None:
            return known
        key = (message.id, message.content, message.calls, message.why, message.covers)
        place = self._places.setdefault(key, len(self.table))
        if place == len(self.table):
            self.table.append(self._text(message))
        self._known[id(message)] = place
        return place

    def new(self) -> list[Any]:
        """The texts not sent yet: [number of texts sent before, new texts]."""
        first, self._told = self._told, len(self.table)
        return [first, self.table[first:]]

    def _text(self, of: Message) -> Fields:
        fields = {
            "id": of.id,
            "who": trace.speaker_name(of),
            "role": of.role,
            "text": clean(of.content),
            "tokens": self._counter.count(of),
            "thinking": clean(of.thinking),
            "calls": [[one_line(call.name), clean(call.arguments)] for call in of.calls],
            "why": one_line(of.why),
            "covers": of.covers,
        }
        return {name: value for name, value in fields.items() if value or name in ("text", "tokens")}


class PageStream:
    """Sends a branch in parts; each part has only new data. Keeps its messages alive, as `MessageTable` requires."""

    def __init__(self, told: Story, texts: MessageTable) -> None:
        self.told, self._texts = told, texts
        self._listed: dict[str, Sequence[Any]] = {}
        self._lists: list[Fields] = []
        self._sent_exchanges = 0

    def next_part(self) -> Fields:
        """The data since the last part, with the last exchange and the last call again, as they may have changed."""
        told, texts = self.told, self._texts
        first_call, first_exchange = max(0, len(self._lists) - 1), max(0, self._sent_exchanges - 1)
        for message in told.past.history:
            texts.at(message)
        exchanges = told.exchanges
        calls = [call for exchange in exchanges for call in exchange.calls]
        self._lists += [self._lists_of(call.prepared.view) for call in calls[len(self._lists) :]]
        self._sent_exchanges = len(exchanges)
        new = zip(calls[first_call:], self._lists[first_call:], strict=True)
        timeline = timeline_fields(told)
        return {
            "title": title_of(told),
            "about": branch_fields(told, len(calls)),
            "timeline": timeline | {"spans": self._new("spans", timeline["spans"])},
            "exchanges": [first_exchange, [*map(exchange_fields, exchanges[first_exchange:])]],
            "calls": [first_call, [call_fields(call, texts) | lists for call, lists in new]],
            "texts": texts.new(),
        }

    def _lists_of(self, view: View) -> Fields:
        """The difference of each list of a call: its history, the fates, and the view."""
        return {
            "was": self._new("was", [*map(self._texts.at, view.history)]),
            "fates": self._new("fates", "".join(FATE_LETTERS[fate] for fate in view.fates)),
            "sent": self._new("sent", [*map(self._texts.at, view.messages)]),
        }

    def _new(self, name: str, after: Sequence[Any]) -> list[Any]:
        """The difference of the list of this name: [shared at the start, the items between, shared at the end]."""
        before, self._listed[name] = self._listed.get(name, ()), after
        most = min(len(before), len(after))
        start = next((at for at in range(most) if before[at] != after[at]), most)
        most -= start
        end = next((at for at in range(most) if before[-1 - at] != after[-1 - at]), most)
        return [start, after[start : len(after) - end], end]


def branch_fields(told: Story, calls: int) -> Fields:
    """The data of a branch with this number of calls: its number, facts, cost and losses."""
    past, exchanges = told.past, told.exchanges
    begun = time.strftime("%d %B %Y, %H:%M", time.localtime(exchanges[0].at))
    facts = [
        one_line(ModelId.read(past.model).called),
        *(one_line(f"{name} {value}") for name, value in sampling_settings(past.opened).items()),
        begun,
        count_noun(sum(bool(each.number) for each in exchanges), "exchange"),
        count_noun(calls, "call"),
        *([f"branch {told.branch} of {len(told.tree.branches)}"] if len(told.tree.branches) > 1 else []),
    ]
    lost = [f"The session file is damaged: {what} is lost." for what in map(one_line, past.lost)]
    lost += [f"{count_noun(len(told.damaged), 'line')} of the session file could not be read."] * bool(told.damaged)
    spent = select_fields(add_up(past.ledger.calls), "prompt cached prefill output raw_prompt seconds")
    question = trace.cut_line(one_line(exchanges[-1].question.content), 40)
    words = f"{told.branch}: {facts[2]}, {one_line(past.strategy)}, {question}"
    return {"number": told.branch, "words": words, "facts": facts, "spent": spent, "lost": lost}


def timeline_fields(told: Story) -> Fields:
    """Rows and spans, each with its row, kind, start, seconds and words; the start of each exchange."""
    of = make_timeline(told.past.ledger)
    lanes = of.lanes()
    spans = [
        [
            lanes.index(span.lane),
            span.kind,
            round(span.began - of.began, 6),
            round(span.seconds, 6),
            describe_span(span),
        ]
        for span in of.spans
    ]
    begins = {step.exchange: round(step.began - of.began, 6) for step in reversed(of.steps)}
    return {
        "seconds": of.seconds,
        "lanes": [*map(name_of, lanes)],
        "spans": spans,
        "begins": begins,
        "sums": [*describe_seconds(of)],
    }


def exchange_fields(of: Exchange) -> Fields:
    """The data of an exchange on the page."""
    answered = of.answered
    return {
        "number": of.number,
        "question": clean(of.question.content),
        "calls": [*range(of.first_call, of.first_call + len(of.calls))],
        "answer": clean(answered.text),
        "ending": of.ending,
        "grounds": grounds(answered),
        "took": of.until - of.at,
    }


def call_fields(of: ModelCall, texts: MessageTable) -> Fields:
    """The data of a call on the page; times are seconds."""
    event, view, reply = of.prepared, of.prepared.view, of.reply
    return {
        "turn": event.turn,
        "strategy": one_line(event.strategy),
        "limit": view.limit,
        "tokens": view.tokens,
        "all": view.history_tokens,
        "overhead": view.overhead,
        "tools": bool(event.tools),
        "cached": of.cached.tokens,
        "mark": "" if event.exact else "~",
        "cachedMark": "" if of.cached.exact else "~",
        "known": bool(view.messages),
        "why": [[one_line(reason), times] for reason, times in drop_reasons(view)],
        "steps": {
            place: one_line(why(view, place, one_line(event.strategy))).rstrip(".") for place in _changed_places(view)
        },
        "did": trace.describe_edits(event) if view.messages else [],
        "notes": [*map(one_line, view.notes), *(trace.side_line(aside).strip() for aside in of.asides)],
        "reply": texts.at(reply.message) if reply else None,
        "results": [[texts.at(one.message), one.ok, one.seconds] for one in of.results],
        "model": one_line(event.model.called),
        "spent": select_fields(of.spent, "cached prefill output seconds") if of.spent else None,
        "reported": select_fields(reply, "prompt=usage.prompt_tokens first=first_token_seconds") if reply else None,
    }


def drop_reasons(view: View) -> list[tuple[str, int]]:
    """The reasons of dropped messages, in order, each with the number of messages in a row that share it."""
    dropped = (one for one, fate in view.fated if fate == "dropped")
    return [(why, len([*same])) for why, same in groupby(view.left_out.get(one.id, "") for one in dropped)]


def _changed_places(view: View) -> list[int]:
    """The places of messages changed by a part of the strategy, by `fit` or by the user, or pinned."""
    steps = ((place, view.steps.get(view.history[place].id, ())) for place in range(len(view.fates)))
    changed = (place for place, its in steps if its and its[-1].tokens and any(step.by for step in its))
    mine = list_overridden(view)
    return [*changed, *(at for at, message in enumerate(view.history) if message.id in mine)]
