"""A session: the agent with its parts, and the swaps of them that a user may ask for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from agent.agent import Agent
from agent.budget import LEAST_BUDGET, MOST_BUDGET
from agent.delegate import brief
from agent.errors import ThimbleError, UsageError
from agent.events import Event, Planted
from agent.ledger import Ledger
from agent.loop import run
from agent.messages import Message
from agent.plant import plant
from agent.prices import read_prices
from agent.protocols import Backend, Strategy
from agent.side import SideModel
from models.server import ServedBackend
from session.articles import Reading
from session.backends import Backends
from session.journal.journal import Journal
from session.journal.records import Aside, Change, Command, Limited, Record, Remark, Remodelled, Swapped
from session.once import Later
from session.settings import AUTO, Settings
from tools import on_demand, toolbox
from tools.notes import Notes

if TYPE_CHECKING:
    from corpus.library import Library
    from session.guess import Guess
    from session.journal.state import Past
    from session.playback import Playback

T = TypeVar("T")
SKIPPED_TOLD = 5
READS_WITH = "observation-masking"
"""The strategy of a sub-agent."""


def open_session(
    settings: Settings, journal: Journal | None = None, past: Past | None = None, playback: Playback | None = None
) -> Session:
    """A session with these settings, at once: a server is looked for in the background, the rest is made when used.

    It is written to `journal`; without one nothing of it reaches a disk. It goes on from `past`, which that tells of.
    With a `playback` a recorded session answers, and no model.
    """
    session = Session(settings, journal, past, playback)
    threading.Thread(target=_look_ahead, args=(session,), daemon=True).start()
    return session


def _look_ahead(session: Session) -> None:
    """Look for a server. An address that is none is told when it is used."""
    with suppress(ThimbleError):
        session.backends.look_for_server()


class Session:
    """One conversation and everything it is made of. A swap that fails leaves the session as it was.

    Attributes:
        settings: What the session was opened with; swaps do not change it.
        spec: The SPEC of the strategy in use, as it was typed.
        said: The SPECs that the user has said, which may be code.
        notices: One-line words for the user. Those about the articles come when these are first read.
        backends: The models to choose from, and the server that has them.
        notes: What the model has noted down.
        planted: The facts that /plant has put into the history, oldest first.
        guess: What the room has said of the next prompt; it waits to be revealed.
        journal: Where it is written as it happens.
        past: The session that it goes on with, as it was; None for a new one.
        playback: The recorded session that answers; None where a model does.
        reading: How far the reading of the articles is.
    """

    def __init__(
        self,
        settings: Settings,
        journal: Journal | None = None,
        past: Past | None = None,
        playback: Playback | None = None,
    ) -> None:
        self.playback = playback
        self.reading = Reading()
        self._told = 0
        self._begin(settings, journal, past)

    def _begin(self, settings: Settings, journal: Journal | None, past: Past | None) -> None:
        self.settings = settings
        self.journal = journal or Journal()
        self.past = past
        self.spec = settings.strategy.strip()
        self.said = {self.spec}
        self.notices: list[str] = [*self.playback.notices] if self.playback else []
        widest, resumed = (past.widest, self.journal.id) if past else (0, "")
        self.backends = Backends(settings, self.notices, self.playback, widest, resumed)
        self.notes = Notes()
        self.planted: list[Planted] = []
        self.guess: Guess | None = None
        self._checked: Backend | None = None
        self._events: Generator[Event, None, None] | None = None
        self._agent = Later(self._make_agent)
        self._library = Later(self._read_library)

    @property
    def agent(self) -> Agent:
        """The agent: history, ledger, strategy, backend, limit. Made when first asked for, the articles read.

        Raises:
            UsageError: the strategy or the server's address is not possible, or there are no articles.
            ModelError: the server that was asked for cannot be used.
        """
        return self._agent()

    @property
    def is_ready(self) -> bool:
        """Whether the agent is made, so that nobody would wait for it."""
        return self._agent.is_made

    @property
    def library(self) -> Library:
        """The articles. Raises UsageError when there are none."""
        return self._library()

    def warm(self) -> None:
        """Make now what the first question would wait for. Errors are left for that question to tell."""
        try:
            agent = self.agent
        except ThimbleError:
            return
        agent.budget(agent.schemas()).size([Message("", "system", agent.system)])
        if isinstance(agent.backend, ServedBackend):
            import httpx  # noqa: F401

    def ask(self, question: str) -> Generator[Event, None, None]:
        """Answer one question, event by event, as `agent.loop.run` does. How it is badly served is a notice.

        An answer that nobody took to its end, as in a notebook, is stopped first.
        """
        agent = self.agent
        if self._events:
            self._events.close()
        self._events = self._answers(agent, question)
        with closing(self._events) as events:
            for event in events:
                if self.guess:
                    self.guess.see(event)
                yield event
        if isinstance(agent.backend, ServedBackend) and agent.backend is not self._checked:
            self._checked = agent.backend  # known only now
            warning = agent.backend.check()
            self.notices += [warning] if warning else []

    def _answers(self, agent: Agent, question: str) -> Generator[Event, None, None]:
        """The events of one exchange; how it ended without an answer goes into the journal."""
        if self.playback:
            yield from self.playback.answers(agent, question, partial(self._remember, agent))
            return
        try:
            yield from run(agent, question)
        except (ThimbleError, KeyboardInterrupt, GeneratorExit) as error:
            from session.playback import unanswered

            self.remark(unanswered(error))
            raise

    def typed(self, command: str) -> None:
        """Know that the user typed this command; it goes into the journal, to be played again."""
        from session.playback import is_repeated

        if is_repeated(command):
            self.remark(Command(command))
        if self.playback:
            self.playback.typed(command)

    def aside(self, asked: tuple[str, ...], kind: type[T], make: Callable[[], T]) -> T:
        """What a command asks a model in a copy of the session: made now, and written to the journal, or played.

        `asked` says what is asked; `kind` is a dataclass of JSON values. Raises what `make` raises,
        and NotOnTape where a recorded session does not hold it.
        """
        if self.playback:
            return self.playback.aside(self.agent, asked, kind)
        from pydantic import TypeAdapter

        found = make()
        self.remark(Aside(asked, TypeAdapter(kind).dump_python(found)))
        return found

    def remark(self, remark: Remark) -> None:
        """Write a remark to the journal."""
        from session.journal.header import append

        append(self, remark)

    def _remember(self, agent: Agent, past: Past) -> None:
        from session.journal.header import remember

        remember(self, agent, past)

    def news(self) -> list[str]:
        """The notices that nobody has asked for yet."""
        news = self.notices[self._told :]
        self._told += len(news)
        return news

    def use_strategy(self, spec: str) -> None:
        """Swap the strategy; the new one starts fresh, on the whole history. Raises UsageError with a way to mend."""
        agent, spec = self.agent, spec.strip()
        agent.strategy = strategy_of(spec, agent.side)
        agent.strategy_name = self.spec = spec
        self.said.add(spec)
        self.record(Swapped(spec))

    def use_budget(self, tokens: int) -> None:
        """Change how many prompt tokens a call may use. Raises UsageError for a number that makes no sense."""
        if not LEAST_BUDGET <= tokens <= MOST_BUDGET:
            what = f"a budget of {tokens:,} tokens is not possible"
            raise UsageError(what, f"it takes {LEAST_BUDGET} to {MOST_BUDGET:,} tokens")
        agent, side = self.agent, self.agent.side
        agent.limit, self.backends.widest = tokens, max(self.backends.widest, tokens)
        if side.backend is not agent.backend:
            side.backend = self.backends.widened(side.backend)
        self.use(self.backends.widened(agent.backend))
        self.record(Limited(tokens))

    def use_model(self, name: str) -> None:
        """Go on with "reader" or with a model of the server; tokens are counted as it counts them.

        Raises:
            UsageError: the server's address is none.
            ModelError: the server cannot be used, or does not have the model.
        """
        self.use(self.backends.of(name.strip()))
        self.record(Remodelled(self.agent.backend.name, self.agent.backend.model))

    def plant(self, fact: str) -> Planted:
        """Put a fact into the history, as the one line of a file. Raises UsageError for one that cannot be planted."""
        planted = plant(self.agent, fact, len(self.planted) + 1)
        self.planted.append(planted)
        self.record(planted)
        return planted

    def reset(self) -> None:
        """Begin anew, on a new branch: strategy, budget and model stay; the journal keeps the rest."""
        from session.journal.header import begin_anew

        begin_anew(self)

    def branch(self, after: int, *changes: Change) -> None:
        """Go on from where this branch was behind a line of the journal: strategy, budget and model as they were then.

        Changes of them are made at once. The branch that is left stays as it is; `switch` goes back to it.

        Raises:
            ThimbleError: the strategy or the model of then cannot be had any more; nothing has changed.
        """
        from session.journal.header import branch

        self.said |= {change.strategy for change in changes if isinstance(change, Swapped)}
        branch(self, after, *changes)

    def switch(self, number: int) -> None:
        """Go on with a branch as it was left. Raises ThimbleError, as `branch` does, and for one that there is not."""
        from session.journal.header import switch

        switch(self, number)

    def load(self, settings: Settings, journal: Journal, past: Past) -> None:
        """Leave this session, which is kept, and go on with the one that `past` tells of.

        Raises:
            ThimbleError: that one cannot be used; all is as it was.
        """
        before = {**vars(self)}
        self._begin(settings, journal, past)
        try:
            _ = self.agent
        except BaseException:
            journal.close()
            vars(self).update(before)
            raise
        self.notices[:0] = before["notices"]
        before["journal"].close()

    def leave(self) -> None:
        """Close the journal, for others to use. Lines that could not be written are lost, and a notice says so."""
        self.journal.close()
        if self.journal.error:
            self.notices.append(f"The end of this session is not kept: {self.journal.error}.")

    def record(self, record: Record) -> None:
        """Write to the journal what has happened."""
        from session.journal.header import write

        write(self, self.agent, record)

    def fork(self, spec: str = "") -> Agent:
        """An agent that goes on from here; nothing that it does is seen in this session.

        With a SPEC under that strategy, which starts fresh as after a swap, else under a copy of the one in use.

        Raises:
            UsageError: the SPEC names no strategy.
        """
        agent = self.agent
        side = SideModel(agent.side.backend)
        strategy = strategy_of(spec, side) if spec else self.copied_strategy(side)
        ledger = Ledger(prepared=agent.ledger.prepared)
        fork = replace(agent, strategy=strategy, strategy_name=spec or self.spec, side=side, ledger=ledger)
        fork.prices = agent.price_card()
        fork.record = None
        notes = Notes()
        notes.state = self.notes.state
        self._equip(fork, notes)
        return fork

    def copied_strategy(self, side: SideModel) -> Strategy:
        """A copy of the one in use that asks `side`; one that cannot be copied, such as a module, starts anew."""
        try:
            return deepcopy(self.agent.strategy, {id(self.agent.side): side})
        except Exception:
            return strategy_of(self.spec, side)

    def use(self, backend: Backend) -> None:
        """Go on with this backend; so do the strategies, unless they have a model of their own."""
        agent, side = self.agent, self.agent.side
        if side.backend is agent.backend:
            side.backend = backend
        agent.backend = backend

    def _make_agent(self) -> Agent:
        from session.journal.header import resume, write

        backend = self.backends.first()
        side = SideModel(self.backends.summariser() or backend)
        agent = Agent(
            backend=backend,
            strategy=strategy_of(self.spec, side),
            strategy_name=self.spec,
            tools={},
            limit=self.settings.budget,
            max_turns=self.settings.max_turns,
            side=side,
            prices=None if self.settings.price == AUTO else read_prices(self.settings.price),
        )
        self._equip(agent, self.notes)
        if self.playback:
            agent.system = self.playback.recording.opened.system
        agent.record = partial(write, self, agent)
        if self.past:
            resume(self, agent, self.past)
        return agent

    def _equip(self, agent: Agent, notes: Notes) -> None:
        """Give an agent its tools."""
        side = agent.side
        agent.tools = toolbox(self.library, self.settings.files, notes)
        agent.on_demand = on_demand(
            lambda: agent.history, lambda task: brief(agent, task, strategy_of(READS_WITH, side))
        )

    def _read_library(self) -> Library:
        library = self.reading.read(self.settings.corpus)
        told = [f"Left out {skipped.path}: {skipped.reason}." for skipped in library.skipped]
        rest = [f"Left out {len(told) - SKIPPED_TOLD:,} more files."] if len(told) > SKIPPED_TOLD else []
        self.notices += told[:SKIPPED_TOLD] + rest
        return library


def strategy_of(spec: str, side: SideModel) -> Strategy:
    """The strategy of a SPEC. All of them are imported for it, which the first prompt need not wait for."""
    from strategies import parse

    return parse(spec, side)
