"""A session: the agent with its parts, and the swaps of them that a user may ask for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from agent.delegate import brief
from agent.errors import ModelError, ThimbleError, UsageError
from agent.events import Event, Planted
from agent.ledger import Ledger
from agent.loop import Agent, run
from agent.messages import Message
from agent.plant import plant
from agent.prices import read_prices
from agent.protocols import Backend, Strategy
from agent.side import SideModel
from models import READER, SERVERS, built_in, find, room, server_at
from models.address import is_loopback
from models.ollama.errors import DEFAULT_MODEL
from models.server import Manner, Served, Server
from repl.journal.file import Journal
from repl.journal.records import Change, Limited, Record, Remodelled, Swapped
from repl.later import Later
from repl.reading import Reading
from repl.settings import AUTO, LEAST_BUDGET, MOST_BUDGET, Settings, address_of
from tools import on_demand, toolbox
from tools.notes import Notes

if TYPE_CHECKING:
    from corpus.library import Library
    from repl.cassette import Cassette
    from repl.guess import Guess
    from repl.journal.past import Past

PROBE_SECONDS = 0.3
SKIPPED_TOLD = 5
AGENT = "agent"
"""What a cassette calls the model that the session begins with."""
READS_WITH = "observation-masking"
"""The strategy of a sub-agent."""


def open_session(
    settings: Settings, journal: Journal | None = None, past: Past | None = None, cassette: Cassette | None = None
) -> Session:
    """A session with these settings, at once: a server is looked for in the background, the rest is made when used.

    It is written to `journal`; without one nothing of it reaches a disk. It goes on from `past`, which that tells of.
    With a `cassette` it is recorded or played.

    Raises:
        UsageError: both are asked for; a cassette begins with the session.
    """
    if cassette and past:
        raise UsageError("a session that goes on cannot be recorded or played", "begin a new one for the cassette")
    session = Session(settings, journal, past, cassette)
    threading.Thread(target=session.look_ahead, daemon=True).start()
    return session


class Session:
    """One conversation and everything it is made of. A swap that fails leaves the session as it was.

    Attributes:
        settings: What the session was opened with; swaps do not change it.
        spec: The SPEC of the strategy in use, as it was typed.
        said: The SPECs that the user has said, which may be code.
        widest: The largest budget that it has had, on any branch, in tokens: what a server makes room for.
        notices: One-line words for the user. Those about the articles come when these are first read.
        notes: What the model has noted down.
        planted: The facts that /plant has put into the history, oldest first.
        guess: What the room has said of the next prompt; it waits to be revealed.
        next_question: What a command hands on to be asked as if it had been typed; see `take_question`.
        journal: Where it is written as it happens.
        past: The session that it goes on with, as it was; None for a new one.
        cassette: What it is recorded on, or played from.
        reading: How far the reading of the articles is.
    """

    def __init__(
        self,
        settings: Settings,
        journal: Journal | None = None,
        past: Past | None = None,
        cassette: Cassette | None = None,
    ) -> None:
        self.cassette = cassette
        self.reading = Reading()
        self._begin(settings, journal, past)

    def _begin(self, settings: Settings, journal: Journal | None, past: Past | None) -> None:
        self.settings = settings
        self.journal = journal or Journal()
        self.past = past
        self.spec = settings.strategy.strip()
        self.said = {self.spec}
        self.widest = max(settings.budget, past.widest if past else 0)
        self.notices: list[str] = [*self.cassette.notices] if self.cassette else []
        self.notes = Notes()
        self.planted: list[Planted] = []
        self.guess: Guess | None = None
        self.next_question = ""
        self._checked: Backend | None = None
        self._events: Generator[Event, None, None] | None = None
        self.manner = Manner(settings.think, settings.stream, settings.timeout, settings.keep_alive)
        self.look_for_server = Later(self._find_server)
        self._agent = Later(self._make_agent)
        self._library = Later(self._read_library)
        self._reader = Later(lambda: built_in(settings.pace))  # one, so that no swap to it counts all messages anew

    @property
    def agent(self) -> Agent:
        """The agent: history, ledger, strategy, backend, limit. Made when first asked for, the articles read.

        Raises:
            UsageError: the strategy or the server's address is not possible, or there are no articles.
            ModelError: the server that was asked for cannot be used.
        """
        return self._agent()

    @property
    def is_played(self) -> bool:
        """Whether a cassette answers, and no model."""
        return self.cassette is not None and self.cassette.models() is not None

    @property
    def library(self) -> Library:
        """The articles. Raises UsageError when there are none."""
        return self._library()

    def look_ahead(self) -> None:
        """Look for a server. An address that is none is told when it is used."""
        with suppress(ThimbleError):
            self.look_for_server()

    def warm(self) -> None:
        """Make now what the first question would wait for. Errors are left for that question to tell."""
        try:
            agent = self.agent
        except ThimbleError:
            return
        agent.budget(agent.schemas()).size([Message("", "system", agent.system)])
        if isinstance(agent.backend, Served):
            import httpx  # noqa: F401

    def ask(self, question: str) -> Generator[Event, None, None]:
        """Answer one question, event by event, as `agent.loop.run` does. How it is badly served is a notice.

        An answer that nobody took to its end, as in a notebook, is stopped first.
        """
        agent = self.agent
        if self._events:
            self._events.close()
        if self.cassette:
            self.cassette.heard(self, question)
        with closing(run(agent, question)) as events:
            self._events = events
            for event in events:
                if self.guess:
                    self.guess.see(event)
                yield event
        if isinstance(agent.backend, Served) and agent.backend is not self._checked:
            self._checked = agent.backend  # known only now
            warning = agent.backend.check()
            self.notices += [warning] if warning else []

    def take_question(self) -> str:
        """The question that a command has handed on, once; "" where there is none."""
        question, self.next_question = self.next_question, ""
        return question

    def use_strategy(self, spec: str) -> None:
        """Swap the strategy; the new one starts fresh, on the whole history. Raises UsageError with a way to mend."""
        agent, spec = self.agent, spec.strip()
        agent.strategy = strategy_of(spec, side_of(agent))
        agent.strategy_name = self.spec = spec
        self.said.add(spec)
        self.record(Swapped(spec))

    def use_budget(self, tokens: int) -> None:
        """Change how many prompt tokens a call may use. Raises UsageError for a number that makes no sense."""
        if not LEAST_BUDGET <= tokens <= MOST_BUDGET:
            what = f"a budget of {tokens:,} tokens is not possible"
            raise UsageError(what, f"it takes {LEAST_BUDGET} to {MOST_BUDGET:,} tokens")
        agent, side = self.agent, side_of(self.agent)
        agent.limit, self.widest = tokens, max(self.widest, tokens)
        if side.backend is not agent.backend:
            side.backend = roomy(side.backend, self.widest)
        self.use(roomy(agent.backend, self.widest))
        self.record(Limited(tokens))

    def use_model(self, name: str) -> None:
        """Go on with "reader" or with a model of the server; tokens are counted as it counts them.

        Raises:
            UsageError: the server's address is none.
            ModelError: the server cannot be used, or does not have the model.
        """
        self.use(self._had(name.strip(), lambda: self._model(name.strip())))
        self.record(Remodelled(self.agent.backend.name, self.agent.backend.model))

    def backend_of(self, name: str, model: str) -> Backend:
        """The model of a backend, such as "ollama", "qwen3:8b". Raises UsageError and ModelError."""
        now = self.agent.backend
        if (now.name, now.model) == (name, model):
            return now
        return self._had(READER if name == READER else model, lambda: self._model(model, name))

    @property
    def server(self) -> Server:
        """The server that has the models: the one in use, else one that answers by now, else the usual one."""
        wanted = self.settings
        kind = "ollama" if wanted.backend in (AUTO, READER) else wanted.backend
        return self.look_for_server() or self._answering() or self.server_of(kind)

    def server_of(self, backend: str) -> Server:
        """The server of this kind, whether it is there or not.

        Raises:
            UsageError: its address is none.
            ModelError: the session is played from a cassette, which needs no server and has none.
        """
        if self.is_played:
            raise ModelError("a cassette is played: there is no server", "leave, and begin without --replay")
        return server_at(backend, address_of(backend, self.settings), self.manner)

    def models(self) -> list[str]:
        """The models to choose from: the reader, and those of the server if it answers; on a cassette, its own."""
        if self.cassette and (names := self.cassette.models()) is not None:
            return names
        try:
            server = self.server
            return [READER, *(server.models() if server.answers(PROBE_SECONDS) else ())]
        except ThimbleError:
            return [READER]

    def plant(self, fact: str) -> Planted:
        """Put a fact into the history, as the one line of a file. Raises UsageError for one that cannot be planted."""
        planted = plant(self.agent, fact, len(self.planted) + 1)
        self.planted.append(planted)
        self.record(planted)
        return planted

    def reset(self) -> None:
        """Begin anew, on a new branch: strategy, budget and model stay; the journal keeps the rest."""
        from repl.journal.keeping import begin_anew

        begin_anew(self)

    def branch(self, after: int, *changes: Change) -> None:
        """Go on from where this branch was behind a line of the journal: strategy, budget and model as they were then.

        Changes of them are made at once. The branch that is left stays as it is; `switch` goes back to it.

        Raises:
            ThimbleError: the strategy or the model of then cannot be had any more; nothing has changed.
        """
        from repl.journal.keeping import branch

        self.said |= {change.strategy for change in changes if isinstance(change, Swapped)}
        branch(self, after, *changes)

    def switch(self, number: int) -> None:
        """Go on with a branch as it was left. Raises ThimbleError, as `branch` does, and for one that there is not."""
        from repl.journal.keeping import switch

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
        """Give the journal free. What of it could not be written is lost now, and a notice says so."""
        self.journal.close()
        if self.journal.error:
            self.notices.append(f"The end of this session is not kept: {self.journal.error}.")

    def record(self, record: Record) -> None:
        """Write to the journal what has happened."""
        self._write(self.agent, record)

    def fork(self, spec: str = "") -> Agent:
        """An agent that goes on from here; nothing that it does is seen in this session.

        With a SPEC under that strategy, which starts fresh as after a swap, else under a copy of the one in use.

        Raises:
            UsageError: the SPEC names no strategy.
        """
        agent = self.agent
        side = SideModel(side_of(agent).backend)
        strategy = strategy_of(spec, side) if spec else self.copied_strategy(side)
        ledger = Ledger(prepared=agent.ledger.prepared)
        fork = replace(agent, strategy=strategy, strategy_name=spec or self.spec, side=side, ledger=ledger)
        fork.prices = agent.price_card()
        fork.history, fork.record = [*agent.history], None
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

    def _write(self, agent: Agent, record: Record) -> None:
        from repl.journal.keeping import write

        write(self, agent, record)

    def use(self, backend: Backend) -> None:
        """Go on with this backend; so do the strategies, unless they have a model of their own."""
        agent, side = self.agent, side_of(self.agent)
        if side.backend is agent.backend:
            side.backend = backend
        agent.backend = backend

    def _make_agent(self) -> Agent:
        backend = self._had(AGENT, self.first_backend)
        summariser = self.cassette.summariser(self.summariser) if self.cassette else self.summariser()
        side = SideModel(summariser or backend)
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
        if self.past:
            from repl.journal.keeping import resume

            resume(self, agent, self.past)
        agent.record = partial(self._write, agent)
        return agent

    def _had(self, part: str, make: Callable[[], Backend]) -> Backend:
        """The model for this part of the session: a live one, or what a cassette makes of it."""
        return self.cassette.backend(part, make) if self.cassette else make()

    def _model(self, model: str, kind: str = "") -> Backend:
        """The reader, or a model of a server: of the one in use, or of one of a kind."""
        if (kind or model) == READER:
            return self._reader()
        server = self.server_of(kind) if kind else self.server
        return server.backend(server.choose(model), room(self.widest))

    def _equip(self, agent: Agent, notes: Notes) -> None:
        """Give an agent its tools."""
        side = side_of(agent)
        agent.tools = toolbox(self.library, self.settings.files, notes)
        agent.on_demand = on_demand(
            lambda: agent.history, lambda task: brief(agent, task, strategy_of(READS_WITH, side))
        )
        if self.cassette:
            self.cassette.equip(agent)

    def _read_library(self) -> Library:
        library = self.reading.read(self.settings.corpus)
        told = [f"Left out {skipped.path}: {skipped.reason}." for skipped in library.skipped]
        rest = [f"Left out {len(told) - SKIPPED_TOLD:,} more files."] if len(told) > SKIPPED_TOLD else []
        self.notices += told[:SKIPPED_TOLD] + rest
        return library

    def _find_server(self) -> Server | None:
        """The server to go on with: the one that the user insists on, else one that answers. Raises UsageError."""
        wanted = self.settings
        if wanted.backend == READER or wanted.model == READER:
            return None
        if wanted.backend != AUTO:
            return self.server_of(wanted.backend)
        return self._answering() or (self.server_of("ollama") if wanted.model else None)

    def _answering(self) -> Server | None:
        """The first server that answers, each looked for where it is said to be.

        A variable meant for other programs may name a server that costs money: then it must be on this machine.
        """
        servers = map(self.server_of, SERVERS)
        allowed = (each for each in servers if is_loopback(each.url) or self._is_named(each.name))
        return next((each for each in allowed if each.answers(PROBE_SECONDS)), None)

    def _is_named(self, backend: str) -> bool:
        return backend == "ollama" or address_of(backend, self.settings) == self.settings.base_url != ""

    def first_backend(self) -> Backend:
        """The backend to start with. Raises UsageError, and ModelError when the one asked for cannot be used."""
        wanted, found = self.settings, self.look_for_server()
        if found is None:
            return self._no_server() if READER not in (wanted.backend, wanted.model) else self._reader()
        try:
            return found.backend(found.choose(wanted.model), room(self.widest))
        except ModelError as error:
            if wanted.backend == AUTO and not wanted.model:
                return self._reader_because(error.what, error.fix)
            if self.past:
                without = f"or go on without it: thimble --resume {self.journal.id} --backend {READER}"
                raise ModelError(error.what, f"{error.fix}; {without}") from error
            raise

    def summariser(self) -> Backend | None:
        """The model that strategies ask; None for the agent's own. Raises UsageError and ModelError."""
        name, at, url = self.settings.summariser.rpartition("@")
        name, url = (name, url) if at else (url, "")
        if name in ("", READER):
            return built_in() if name else None
        server = find(url, self.manner) if url else self.server
        if server is None:
            raise ModelError(f"the summariser cannot be used: no model server answers at {url}", "check NAME@URL")
        try:
            return server.backend(server.choose(name), room(self.widest))
        except ModelError as error:
            what = f"the summariser cannot be used: {error.what}"
            raise ModelError(what, f"{error.fix}; or take --summariser {READER}") from error

    def _no_server(self) -> Backend:
        url = self.server_of("ollama").url
        return self._reader_because(f"No model server at {url}", f"install Ollama, then ollama pull {DEFAULT_MODEL}")

    def _reader_because(self, why: str, way_out: str) -> Backend:
        self.notices.append(f"{why}: the built-in reader answers, with extracts only. For a model: {way_out}.")
        return self._reader()


def roomy(backend: Backend, budget_tokens: int) -> Backend:
    """The same model with room for prompts of this budget, where a server stands behind it."""
    return backend.with_room(room(budget_tokens)) if isinstance(backend, Served) else backend


def strategy_of(spec: str, side: SideModel) -> Strategy:
    """The strategy of a SPEC. All of them are imported for it, which the first prompt need not wait for."""
    from strategies import parse

    return parse(spec, side)


def side_of(agent: Agent) -> SideModel:
    """The model that strategies ask."""
    if agent.side is None:
        raise ValueError("every session has a side model")
    return agent.side
