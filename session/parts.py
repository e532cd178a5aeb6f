"""The parts of a session: its settings and journal, and model, articles and agent, each made when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from agent.agent import Agent
from agent.errors import ModelError
from agent.events import BudgetChanged, ModelChanged, Preparing, Said, StrategyChanged, TidyChanged
from agent.prompts import BY_SCHEMA, SYSTEM
from agent.protocols import Backend, Strategy, Waiting
from agent.side import SideModel
from agent.state import State
from models import READER
from session.articles import Reading
from session.backends import SIDE_MODELS, Backends
from session.calls import by_schema
from session.delegate import brief
from session.embeddings import embedder_of
from session.journal.folder import found_by
from session.journal.header import opened
from session.journal.journal import Journal
from session.journal.records import Branched, Change, Named, Record, Switched
from session.memory import memory_of, remember
from session.once import Once
from session.prices import by_timings, fixed, read_prices
from session.settings import AUTO, MEMORY_FILE, Settings
from tools import everyday, on_demand, toolbox
from tools.examples import examples
from tools.notes import Notes

if TYPE_CHECKING:
    from corpus.library import Library
    from corpus.map import Map
    from session.journal.state import SavedState
    from session.playback import Playback

SKIPPED_SHOWN = 5
READS_WITH = "observation-masking"
"""The strategy of a sub-agent."""
MEMORY_UNCHANGED = Said | Waiting | Preparing | Branched | Switched
"""Records after which the session remembers what it did before."""


class Parts:
    """All that a session is made of, so that another session can take its place at once.

    Attributes:
        settings: What the session was opened with; swaps do not change it.
        journal: Where the session is written as it happens.
        saved: The session that goes on, as it was left; None for a new one.
        notify: Takes a notice for the user, one line.
        trusted: The SPECs that the user has typed: they may be code.
        backends: The models to choose from, and the server that has them.
        notes: What the model has noted down.
        agent: The agent, made once.
        library: The articles, read once.
        embedder: Makes vectors of texts; None where words alone count.
    """

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        saved: SavedState | None,
        playback: Playback | None,
        reading: Reading,
        notify: Callable[[str], object],
    ) -> None:
        self.settings, self.journal, self.saved, self.notify = settings, journal, saved, notify
        self.trusted = {settings.strategy.strip()}
        self.backends = Backends(
            settings, lambda notice: self.notify(notice), playback, widest=saved.widest if saved else 0
        )
        self.notes = Notes(Path(settings.notes) if settings.notes and not playback else None)
        if self.notes.torn:
            lines = ", ".join(map(str, self.notes.torn))
            notify(f"Left out of {settings.notes}, as no whole note: line {lines}. Mend it there, or delete it.")
        self.agent = Once(self._make_agent)
        self.library = Once(self._read_library)
        self.embedder = Once(lambda: embedder_of(settings, reading.embedded))
        self._playback, self._reading = playback, reading

    def equip(self, agent: Agent, notes: Notes) -> None:
        """Give an agent its tools; to one that calls by schema the everyday ones, with worked examples."""
        side, sources = agent.side, (self.library(), self.settings.files)
        agent.tools = toolbox(*sources, notes, self.embedder())
        agent.on_demand = on_demand(
            lambda: agent.history, lambda task: brief(agent, task, self.strategy_of(READS_WITH, side, agent.state.tidy))
        )
        agent.examples = tuple(examples()) if by_schema(agent.backend) else ()
        if agent.examples:
            agent.on_demand |= agent.tools
            agent.tools = everyday(*sources, self.embedder(), lambda: agent.history)

    def strategy_of(self, spec: str, side: SideModel, tidy: bool) -> Strategy:
        """The strategy of a SPEC under the setting `tidy`. All are imported for it: the first prompt need not wait."""
        from strategies import parse
        from strategies.tidy import tidied

        strategy = parse(spec, side)
        return tidied(strategy) if tidy else strategy

    def record(self, agent: Agent, record: Record) -> None:
        """Write to the journal what has happened. A change before the first question stands in the first line."""
        journal, notices = self.journal, []
        if not journal.begun:
            if isinstance(record, Change) and not isinstance(record, Named):
                return
            notices += journal.write(opened(journal, self.settings, agent, self.backends.widest))
        memory = ""
        try:
            memory = memory if isinstance(record, MEMORY_UNCHANGED) else memory_of(agent, self.notes)
        finally:  # Ctrl-C in a strategy of the user's own must not cost the record
            for notice in notices + journal.write(record, agent.history, memory):
                self.notify(notice)

    def system(self, agent: Agent) -> str:
        """The system prompt with the memory as it is now: the file, and that there are notes of earlier sessions.

        Raises:
            UsageError: the memory file cannot be read.
        """
        if self._playback:
            return self._playback.recording.opened.system
        path, prompt = self.settings.memory_file, BY_SCHEMA if by_schema(agent.backend) else SYSTEM
        if path is None and not self.notes.earlier:
            return prompt
        from session.memory_file import CUT, with_memory, words_of

        words = words_of(path) if path else ""
        system = with_memory(prompt, words, agent.budget([]), len(self.notes.earlier))
        if CUT in system:
            self.notify(f"{MEMORY_FILE} is longer than an eighth of the budget: the rest of it is not sent.")
        return system

    def restore(self, agent: Agent, saved: SavedState, same_strategy: bool, same_model: bool) -> None:
        """Put back the state of an agent and what it remembered."""
        agent.state = saved.copy()
        for notice in remember(agent, self.notes, saved.kept or {}, same_strategy, same_model):
            self.notify(notice)

    def _make_agent(self) -> Agent:
        settings, spec = self.settings, self.settings.strategy.strip()
        backend = self._first_backend()
        summariser, memory = map(self.backends.side_model, SIDE_MODELS)
        side = SideModel(summariser or backend, self.embedder(), memory)
        side.mapper = lambda *asked: map_of(self.library()).text(*asked)
        agent = Agent(
            backend=backend,
            strategy=self.strategy_of(spec, side, settings.tidy),
            state=State(spec, settings.budget, tidy=settings.tidy),
            tools={},
            side=side,
            max_turns=settings.max_turns,
            prices=by_timings if settings.price == AUTO else fixed(read_prices(settings.price)),
        )
        self.equip(agent, self.notes)
        if not self.saved:
            agent.state.system = self.system(agent)
        agent.record = lambda record: self.record(agent, record)
        if self.saved:
            self._resume(agent, self.saved)
        return agent

    def _first_backend(self) -> Backend:
        try:
            return self.backends.first()
        except ModelError as error:
            if not self.saved:
                raise
            by = found_by(self.settings.session_dir, self.journal.path) if self.journal.path else ""
            without = f"or go on without it: thimble --resume {quote(by)} --backend {READER}"
            raise ModelError(error.what, f"{error.fix}; {without}") from error

    def _resume(self, agent: Agent, saved: SavedState) -> None:
        """Go on where the saved session was left; what other settings are asked for changes from here on."""
        asked, model = agent.state, agent.backend.id
        self.restore(agent, saved, asked.strategy == saved.strategy, model == saved.model)
        if asked.strategy != saved.strategy:
            agent.enter(StrategyChanged(asked.strategy))
        if asked.tidy != saved.tidy:
            agent.enter(TidyChanged(asked.tidy))
        if asked.limit != saved.limit:
            agent.enter(BudgetChanged(asked.limit))
        if model != saved.model:
            agent.enter(ModelChanged(model.backend, model.name))
        agent.close_calls()

    def _read_library(self) -> Library:
        library = self._reading.read(self.settings.corpus)
        for skipped in library.skipped[:SKIPPED_SHOWN]:
            self.notify(f"Left out {skipped.path}: {skipped.reason}.")
        if len(library.skipped) > SKIPPED_SHOWN:
            self.notify(f"Left out {len(library.skipped) - SKIPPED_SHOWN:,} more files.")
        return library


def map_of(library: Library) -> Map:
    """The map of a library, imported late as no first prompt needs it."""
    from corpus.map import Map

    return Map(library)
