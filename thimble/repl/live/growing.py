"""The session as it grows, as a list of events, which each viewer of the page reads at its own pace.

The session only puts its records into a queue. One thread turns them into events of the page; a viewer has a place in
that list and no queue of its own, so a slow one does not delay others. A late viewer gets an unfinished reply from its
start, or only the finished message.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from time import perf_counter
from typing import TYPE_CHECKING

from thimble.agent.events import Changed, Prepared, Preparing, ReplyPiece, SideBegan, ToolCalled
from thimble.agent.protocols import Sent, Waiting
from thimble.repl.commands.export.page import MessageTable, PageStream, embed_json
from thimble.repl.live.ballot import Ballot
from thimble.repl.screen.sanitise import Sanitiser
from thimble.session.journal.records import Branched, Record, Switched
from thimble.session.story import read_stories

if TYPE_CHECKING:
    from thimble.session.journal.journal import Journal
    from thimble.session.session import Session

TICK_SECONDS = 0.1
REST_FACTOR = 4
"""Seconds that the thread rests after a second of work, to leave the processor to the session."""
LAST_SECONDS = 1.0
"""The longest wait at exit for the last events."""
ENDED = b"event: ended\ndata: 0\n\n"
UnseenRecord = Preparing | Sent | Waiting | ToolCalled | SideBegan
"""Records that do not change the page."""


class LiveEvents:
    """The events of a session's live page: items, each with its number, kind and event, shared by all viewers.

    Pieces of a reply are dropped when it is in the history, votes when there are newer ones, and everything when
    another branch or session is shown.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._journal: Journal | None = None
        self._heard: deque[tuple[int, Record, float]] = deque()
        self._changed = threading.Condition()
        self._ends, self._over = threading.Event(), threading.Event()
        self._items: list[tuple[int, str, bytes]] = []
        self._told = self._last = self._ballots = 0
        self._cleaners: defaultdict[str, Sanitiser] = defaultdict(Sanitiser)
        self._ballot: Ballot | None = None
        self._counted: Ballot | None = None

    # ---- for the viewers ----

    def events_after(self, place: int, seconds: float) -> tuple[list[bytes], int]:
        """The events after the item of this number, and the newest number; waits up to `seconds`. ENDED is the last.

        An unknown number gets all events.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._over.is_set() or self._told != place, seconds)
            place = place if place <= self._told else 0
            new = [event for number, _, event in self._items if number > place]
            return [*new, *[ENDED][: self._over.is_set()]], self._told

    def vote(self, voter: str, address: str, ballot: int, text: str) -> bool:
        """Take a vote, and return whether that ballot is open. Raises UsageError for a vote without messages."""
        with self._changed:
            if not self._ballot or self._ballot.number != ballot:
                return False
            self._ballot.vote(voter, address, text)
            self._tell_votes()
        return True

    def wait_tick(self) -> None:
        """Wait a tick, or until the session has ended."""
        self._over.wait(TICK_SECONDS)

    # ---- the thread that makes the events ----

    def run(self) -> None:
        """Follow the session to its end, and make the events."""
        took = 0.0
        while not self._ends.wait(max(TICK_SECONDS, REST_FACTOR * took)):
            began = perf_counter()
            self._go_on()
            took = perf_counter() - began
        with self._changed:  # a viewer gets the last events together with the end
            self._go_on()
            self._leave()
            self._over.set()
            self._changed.notify_all()

    def end(self) -> None:
        """End the events after the last one, and wait for that up to LAST_SECONDS."""
        self._ends.set()
        self._over.wait(LAST_SECONDS)

    def _leave(self) -> None:
        """Stop listening to the journal."""
        if self._journal:
            self._journal.listener = None

    def _add_event(self, kind: str, value: object, instead_of: str = "") -> None:
        """Add an event, and drop the events of the kind `instead_of`."""
        with self._changed:
            self._told += 1
            self._items = [item for item in self._items if item[1] != instead_of]
            self._items.append((self._told, kind, f"event: {kind}\ndata: {embed_json(value)}\n\n".encode()))
            self._changed.notify_all()

    def _tell_votes(self) -> None:
        named = {"open": self._ballot, "counted": self._counted}
        self._add_event(
            "votes", {name: one.fields() if one else None for name, one in named.items()}, instead_of="votes"
        )

    def _go_on(self) -> None:
        while self._session.successor:
            self._session = self._session.successor
        if not self._session.is_ready:
            return
        if self._session.journal is not self._journal:
            self._read()
        pieces: list[tuple[str, str]] = []
        while self._heard:
            number, record, at = self._heard.popleft()
            if number <= self._last:
                continue
            if isinstance(record, Branched | Switched) or (isinstance(record, Changed) and record.setting == "model"):
                self._read()
            elif isinstance(record, ReplyPiece):
                text = self._cleaners[record.kind].feed(record.text)
                pieces += [(record.kind, text)] if text else []
            elif self._add_record(number, record, at):
                self._is_new, pieces = True, []
        if self._is_new and self._telling.told.exchanges:
            self._is_new = False
            self._add_event("part", self._telling.next_part(), instead_of="said")
            self._open_ballot()
        if pieces:
            self._add_event("said", pieces)

    def _read(self) -> None:
        """Start over with the current branch, from the journal."""
        journal, counter = self._session.journal, self._session.agent.backend.counter
        if self._journal is not journal:
            self._leave()
            self._heard.clear()
            self._journal = journal
            journal.listener = lambda *heard: self._heard.append(heard)
        told = next(read_stories(*journal.read()))
        self._telling, self._is_new = PageStream(told, MessageTable(counter)), True
        self._last = told.records[-1].number if told.records else 0
        with self._changed:
            self._items, self._ballot, self._counted = [], None, None
            self._cleaners.clear()
            self._add_event("anew", 0)
            self._tell_votes()

    def _add_record(self, number: int, record: Record, at: float) -> bool:
        """Add one record to the story; return whether the page changes."""
        self._telling.told.add(number, at, record)
        if isinstance(record, UnseenRecord):
            return False
        self._cleaners.clear()
        if isinstance(record, Prepared) and self._ballot:
            with self._changed:
                self._ballot.close(record)
                self._counted, self._ballot = self._ballot if self._ballot.is_used else None, None
                self._tell_votes()
        return True

    def _open_ballot(self) -> None:
        told = self._telling.told
        is_over = told.exchanges[-1].ending != "unfinished"
        if is_over and (not self._ballot or self._ballot.messages != told.past.history):
            with self._changed:
                self._ballots += 1
                self._ballot = Ballot(self._ballots, [*told.past.history])
                self._tell_votes()
