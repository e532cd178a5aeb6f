"""A session: the agent with all its parts, and the swaps that a user may ask for."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from itertools import count
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from thimble.agent.agent import Agent
from thimble.agent.budget import LEAST_BUDGET, MOST_BUDGET
from thimble.agent.errors import ModelError, ThimbleError, UsageError
from thimble.agent.events import Answered, Changed, Event, Planted, Preparing, ReplyPiece
from thimble.agent.ledger import Ledger
from thimble.agent.loop import run
from thimble.agent.messages import Message
from thimble.agent.prompts import BY_SCHEMA, SYSTEM_PROMPT
from thimble.agent.protocols import Backend, ModelId, Strategy, Waiting
from thimble.agent.side import SideModel
from thimble.models import READER
from thimble.models.prices import fixed_card
from thimble.models.server import ServedBackend
from thimble.session.articles import Reading
from thimble.session.backends import Backends
from thimble.session.calls import by_schema, fails_to_call
from thimble.session.embeddings import embedder_of
from thimble.session.journal.checksum_lines import as_fields
from thimble.session.journal.folder import found_by
from thimble.session.journal.header import opening_line
from thimble.session.journal.journal import Journal
from thimble.session.journal.records import Aside, Branched, Change, Command, Named, Record, Remark, Switched, Toured
from thimble.session.journal.state import SavedState
from thimble.session.journal.tree import FIRST_BRANCH
from thimble.session.make_agent import equip_agent, make_agent, strategy_of
from thimble.session.memory import memory_of, restore_memory
from thimble.session.once import Once
from thimble.session.plant import plant_fact
from thimble.session.settings import MEMORY_FILE, Settings, refuse_code
from thimble.session.step_worker import StepWorker
from thimble.strategies.paper_names import use_our_names
from thimble.tools.notebook import Notebook

if TYPE_CHECKING:
    from thimble.agent.background import BackgroundCall
    from thimble.corpus.library import Library
    from thimble.session.playback import Playback
    from thimble.session.watched_strategy import WatchedStrategy
    from thimble.tools.recorded import RecordedTool

T = TypeVar("T")
SKIPPED_SHOWN = 5
MEMORY_UNCHANGED = ReplyPiece | Waiting | Preparing | Branched | Switched | Toured
"""Records that leave the session's memory unchanged."""


class Watcher(Protocol):
    """Gets every event and remark of a session."""

    def on_event(self, session: Session, event: object) -> None:
        """Called after an event."""


class Session:
    """One conversation with all its parts. A swap that fails leaves the session unchanged.

    Attributes:
        settings: The settings that the session was opened with; swaps do not change them.
        journal: The file to which the session is written as it happens.
        saved: The saved session that this one continues; None for a new one.
        playback: The recorded session that answers; None if a model does.
        reading: The progress of reading the articles.
        notices: Lines for the user. Those about the articles are added when these are first read.
        watchers: The objects that get every event, by name: a tour, a guess.
        watched: The user's own strategy that is reloaded when its file has changed; else None.
        trusted: The SPECs that the user has typed, which may be code.
        backends: The models to choose from, and the server that has them.
        notes: The model's notes.
        embedder: Makes vectors of texts; None if search is by words alone.
        run: The name of the agent whose recorded run this is; "" for none.
        successor: The session that replaces this one after /load.
    """

    def __init__(
        self,
        settings: Settings,
        journal: Journal | None = None,
        saved: SavedState | None = None,
        playback: Playback | None = None,
        reading: Reading | None = None,
    ) -> None:
        self.settings, self.journal, self.saved, self.playback = settings, journal or Journal(), saved, playback
        self.reading = reading or Reading()
        self.run = saved.opened.run if saved else self.journal.run
        self.notices = [*settings.notices, *(playback.notices if playback else ())]
        self.watchers: dict[str, Watcher] = {}
        self.watched: WatchedStrategy | None = None
        self.trusted = {settings.strategy.strip()}
        widest = saved.widest if saved else 0
        self.backends = Backends(settings, self.notices.append, playback, widest)
        self.notes = Notebook(Path(settings.notes) if settings.notes and not playback else None)
        if self.notes.torn:
            lines = ", ".join(map(str, self.notes.torn))
            notice = f"Left out of {settings.notes}, as not a whole note: line {lines}. Fix it there, or delete it."
            self.notices.append(notice)
        self.embedder = Once(lambda: embedder_of(settings, self.reading.embedded))
        self._agent, self._library = Once(self._make_agent), Once(self._read_library)
        self._recorded: dict[str, RecordedTool] = {}
        self._shown_notices = 0
        self._checked: tuple[Backend, str] | None = None
        self._events: Generator[Event, None, None] | None = None
        self.successor: Session | None = None
        self._warms = False
        self._warmings: list[BackgroundCall] = []

    @property
    def agent(self) -> Agent:
        """The agent: history, ledger, strategy, backend, limit. Made, and the articles read, on first access.

        Raises:
            UsageError: the strategy or the server's address is invalid, or there are no articles.
            ModelError: the requested server cannot be used.
        """
        return self._agent()

    @property
    def is_ready(self) -> bool:
        """Whether the agent is made, so that `agent` returns at once."""
        return self._agent.is_made

    @property
    def spec(self) -> str:
        """The SPEC of the strategy in use, as it was typed."""
        return self.agent.strategy_name if self.is_ready else self.settings.strategy.strip()

    @property
    def values(self) -> dict[str, str | int]:
        """The present values of the settings that can change while it runs."""
        return {**self.agent.state.settings, "model": str(self.agent.backend.id)}

    @property
    def planted(self) -> tuple[Planted, ...]:
        """The facts that /plant has put into the history, oldest first."""
        return self.agent.state.planted

    @property
    def library(self) -> Library:
        """The articles. Raises UsageError if there are none."""
        return self._library()

    def warm(self) -> None:
        """Make everything that the first question would wait for. Errors are left for that question to report."""
        try:
            agent = self.agent
        except ThimbleError:
            return
        agent.budget(agent.schemas()).size([Message("", "system", agent.state.system)])
        if isinstance(agent.backend, ServedBackend):
            import httpx  # noqa: F401

    def begin_warming(self) -> BackgroundCall | None:
        """Have a server on this machine compute the fixed prefix of every prompt, in the background.

        It is repeated for another model; a question, or the end of the session, stops it. Errors are left for the first
        question to report. Returns None without a server on this machine.
        """
        from thimble.models.tool_calls.caller import ToolCaller

        self._warms, backend = True, self.agent.backend
        if not (isinstance(backend, ToolCaller) and backend.is_local):
            return None
        self._suit_model(self.agent)
        from thimble.session.warming import start_warming

        errand = start_warming(self.agent)
        self._warmings.append(errand)
        errand.worker.start(errand)
        return errand

    @property
    def is_warming(self) -> bool:
        """Whether a server is computing the fixed prefix of every prompt."""
        return any(not errand.ended for errand in self._warmings)

    def _stop_warming(self) -> None:
        for errand in self._warmings:
            if not errand.ended:
                errand.stop()

    def ask(self, question: str) -> Generator[Event, None, None]:
        """Answer one question, event by event, as `agent.loop.run` does. A warning of the server becomes a notice.

        An earlier answer that was not read to its end, as may happen in a notebook, is stopped first.
        """
        agent = self.agent
        self.reload()
        if self._events:
            self._events.close()
        self._stop_warming()
        while self._warmings:
            self._warmings.pop().then()
        agent.catch_up()
        self._events = self._answer(agent, question)
        return self._events

    def _answer(self, agent: Agent, question: str) -> Generator[Event, None, None]:
        """The events of one exchange; if it ends without an answer, the reason is written to the journal."""
        try:
            if self.playback:
                asked = self.playback.play_exchange(agent, question, self._remember)
            else:
                self._suit_model(agent)
                asked = run(agent, question)
            with closing(asked) as events:
                for event in events:
                    yield event
                    from_memory = isinstance(event, Answered) and event.from_memory
                    if from_memory and fails_to_call(agent, question, self.library):
                        agent.backend.use_schema()  # from the next question on
        except (ThimbleError, KeyboardInterrupt, GeneratorExit) as error:
            from thimble.session.playback import describe_error

            if not self.playback:
                self.remark(describe_error(error))
            raise
        now = agent.backend, agent.backend.protocol  # known only now
        if isinstance(agent.backend, ServedBackend) and now != self._checked:
            self._checked = now
            warning = agent.backend.check()
            self.notices += [warning] if warning else []
        doubt = agent.backend.counter.doubt() if isinstance(agent.backend, ServedBackend) else ""
        self.notices += [doubt] if doubt else []

    def _suit_model(self, agent: Agent) -> None:
        """Give the agent the tools and the system prompt that suit the way its model calls tools.

        Once old turns are summarised, changes to the memory file take effect at the next question.
        """
        if self.run:
            return
        agent.nudges = isinstance(agent.backend, ServedBackend)
        summarised = agent.ledger.view and "summarised" in agent.ledger.view.fates
        anew = by_schema(agent.backend) != bool(agent.examples)
        if anew:
            self._equip(agent, self.notes)
        if (anew or summarised) and (system := self.system(agent)) != agent.state.system:
            agent.enter(Changed("system", system))

    def _remember(self, kept: Mapping[str, Any]) -> None:
        self.notices += restore_memory(self.agent, self.notes, kept, same_strategy=True, same_model=True)

    def note_command(self, command: str) -> None:
        """Note that the user typed this command, in the journal, so that it can be played again."""
        from thimble.session.playback import is_repeated

        if is_repeated(command):
            self.remark(Command(command))

    def ask_aside(self, asked: tuple[str, ...], kind: type[T], make: Callable[[], T]) -> T:
        """The outcome of a command's question to a model in a copy of the session: made and recorded, or played.

        `asked` identifies the question; `kind` is a dataclass of JSON values. Raises the errors of `make`, and
        NotRecorded if a recorded session does not have it.
        """
        if self.playback:
            return self.playback.play_aside(self.agent, asked, kind)
        found = make()
        self.remark(Aside(asked, as_fields(found)))
        return found

    def notify_watchers(self, event: object) -> None:
        """Pass an event to the watchers."""
        for watcher in [*self.watchers.values()]:
            watcher.on_event(self, event)

    def remark(self, remark: Remark) -> None:
        """Write a remark to the journal."""
        self.notify_watchers(remark)
        self.notices += self.journal.write(remark)

    def take_notices(self) -> list[str]:
        """Notices not shown yet; each is returned once."""
        news = self.notices[self._shown_notices :]
        self._shown_notices += len(news)
        return news

    def use_strategy(self, strategy: object, *, watch: bool = False) -> None:
        """Swap the strategy; the new one starts afresh, on the whole history. Raises UsageError with a fix.

        It is a SPEC, an object with `prepare(messages, budget)`, or such a function. With `watch`, its file is reloaded
        before each question if it has changed, as by `reload`.
        """
        from thimble.session.watched_strategy import WatchedStrategy
        from thimble.strategies.own import adapt_strategy

        agent, watched = self.agent, None
        if isinstance(strategy, str):
            spec = use_our_names(strategy.strip())
            watched = WatchedStrategy(spec) if watch else None
            made = strategy_of(spec, agent.side)
        else:
            made = adapt_strategy(strategy)
            spec = made.spec
        self._stop_background()
        agent.strategy, self.watched = made, watched
        self.trusted.add(spec)
        agent.enter(Changed("strategy", spec))

    def reload(self) -> None:
        """Reload the watched strategy if its file has changed; a notice says whether it keeps its state.

        A file that can no longer be used only gives a notice.
        """
        if self.watched is None or self.watched.spec != self.spec or not self.watched.has_changed():
            return
        from thimble.session.watched_strategy import carry_state

        agent, spec = self.agent, self.spec
        try:
            state, strategy = agent.strategy.state, strategy_of(spec, agent.side)
            kept = carry_state(state, strategy)
            strategy = strategy if kept else strategy_of(spec, agent.side)
        except UsageError as error:
            self.notices.append(f"{error.what}. The strategy stays in use as it was before the change.")
            return
        self._stop_background()
        agent.strategy = strategy
        if not kept:
            agent.enter(Changed("strategy", spec))
        self.notices.append(f"{spec} has changed: it {'keeps its state' if kept else 'starts afresh'}.")

    def use_budget(self, tokens: int) -> None:
        """Change the prompt tokens that a call may use. Raises UsageError for a number out of bounds."""
        if not LEAST_BUDGET <= tokens <= MOST_BUDGET:
            what = f"a budget of {tokens:,} tokens is not valid"
            raise UsageError(what, f"it takes {LEAST_BUDGET} to {MOST_BUDGET:,} tokens")
        agent, side, backends = self.agent, self.agent.side, self.backends
        backends.widest = max(backends.widest, tokens)
        if side.backend is not agent.backend:
            side.backend = backends.with_widest_budget(side.backend)
        if side.memory:
            side.memory = backends.with_widest_budget(side.memory)
        agent.use(backends.with_widest_budget(agent.backend))
        agent.enter(Changed("budget", tokens))

    def use_model(self, name: str) -> None:
        """Continue with "reader" or with a model of the server, and with its token counter.

        Raises:
            UsageError: the server's address is invalid.
            ModelError: the server cannot be used, or does not have the model.
        """
        agent, backend = self.agent, self.backends.of(name.strip())
        self._stop_background()
        self._stop_warming()
        self._use(backend)
        self._checked = None  # a reference would keep the process of the old one
        agent.enter(Changed("model", str(agent.backend.id)))
        if self._warms:
            self.begin_warming()

    def plant(self, fact: str) -> Planted:
        """Put a fact into the history, as the one line of a file. Raises UsageError for one that cannot be planted."""
        return plant_fact(self.agent, fact)

    def reset(self) -> None:
        """Start over on a new branch: strategy, budget and model stay; the journal keeps the rest.

        Raises:
            UsageError: a memory file cannot be read; nothing has changed.
        """
        agent = self.agent
        empty = SavedState()
        empty.apply_record(opening_line(self.journal, self.settings, agent, self.backends.widest))
        now = [Changed(name, value) for name, value in self.values.items() if name != "system"]
        if (system := self.system(agent)) != empty.system:
            now.append(Changed("system", system))
        for change in now:
            empty.apply_record(change)
        self._restore_state(empty, self._new_branch(1), *now)

    def branch(self, after: int, *changes: Change) -> None:
        """Start a new branch after a line of the journal, with the strategy, budget and model of that time.

        The `changes` to them are made at once. The old branch is kept unchanged; `switch` goes back to it.

        Raises:
            ThimbleError: the strategy or the model of that time is no longer available; nothing has changed.
        """
        swaps = [one for one in changes if isinstance(one, Changed) and one.setting == "strategy"]
        self.trusted |= {str(one.value) for one in swaps}
        if after == self.journal.tree.newest and len(swaps) == len(changes):  # the session is there already
            strategies = [strategy_of(str(one.value), self.agent.side) for one in swaps]
            self._stop_background()
            self.record(self._new_branch(self.journal.tree.newest))
            for swap, self.agent.strategy in zip(swaps, strategies, strict=True):
                self.agent.enter(swap)
            return
        then = self.journal.state(until=after)
        for change in changes:
            then.apply_record(change)
        self._restore_state(then, self._new_branch(after), *changes)

    def switch(self, number: int) -> None:
        """Continue a branch as it was left. Raises ThimbleError, as `branch` does."""
        if number not in self.journal.tree.branches:
            raise UsageError(f"there is no branch {number}", "/tree shows the branches")
        self._restore_state(self.journal.state(number), Switched(number))

    def load(self, settings: Settings, journal: Journal, saved: SavedState) -> None:
        """Leave this session, which is kept, for the one that `saved` describes: the `successor`.

        Raises:
            ThimbleError: that one cannot be used; this one continues.
        """
        other = Session(settings, journal, saved, reading=self.reading)
        try:
            _ = other.agent
            self.leave()
        except BaseException:
            journal.close()
            raise
        other.notices[:0] = self.take_notices()
        other.backends.can_pull = self.backends.can_pull
        self.successor = other

    def leave(self) -> None:
        """Close the journal, release its lock, and stop the processes and calls of this session.

        Lines that could not be written are lost, with a notice.
        """
        self._stop_background()
        self._stop_warming()
        self.backends.close()
        self.journal.close()
        if self.journal.error:
            there = self.journal.path is not None and self.journal.path.exists()
            what = "The end of this session" if there else "This session"
            self.notices.append(f"{what} is not saved: {self.journal.error}.")

    def record(self, record: Record) -> None:
        """Write a record to the journal."""
        self._write(self.agent, record)

    def _write(self, agent: Agent, record: Record) -> None:
        """Write a record. Changes before the first question are part of the first line."""
        self.notify_watchers(record)
        journal = self.journal
        if not journal.begun:
            if isinstance(record, Change) and not isinstance(record, Named):
                return
            self.notices += journal.write(opening_line(journal, self.settings, agent, self.backends.widest))
            # the first line has the largest budget, for which a server makes room
            if agent.limit != self.backends.widest:
                self.notices += journal.write(Changed("budget", agent.limit))
        memory = ""
        try:
            if not isinstance(record, MEMORY_UNCHANGED):
                memory, unsaved = memory_of(agent, self.notes)
                self.notices += [unsaved] * (unsaved not in (*self.notices, ""))
        finally:  # Ctrl-C in the user's own strategy must not lose the record
            self.notices += journal.write(record, memory)

    def system(self, agent: Agent) -> str:
        """The system prompt with the present memory: the file, and the number of notes from earlier sessions.

        Raises:
            UsageError: the memory file cannot be read.
        """
        if self.playback:
            return str(self.playback.recording.opened.settings.get("system", SYSTEM_PROMPT))
        if self.run:
            return agent.state.system
        path, prompt = self.settings.memory_file, BY_SCHEMA if by_schema(agent.backend) else SYSTEM_PROMPT
        if path is None and not self.notes.earlier:
            return prompt
        from thimble.session.memory_file import CUT_NOTE, with_memory, words_of

        words = words_of(path) if path else ""
        system = with_memory(prompt, words, agent.budget([]), len(self.notes.earlier))
        if CUT_NOTE in system:
            self.notices.append(f"{MEMORY_FILE} is longer than an eighth of the budget: the rest of it is not sent.")
        return system

    def fork(self, spec: str = "") -> Agent:
        """An agent that continues from here, without any effect on this session.

        It uses the strategy of the SPEC, which starts afresh as after a swap, or by default a copy of the one in use.

        Raises:
            UsageError: the SPEC names no strategy.
        """
        agent, was = self.agent, self.agent.side
        side = SideModel(was.backend, was.embedder, was.memory, StepWorker(self.agent.ledger.lag), was.summariser)
        spec = use_our_names(spec)
        strategy = strategy_of(spec, side) if spec else self.copied_strategy(side)
        ledger = Ledger(prepared=agent.ledger.prepared)
        state = replace(agent.state, strategy=spec or agent.strategy_name, ledger=ledger)
        fork = replace(
            agent, strategy=strategy, state=state, side=side, prices=fixed_card(agent.price_card()), record=None
        )
        notes = Notebook()
        notes.state = self.notes.state
        self._equip(fork, notes)
        return fork

    def copied_strategy(self, side: SideModel) -> Strategy:
        """A copy of the strategy that asks `side` and its embedder; a strategy that cannot be copied starts afresh."""
        try:
            was = self.agent.side
            return deepcopy(self.agent.strategy, {id(was): side, id(was.embedder): side.embedder})
        except Exception:  # a user's own strategy may raise when it is copied
            return strategy_of(self.spec, side)

    def catch_up(self) -> None:
        """Enter the background calls that have begun or ended."""
        if self.is_ready:
            self.agent.catch_up()

    def _stop_background(self) -> None:
        """Stop the background calls, and enter their costs."""
        if self.is_ready:
            self.agent.side.stop()
            self.agent.catch_up()

    def _use(self, backend: Backend) -> None:
        """Use this model; strategies still ask the one that the user has named for them."""
        side = self.agent.side
        named = side.backend
        self.agent.use(backend)
        if self.settings.summariser:
            side.backend = named

    def _new_branch(self, after: int) -> Branched:
        there = self.journal.tree.branches
        return Branched(next(number for number in count(1) if number not in there), after)

    def _restore_state(self, then: SavedState, *changes: Change) -> None:
        """Restore this state and write the changes. Raises ThimbleError before anything has changed."""
        agent, backend = self.agent, self.agent.backend
        if then.strategy not in self.trusted:
            refuse_code(then.strategy, "the session continues", "leave and run thimble --resume ID --strategy")
        if str(backend.id) != then.model:
            model = ModelId.read(then.model)
            backend = self.backends.of(model.name, model.backend)
        strategy = strategy_of(then.strategy, agent.side)
        self._stop_background()
        agent.strategy = strategy
        self._use(self.backends.with_widest_budget(backend))
        same_strategy = not any(_changes_any(change, "strategy") for change in changes)
        same_model = not any(_changes_any(change, "model") for change in changes)
        self._restore(agent, then, same_strategy, same_model)
        for change in changes:
            self.record(change)
        agent.close_calls()

    def _restore(self, agent: Agent, saved: SavedState, same_strategy: bool, same_model: bool) -> None:
        """Restore the state and the memory of an agent."""
        agent.state = saved.copy()
        self.notices += restore_memory(agent, self.notes, saved.saved_memory or {}, same_strategy, same_model)

    def _make_agent(self) -> Agent:
        agent = make_agent(self.settings, self.backends, self._first_backend(), self.embedder())
        self._equip(agent, self.notes)
        agent.record = lambda record: self._write(agent, record)
        if self.saved:
            self._resume(agent, self.saved)
        else:
            agent.state.system = self.system(agent)
        return agent

    def use_recorded_tools(self) -> None:
        """Offer only the tools of the recorded run in this session, with their recorded results."""
        self._equip(self.agent, self.notes)

    def _equip(self, agent: Agent, notes: Notebook) -> None:
        problems = equip_agent(agent, self.library, self.settings.files, notes, self.embedder())
        self.notices += [problem for problem in problems if problem not in self.notices]
        if self.run and self.journal.begun:
            from thimble.tools.recorded import recorded_tools

            self._recorded = self._recorded or recorded_tools(self.journal.state(FIRST_BRANCH).history)
            agent.tools, agent.examples, agent.grounds = self._recorded, (), Agent.grounds

    def _first_backend(self) -> Backend:
        try:
            return self.backends.first_backend()
        except ModelError as error:
            if not self.saved:
                raise
            by = found_by(self.settings.session_dir, self.journal.path) if self.journal.path else ""
            without = f"or continue without it: thimble --resume {quote(by)} --backend {READER}"
            raise ModelError(error.what, f"{error.fix}; {without}") from error

    def _resume(self, agent: Agent, saved: SavedState) -> None:
        """Continue the saved session; other settings of this start take effect from here on."""
        asked, was = agent.state.settings, saved.settings
        same_strategy = asked["strategy"] == was["strategy"]
        self._restore(agent, saved, same_strategy, asked["model"] == was["model"])
        for name, value in asked.items():
            if name != "system" and value != was[name]:
                agent.enter(Changed(name, value))
        agent.close_calls()

    def _read_library(self) -> Library:
        library = self.reading.read(self.settings.corpus)
        skipped = [f"Left out {one.path}: {one.reason}." for one in library.skipped[:SKIPPED_SHOWN]]
        more = len(library.skipped) - SKIPPED_SHOWN
        self.notices += [*skipped, *([f"Left out {more:,} more: thimble doctor names them."] if more > 0 else ())]
        return library


def _changes_any(change: Change, *settings: str) -> bool:
    """Whether this changes one of these settings."""
    return isinstance(change, Changed) and change.setting in settings
