"""A session: the agent with its parts, and the swaps of them that a user may ask for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from agent.delegate import brief
from agent.errors import ModelError, ThimbleError, UsageError
from agent.events import Event
from agent.ledger import Ledger
from agent.loop import Agent, run
from agent.messages import Message
from agent.prices import read_prices
from agent.protocols import Backend, Counter
from agent.side import SideModel
from models import make
from models.ollama import DEFAULT_MODEL, Ollama, answers, capabilities, choose_model, host_url, installed
from repl.settings import AUTO, LEAST_BUDGET, MOST_BUDGET, Settings
from strategies import parse
from tools import on_demand, toolbox
from tools.notes import Notes

if TYPE_CHECKING:
    from corpus.library import Library

PROBE_SECONDS = 0.3
CONTEXT_STEP_TOKENS = 16_384
REPLY_TOKENS = 2_048
SKIPPED_TOLD = 5
READER = "reader"
READS_WITH = "observation-masking"
"""The strategy of a sub-agent."""
Made = TypeVar("Made")


def open_session(settings: Settings) -> Session:
    """A session with these settings, at once: a server is looked for in the background, the rest is made when used."""
    session = Session(settings)
    threading.Thread(target=session.server_answers, daemon=True).start()
    return session


class Session:
    """One conversation and everything it is made of. A swap that fails leaves the session as it was.

    Attributes:
        settings: What the session was opened with; swaps do not change it.
        spec: The SPEC of the strategy in use, as it was typed.
        notices: One-line words for the user. Those about the articles come when these are first read.
        notes: What the model has noted down.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.spec = settings.strategy.strip()
        self.notices: list[str] = []
        self.notes = Notes()
        self._checked: Backend | None = None
        self.server_answers = _Later(self._look_for_server)
        self._agent = _Later(self._make_agent)
        self._library = _Later(self._read_library)

    @property
    def agent(self) -> Agent:
        """The agent: history, ledger, strategy, backend, limit. Made when first asked for, the articles read.

        Raises:
            UsageError: the strategy or the server's address is not possible, or there are no articles.
            ModelError: the server that was asked for cannot be used.
        """
        return self._agent()

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
        if isinstance(agent.backend, Ollama):
            import httpx  # noqa: F401

    def ask(self, question: str) -> Generator[Event, None, None]:
        """Answer one question, event by event, as `agent.loop.run` does. A server's wrong context size is a notice."""
        agent = self.agent
        yield from run(agent, question)
        if isinstance(agent.backend, Ollama) and agent.backend is not self._checked:
            self._checked = agent.backend  # the model is loaded only now
            warning = agent.backend.check_context()
            self.notices += [warning] if warning else []

    def use_strategy(self, spec: str) -> None:
        """Swap the strategy; the new one starts fresh, on the whole history. Raises UsageError with a way to mend."""
        agent, spec = self.agent, spec.strip()
        agent.strategy = parse(spec, _side(agent))
        agent.strategy_name = self.spec = spec

    def use_budget(self, tokens: int) -> None:
        """Change how many prompt tokens a call may use. Raises UsageError for a number that makes no sense."""
        if not LEAST_BUDGET <= tokens <= MOST_BUDGET:
            what = f"a budget of {tokens:,} tokens is not possible"
            raise UsageError(what, f"it takes {LEAST_BUDGET} to {MOST_BUDGET:,} tokens")
        agent, side = self.agent, _side(self.agent)
        agent.limit = tokens
        if side.backend is not agent.backend:
            side.backend = _roomy(side.backend, tokens)
        self._use(_roomy(agent.backend, tokens))

    def use_model(self, name: str) -> None:
        """Go on with "reader" or with a model that Ollama has; tokens are counted as it counts them.

        Raises:
            UsageError: the server's address is none.
            ModelError: the server cannot be used, or does not have the model.
        """
        if name.strip() == READER:
            self._use(make(READER, pace=self.settings.pace))
            return
        url = host_url(self.settings.base_url)
        model = choose_model(installed(url), name.strip())
        self._use(_ollama(model, url, self.agent.limit))

    def models(self) -> list[str]:
        """The models to choose from: the reader, and those of Ollama if it answers."""
        try:
            url = host_url(self.settings.base_url)
            return [READER, *(installed(url) if answers(url, PROBE_SECONDS) else ())]
        except ThimbleError:
            return [READER]

    def reset(self) -> None:
        """Begin anew: history, notes, ledger and what the strategy remembers go; strategy, budget and model stay."""
        self.use_strategy(self.spec)
        self.notes.kept.clear()
        self.agent.history.clear()
        self.agent.ledger = Ledger()

    def _use(self, backend: Backend) -> None:
        """Go on with this backend; so do the strategies, unless they have a model of their own."""
        agent, side = self.agent, _side(self.agent)
        if side.backend is agent.backend:
            side.backend = backend
        agent.backend = backend

    def _make_agent(self) -> Agent:
        backend = self.first_backend()
        side = SideModel(self.summariser() or backend)
        agent = Agent(
            backend=backend,
            strategy=parse(self.spec, side),
            strategy_name=self.spec,
            tools=toolbox(self.library, self.settings.files, self.notes),
            limit=self.settings.budget,
            max_turns=self.settings.max_turns,
            side=side,
            prices=None if self.settings.price == AUTO else read_prices(self.settings.price),
        )
        agent.on_demand = on_demand(lambda: agent.history, lambda task: brief(agent, task, parse(READS_WITH, side)))
        return agent

    def _read_library(self) -> Library:
        from corpus.library import load

        library = load(self.settings.corpus)
        told = [f"Left out {skipped.path}: {skipped.reason}." for skipped in library.skipped]
        rest = [f"Left out {len(told) - SKIPPED_TOLD:,} more files."] if len(told) > SKIPPED_TOLD else []
        self.notices += told[:SKIPPED_TOLD] + rest
        return library

    def _look_for_server(self) -> bool:
        """Whether to go on with a server: one answers, or the user insists on one."""
        wanted = self.settings
        if wanted.backend == READER or wanted.model == READER:
            return False
        if wanted.backend == "ollama" or wanted.model:
            return True
        with suppress(UsageError):
            return answers(host_url(wanted.base_url), PROBE_SECONDS)
        return True  # an address that is none is told when it is used

    def first_backend(self) -> Backend:
        """The backend to start with. Raises ModelError when the one that was asked for cannot be used."""
        wanted = self.settings
        automatic = wanted.backend == "auto" and not wanted.model
        if not self.server_answers() and not automatic:
            return make(READER, pace=wanted.pace)
        url = host_url(wanted.base_url)
        if not self.server_answers():
            return self._reader_because(f"No Ollama at {url}", f"install Ollama, then ollama pull {DEFAULT_MODEL}")
        try:
            model = choose_model(installed(url), wanted.model, lambda name: "tools" in capabilities(name, url))
        except ModelError as error:
            if automatic:
                return self._reader_because(error.what, error.fix)
            raise
        return _ollama(model, url, wanted.budget)

    def summariser(self) -> Backend | None:
        """The model that strategies ask; None for the agent's own. Raises UsageError and ModelError."""
        name = self.settings.summariser
        if name in ("", READER):
            return make(READER) if name else None
        url = host_url(self.settings.base_url)
        try:
            return _ollama(choose_model(installed(url), name), url, self.settings.budget)
        except ModelError as error:
            what = f"the summariser cannot be used: {error.what}"
            raise ModelError(what, f"{error.fix}; or take --summariser {READER}") from error

    def _reader_because(self, why: str, way_out: str) -> Backend:
        self.notices.append(f"{why}: the built-in reader answers, with extracts only. For a model: {way_out}.")
        return make(READER, pace=self.settings.pace)


class _Later(Generic[Made]):
    """A value that is made once, by whichever thread asks first; the others wait for it."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._made: list[Made] = []
        self._lock = threading.RLock()

    def __call__(self) -> Made:
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]


def _ollama(model: str, url: str, budget_tokens: int, counter: Counter | None = None) -> Ollama:
    """The model, loaded with a context that holds the budget and the reply."""
    return Ollama(model, url, num_ctx=_context_tokens(budget_tokens), counter=counter)


def _roomy(backend: Backend, budget_tokens: int) -> Backend:
    """The same model with a context that holds the budget; itself where it does already."""
    if isinstance(backend, Ollama) and backend.num_ctx < _context_tokens(budget_tokens):
        return _ollama(backend.model, backend.base_url, budget_tokens, backend.counter)
    return backend


def _context_tokens(budget_tokens: int) -> int:
    """In steps, because another context makes the server load the model anew."""
    steps = -(-(budget_tokens + REPLY_TOKENS) // CONTEXT_STEP_TOKENS)
    return steps * CONTEXT_STEP_TOKENS


def _side(agent: Agent) -> SideModel:
    if agent.side is None:
        raise ValueError("every session has a side model")
    return agent.side
