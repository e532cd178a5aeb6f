"""The session as it grows: what each viewer of the page has not seen yet, from whatever place it is at.

The session only puts its records into a queue. One thread makes them what the page takes; a viewer has a place in that,
and no queue of its own, so a slow one delays nobody. What is being written is told from its beginning to a viewer who
comes late, and left out for one who comes after it is in the history.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict, deque
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from thimble.agent.events import Changed, Prepared, Preparing, Said, SideBegan, ToolCalled
from thimble.agent.protocols import Sent, Waiting
from thimble.repl.commands.export.page import (
    Fields,
    Texts,
    branch_fields,
    call_fields,
    embedded,
    exchange_fields,
    lists_of,
    timeline_fields,
    title_of,
)
from thimble.repl.commands.transcript import Differences, Transcript, take, transcript
from thimble.repl.live.ballot import Ballot
from thimble.repl.screen.sanitise import Sanitiser
from thimble.session.journal.records import Branched, Record, Switched
from thimble.session.journal.tree import Tree

if TYPE_CHECKING:
    from thimble.agent.budget import Counter
    from thimble.session.journal.journal import Journal
    from thimble.session.session import Session

TICK_SECONDS = 0.1
REST = 4
"""After work of a second the thread rests so many seconds, and leaves them to the session."""
UNSEEN = Said | Preparing | Sent | Waiting | ToolCalled | SideBegan
"""Records that change nothing of the page, but what is being written."""


class Place(NamedTuple):
    """How far a viewer is: in which telling, after how many parts, pieces of the reply after them, and votes."""

    telling: int = 0
    parts: int = 0
    pieces: int = 0
    votes: int = 0

    @classmethod
    def read(cls, text: str) -> Place:
        """The place that `str` wrote; the very beginning for any other text."""
        return cls(*map(int, text.split("."))) if re.fullmatch(r"\d{1,9}(\.\d{1,9}){3}", text, re.ASCII) else cls()

    def __str__(self) -> str:
        return ".".join(map(str, self))


class Telling:
    """A branch as it is told: each part holds what is new. No message of it is forgotten while it is told."""

    def __init__(self, told: Transcript, counter: Counter) -> None:
        self.told, self._texts, self._new = told, Texts(counter), Differences()
        self._lists: list[Fields] = []
        self._sent_texts = self._sent_exchanges = 0

    def part(self) -> Fields:
        """What is new. The last exchange and the last call may have changed, and what came before them has not."""
        told, texts, sent = self.told, self._texts, self._sent_texts
        first_call, first_exchange = max(0, len(self._lists) - 1), max(0, self._sent_exchanges - 1)
        for message in told.past.history:
            texts.at(message)
        self._lists += [lists_of(call, texts, self._new) for call in told.calls[len(self._lists) :]]
        calls = [
            call_fields(call, texts) | lists
            for call, lists in zip(told.calls[first_call:], self._lists[first_call:], strict=True)
        ]
        timeline = timeline_fields(told)
        part = {
            "title": title_of(told),
            "about": branch_fields(told),
            "timeline": timeline | {"spans": self._new.new("spans", timeline["spans"])},
            "exchanges": [first_exchange, [*map(exchange_fields, told.exchanges[first_exchange:])]],
            "calls": [first_call, calls],
            "texts": [sent, texts.table[sent:]],
        }
        self._sent_texts, self._sent_exchanges = len(texts.table), len(told.exchanges)
        return part


class Growing:
    """What there is to tell of a session. A new branch, or another session, is told anew from its beginning."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._journal: Journal | None = None
        self._heard: deque[tuple[int, Record, float]] = deque()
        self._changed, self._over = threading.Condition(), threading.Event()
        self._tellings = self._votes = self._last = 0
        self._parts: list[str] = []
        self._pieces: list[tuple[str, str]] = []
        self._cleaners: defaultdict[str, Sanitiser] = defaultdict(Sanitiser)
        self._ballot: Ballot | None = None
        self._counted: Ballot | None = None

    # ---- for the viewers ----

    def after(self, place: Place, seconds: float) -> tuple[list[tuple[str, str]], Place]:
        """What is new after a place, each with its kind, as JSON, and the place behind it; waits for it so long."""
        with self._changed:
            self._changed.wait_for(lambda: self._over.is_set() or self._place() != place, seconds)
            now, new = self._place(), []
            if place.telling != now.telling or place > now:
                place = Place(now.telling)
                new.append(("anew", "0"))
            new += [("part", part) for part in self._parts[place.parts :]]
            pieces = self._pieces[place.pieces if place.parts == now.parts else 0 :]
            new += [("said", embedded(pieces))] if pieces else []
            new += [("votes", embedded(self._ballots()))] if place.votes != now.votes else []
            return [*new, *([("ended", "0")] if self._over.is_set() else [])], now

    def vote(self, voter: str, ballot: int, text: str) -> bool:
        """Take a vote; whether that ballot is open. Raises UsageError for a vote that names no messages."""
        with self._changed:
            if not self._ballot or self._ballot.number != ballot:
                return False
            self._ballot.vote(voter, text)
            self._votes += 1
            self._changed.notify_all()
        return True

    def _place(self) -> Place:
        return Place(self._tellings, len(self._parts), len(self._pieces), self._votes)

    def _ballots(self) -> dict[str, Fields | None]:
        named = {"open": self._ballot, "counted": self._counted}
        return {name: ballot.fields() if ballot else None for name, ballot in named.items()}

    # ---- the thread that tells ----

    def run(self) -> None:
        """Follow the session until the end."""
        took = 0.0
        while not self._over.wait(max(TICK_SECONDS, REST * took)):
            began = perf_counter()
            if self._session.is_ready:
                self._go_on()
            took = perf_counter() - began

    def leave(self) -> None:
        """Listen no more."""
        if self._journal:
            self._journal.listener = None

    def end(self) -> None:
        """Say that it is over."""
        self.leave()
        with self._changed:
            self._over.set()
            self._changed.notify_all()

    def _go_on(self) -> None:
        if self._session.journal is not self._journal:
            self._read()
        with self._changed:
            changed = not self._parts
            while self._heard:
                number, record, at = self._heard.popleft()
                if number <= self._last:
                    continue
                if isinstance(record, Branched | Switched) or (
                    isinstance(record, Changed) and record.setting == "model"
                ):
                    self._read()
                    changed = True
                else:
                    changed = self._take(record, at) or changed
            if changed and self._telling.told.exchanges:
                self._parts.append(embedded(self._telling.part()))
                self._open_ballot()
            self._changed.notify_all()

    def _read(self) -> None:
        """Tell the branch in use anew, from the journal."""
        journal, counter = self._session.journal, self._session.agent.backend.counter
        if self._journal is not journal:
            self.leave()
            self._heard.clear()
            self._journal = journal
            journal.listener = lambda *heard: self._heard.append(heard)
        lines, damaged = journal.read()
        tree = Tree(lines)
        self._telling = Telling(transcript(tree, tree.current, len(damaged)), counter)
        self._last = max((line.number for line in lines), default=0)
        with self._changed:
            self._parts, self._ballot, self._counted = [], None, None
            self._unsay()
            self._tellings += 1
            self._votes += 1

    def _unsay(self) -> None:
        self._pieces = []
        self._cleaners.clear()

    def _take(self, record: Record, at: float) -> bool:
        """Go on by one record; whether the page changes beyond what is being written."""
        told = self._telling.told
        told.past.go_on(record)
        take(told, record, at)
        if isinstance(record, Said):
            text = self._cleaners[record.kind].feed(record.text)
            self._pieces += [(record.kind, text)] if text else []
        if isinstance(record, UNSEEN):
            return False
        self._unsay()
        if isinstance(record, Prepared) and self._ballot:
            self._ballot.see(record)
            self._counted = self._ballot if self._ballot.is_used else None
            self._ballot = None
            self._votes += 1
        return True

    def _open_ballot(self) -> None:
        told = self._telling.told
        is_over = told.exchanges[-1].ending != "unfinished"
        if is_over and (not self._ballot or self._ballot.messages != told.past.history):
            self._votes += 1
            self._ballot = Ballot(self._votes, told.past.history)
