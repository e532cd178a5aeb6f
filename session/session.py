"""A session: the agent with its parts, and the swaps of them that a user may ask for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, suppress
from copy import deepcopy
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from agent.agent import Agent
from agent.background import Lagged
from agent.budget import LEAST_BUDGET, MOST_BUDGET
from agent.errors import ThimbleError, UsageError
from agent.events import BudgetChanged, Event, ModelChanged, Planted, StrategyChanged, SystemChanged, TidyChanged
from agent.ledger import Ledger
from agent.loop import run
from agent.messages import Message
from agent.protocols import Backend, Strategy, Waiting
from agent.side import SideModel
from models.server import ServedBackend
from models.text_calls.caller import ToolCaller
from session.articles import Reading
from session.backends import Backends
from session.calls import QUESTIONS, by_schema, calls_tools
from session.journal.checked import as_fields
from session.journal.header import opened
from session.journal.journal import Journal
from session.journal.records import Aside, Branched, Change, Command, Record, Remark, Switched
from session.journal.state import SavedState
from session.memory import remember
from session.parts import Parts
from session.plant import plant
from session.prices import fixed
from session.settings import Settings
from session.trust import check_strategy
from tools.notes import Notes

if TYPE_CHECKING:
    from corpus.library import Library
    from session.guess import Guess
    from session.playback import Playback

T = TypeVar("T")


def open_session(
    settings: Settings,
    journal: Journal | None = None,
    saved: SavedState | None = None,
    playback: Playback | None = None,
) -> Session:
    """A session with these settings, at once: a server is looked for in the background, the rest is made when used.

    It is written to `journal`; without one nothing of it reaches a disk. It goes on from `saved`, the journal's state.
    With a `playback` a recorded session answers, and no model.
    """
    session = Session(settings, journal, saved, playback)
    threading.Thread(target=_look_ahead, args=(session,), daemon=True).start()
    return session


def _look_ahead(session: Session) -> None:
    """Look for a server. An invalid address is reported when it is used."""
    with suppress(ThimbleError):
        session.backends.look_for_server()


class Session:
    """One conversation and everything it is made of. A swap that fails leaves the session as it was.

    Attributes:
        parts: What the session is made of.
        notices: One-line words for the user. Those about the articles come when these are first read.
        guess: What the room expects of the next prompt, until it is revealed.
        playback: The recorded session that answers; None where a model does.
        reading: How far the reading of the articles is.
    """

    def __init__(
        self,
        settings: Settings,
        journal: Journal | None = None,
        saved: SavedState | None = None,
        playback: Playback | None = None,
    ) -> None:
        self.playback = playback
        self.reading = Reading()
        self.notices = [*settings.notices, *(playback.notices if playback else ())]
        self.guess: Guess | None = None
        self.parts = Parts(settings, journal or Journal(), saved, playback, self.reading, self.notices.append)
        self._shown_notices = 0
        self._checked: Backend | None = None
        self._events: Generator[Event, None, None] | None = None

    @property
    def settings(self) -> Settings:
        """What the session was opened with; swaps do not change it."""
        return self.parts.settings

    @property
    def journal(self) -> Journal:
        """Where the session is written as it happens."""
        return self.parts.journal

    @property
    def saved(self) -> SavedState | None:
        """The session that goes on, as it was left; None for a new one."""
        return self.parts.saved

    @property
    def backends(self) -> Backends:
        """The models to choose from, and the server that has them."""
        return self.parts.backends

    @property
    def notes(self) -> Notes:
        """What the model has noted down."""
        return self.parts.notes

    @property
    def agent(self) -> Agent:
        """The agent: history, ledger, strategy, backend, limit. Made when first asked for, the articles read.

        Raises:
            UsageError: the strategy or the server's address is not possible, or there are no articles.
            ModelError: the server that was asked for cannot be used.
        """
        return self.parts.agent()

    @property
    def is_ready(self) -> bool:
        """Whether the agent is made, so that nobody would wait for it."""
        return self.parts.agent.is_made

    @property
    def spec(self) -> str:
        """The SPEC of the strategy in use, as it was typed."""
        return self.agent.strategy_name if self.is_ready else self.settings.strategy.strip()

    @property
    def planted(self) -> tuple[Planted, ...]:
        """The facts that /plant has put into the history, oldest first."""
        return self.agent.state.planted

    @property
    def library(self) -> Library:
        """The articles. Raises UsageError when there are none."""
        return self.parts.library()

    def warm(self) -> None:
        """Make now what the first question would wait for. Errors are left for that question to report."""
        try:
            agent = self.agent
        except ThimbleError:
            return
        agent.budget(agent.schemas()).size([Message("", "system", agent.state.system)])
        if isinstance(agent.backend, ServedBackend):
            import httpx  # noqa: F401

    def ask(self, question: str) -> Generator[Event, None, None]:
        """Answer one question, event by event, as `agent.loop.run` does. A warning of the server becomes a notice.

        An answer that was not read to its end, as may happen in a notebook, is stopped first.
        """
        agent = self.agent
        if self._events:
            self._events.close()
        agent.catch_up()
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
        doubt = agent.backend.counter.doubt() if isinstance(agent.backend, ServedBackend) else ""
        self.notices += [doubt] if doubt else []

    def _answers(self, agent: Agent, question: str) -> Generator[Event, None, None]:
        """The events of one exchange; how it ended without an answer goes into the journal."""
        if self.playback:
            yield from self.playback.answers(agent, question, self._remember)
            return
        try:
            yield from self._suit(agent)
            yield from run(agent, question)
        except (ThimbleError, KeyboardInterrupt, GeneratorExit) as error:
            from session.playback import unanswered

            self.remark(unanswered(error))
            raise

    def _suit(self, agent: Agent) -> Iterator[Event]:
        """Settle how the model calls tools, by a trial where nobody knows; give the agent what that needs."""
        backend = agent.backend
        agent.nudges = isinstance(backend, ServedBackend)
        if isinstance(backend, ToolCaller) and backend.is_open:
            yield Waiting(f"trying how {backend.id.called} calls tools")
            yield from backend.loading()
            titles = [article.title for article in self.library.articles[: len(QUESTIONS)]]
            backend.settle("tools" if calls_tools(agent, titles) else "schema")
        if by_schema(backend) != bool(agent.examples):
            self.parts.equip(agent, self.notes)
            system = self.parts.system(agent)
            if system != agent.state.system:
                agent.enter(SystemChanged(system))

    def _remember(self, kept: Mapping[str, Any]) -> None:
        self.notices += remember(self.agent, self.notes, kept, same_strategy=True, same_model=True)

    def typed(self, command: str) -> None:
        """Know that the user typed this command; it goes into the journal, to be played again."""
        from session.playback import is_repeated

        if is_repeated(command):
            self.remark(Command(command))

    def aside(self, asked: tuple[str, ...], kind: type[T], make: Callable[[], T]) -> T:
        """What a command asks a model in a copy of the session: made now, and written to the journal, or played.

        `asked` says what is asked; `kind` is a dataclass of JSON values. Raises what `make` raises,
        and NotRecorded where a recorded session does not hold it.
        """
        if self.playback:
            return self.playback.aside(self.agent, asked, kind)
        found = make()
        self.remark(Aside(asked, as_fields(found)))
        return found

    def remark(self, remark: Remark) -> None:
        """Write a remark to the journal."""
        self.notices += self.journal.write(remark)

    def news(self) -> list[str]:
        """Notices not shown yet; each is returned once."""
        news = self.notices[self._shown_notices :]
        self._shown_notices += len(news)
        return news

    def use_strategy(self, spec: str) -> None:
        """Swap the strategy; the new one starts fresh, on the whole history. Raises UsageError with a way to mend."""
        agent, spec = self.agent, spec.strip()
        strategy = self.parts.strategy_of(spec, agent.side, agent.state.tidy)
        self._stop_background()
        agent.strategy = strategy
        self.parts.trusted.add(spec)
        agent.enter(StrategyChanged(spec))

    def use_tidy(self, on: bool) -> None:
        """Tidy each result for the strategy, or leave it as it came. The strategy starts fresh, as after a swap."""
        agent = self.agent
        strategy = self.parts.strategy_of(self.spec, agent.side, on)
        self._stop_background()
        agent.strategy = strategy
        agent.enter(TidyChanged(on))

    def use_budget(self, tokens: int) -> None:
        """Change how many prompt tokens a call may use. Raises UsageError for a number that makes no sense."""
        if not LEAST_BUDGET <= tokens <= MOST_BUDGET:
            what = f"a budget of {tokens:,} tokens is not possible"
            raise UsageError(what, f"it takes {LEAST_BUDGET} to {MOST_BUDGET:,} tokens")
        agent, side, backends = self.agent, self.agent.side, self.backends
        backends.widest = max(backends.widest, tokens)
        if side.backend is not agent.backend:
            side.backend = backends.widened(side.backend)
        if side.memory:
            side.memory = backends.widened(side.memory)
        agent.use(backends.widened(agent.backend))
        agent.enter(BudgetChanged(tokens))

    def use_model(self, name: str) -> None:
        """Go on with "reader" or with a model of the server; tokens are counted as it counts them.

        Raises:
            UsageError: the server's address is invalid.
            ModelError: the server cannot be used, or does not have the model.
        """
        agent, backend = self.agent, self.backends.of(name.strip())
        self._stop_background()
        agent.use(backend)
        self._checked = None  # or it would keep the process of the old one
        agent.enter(ModelChanged(agent.backend.name, agent.backend.model))

    def plant(self, fact: str) -> Planted:
        """Put a fact into the history, as the one line of a file. Raises UsageError for one that cannot be planted."""
        return plant(self.agent, fact)

    def reset(self) -> None:
        """Begin anew, on a new branch: strategy, budget and model stay; the journal keeps the rest.

        Raises:
            UsageError: a memory file cannot be read; nothing has changed.
        """
        agent, model = self.agent, self.agent.backend.id
        empty = SavedState()
        empty.go_on(opened(self.journal, self.settings, agent, self.backends.widest))
        now: list[Change] = [
            StrategyChanged(empty.strategy),
            TidyChanged(empty.tidy),
            BudgetChanged(empty.limit),
            ModelChanged(model.backend, model.name),
        ]
        system = self.parts.system(agent)
        if system != empty.system:
            empty.go_on(SystemChanged(system))
            now.append(SystemChanged(system))
        self._become(empty, self._new_branch(1), *now)

    def branch(self, after: int, *changes: Change) -> None:
        """Go on from where this branch was after a line of the journal: strategy, budget and model as they were then.

        Changes of them are made at once. The branch that is left stays as it is; `switch` goes back to it.

        Raises:
            ThimbleError: the strategy or the model of then cannot be had any more; nothing has changed.
        """
        self.parts.trusted |= {change.strategy for change in changes if isinstance(change, StrategyChanged)}
        then = self.journal.state(until=after)
        for change in changes:
            then.go_on(change)
        self._become(then, self._new_branch(after), *changes)

    def switch(self, number: int) -> None:
        """Go on with a branch as it was left. Raises ThimbleError, as `branch` does."""
        if number not in self.journal.tree.branches:
            raise UsageError(f"there is no branch {number}", "/tree shows the branches")
        self._become(self.journal.state(number), Switched(number))

    def load(self, settings: Settings, journal: Journal, saved: SavedState) -> None:
        """Leave this session, which is kept, and go on with the one that `saved` describes.

        Raises:
            ThimbleError: that one cannot be used; all is as it was.
        """
        notices: list[str] = []
        parts = Parts(settings, journal, saved, self.playback, self.reading, notices.append)
        try:
            parts.agent()
        except BaseException:
            journal.close()
            raise
        self._stop_background()
        self.backends.leave()
        self.journal.close()
        self.parts, self.guess, self._checked, self._events = parts, None, None, None
        self.notices += notices
        parts.notify = self.notices.append

    def leave(self) -> None:
        """Close the journal and release its lock, and end what runs for this session alone.

        Lines that could not be written are lost, with a notice.
        """
        self._stop_background()
        self.backends.leave()
        self.journal.close()
        if self.journal.error:
            there = self.journal.path is not None and self.journal.path.exists()
            what = "The end of this session" if there else "This session"
            self.notices.append(f"{what} is not kept: {self.journal.error}.")

    def record(self, record: Record) -> None:
        """Write to the journal what has happened."""
        self.parts.record(self.agent, record)

    def fork(self, spec: str = "") -> Agent:
        """An agent that goes on from here; nothing that it does is seen in this session.

        With a SPEC under that strategy, which starts fresh as after a swap, else under a copy of the one in use.

        Raises:
            UsageError: the SPEC names no strategy.
        """
        agent, was = self.agent, self.agent.side
        side = SideModel(was.backend, was.embedder, was.memory, Lagged(self.agent.ledger.lag))
        side.mapper = was.mapper
        strategy = self.parts.strategy_of(spec, side, agent.state.tidy) if spec else self.copied_strategy(side)
        ledger = Ledger(prepared=agent.ledger.prepared)
        state = replace(agent.state, strategy=spec or agent.strategy_name, ledger=ledger)
        fork = replace(agent, strategy=strategy, state=state, side=side, prices=fixed(agent.price_card()), record=None)
        notes = Notes()
        notes.state = self.notes.state
        self.parts.equip(fork, notes)
        return fork

    def copied_strategy(self, side: SideModel) -> Strategy:
        """A copy of the one in use that asks `side` and its embedder; one that cannot be copied starts anew."""
        try:
            was = self.agent.side
            return deepcopy(self.agent.strategy, {id(was): side, id(was.embedder): side.embedder})
        except Exception:  # a user's own strategy decides how it is copied
            return self.parts.strategy_of(self.spec, side, self.agent.state.tidy)

    def catch_up(self) -> None:
        """Enter what models have written in the background meanwhile."""
        if self.is_ready:
            self.agent.catch_up()

    def _stop_background(self) -> None:
        """Stop what a model writes in the background, and enter what it has cost."""
        if self.is_ready:
            self.agent.side.stop()
            self.agent.catch_up()

    def _new_branch(self, after: int) -> Branched:
        there = self.journal.tree.branches
        return Branched(next(number for number in count(1) if number not in there), after)

    def _become(self, then: SavedState, *changes: Change) -> None:
        """Be what the session was then, and write the changes. Raises ThimbleError; nothing has changed then."""
        agent, backend = self.agent, self.agent.backend
        if then.strategy not in self.parts.trusted:
            check_strategy(then.strategy)
        if backend.id != then.model:
            backend = self.backends.of(then.model.name, then.model.backend)
        strategy = self.parts.strategy_of(then.strategy, agent.side, then.tidy)
        self._stop_background()
        agent.strategy = strategy
        agent.use(self.backends.widened(backend))
        self.guess = None
        same_strategy = not any(isinstance(change, StrategyChanged | TidyChanged) for change in changes)
        same_model = not any(isinstance(change, ModelChanged) for change in changes)
        self.parts.restore(agent, then, same_strategy, same_model)
        for change in changes:
            self.record(change)
        agent.close_calls()
