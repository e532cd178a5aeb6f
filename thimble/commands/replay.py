"""Replay: the prompt of each model call of a history, if a strategy had been in use from the start."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from thimble.agent.agent import Agent
from thimble.agent.budget import Budget
from thimble.agent.errors import BudgetError, UsageError
from thimble.agent.events import Prepared, SideBegan, SideCalled
from thimble.agent.fates import Fate
from thimble.agent.messages import YOU, Message, Schema
from thimble.agent.override import NO_OVERRIDES, Override
from thimble.agent.prefix_cache import PrefixCache
from thimble.agent.protocols import UNKNOWN_MODEL, ModelId, Strategy
from thimble.agent.side import SideModel
from thimble.agent.steps import FIT
from thimble.agent.view import View, measure_view, prepare
from thimble.commands.faults import Faults, Needs, needs_of
from thimble.session.journal.state import SavedState

if TYPE_CHECKING:
    from thimble.session.session import Session

AS_RECORDED = "as-recorded"
"""The SPEC of a recorded agent's own context management."""
YOU_AND = f"{YOU}+"
MAX_MESSAGES_READ = 150_000
"""The most messages that a strategy reads about one conversation of another program; it takes about a second."""


@dataclass(frozen=True, slots=True)
class ReplayedCall:
    """One model call of a replay.

    `view`: its prompt, with fates and tokens, computed and cached; None if the budget cannot hold the call (`error`).
    `events`: the strategy's own model calls for it.
    """

    view: View | None = None
    error: BudgetError | None = None
    events: Sequence[SideBegan | SideCalled] = ()

    @property
    def asked(self) -> list[SideCalled]:
        """The strategy's model calls that have ended."""
        return [event for event in self.events if isinstance(event, SideCalled)]


def call_lengths(history: Sequence[Message]) -> list[int]:
    """The length of the history before each of its model calls, and before the next one."""
    return [*(at for at, message in enumerate(history) if message.role == "assistant" and at), len(history)]


def newest_calls(every: list[int]) -> list[int]:
    """The calls to replay of a history that another program recorded: only the newest if it is long.

    They start at a multiple of a power of two, mostly the same one as for the next call, so that the prefix stays.
    """
    if sum(every) <= MAX_MESSAGES_READ:
        return every
    block = 1 << max(1, MAX_MESSAGES_READ // every[-1]).bit_length() - 1
    return every[(len(every) - 1) // block * block :]


def replay_strategy(
    history: Sequence[Message],
    strategy: Strategy,
    budget: Budget,
    tools: Sequence[Schema] = (),
    side: SideModel | None = None,
    model: ModelId = UNKNOWN_MODEL,
    at: Iterable[int] | None = None,
    overrides: Mapping[str, Override] = NO_OVERRIDES,
) -> Iterator[ReplayedCall]:
    """The model calls at these lengths of the history, in order; by default all of them, and the next one.

    The strategy runs at every call, since each edit may depend on earlier ones. `side` is the model that it asks. A
    prompt of `model` is cached as far as it starts like the previous prompt, or like a later one of `side`.
    """
    prefixes = PrefixCache(slot=False)
    if side:
        side.prefixes = prefixes
    held = partial(prefixes.count_cached, model, tools, budget.counter)
    before: View | None = None
    for until in call_lengths(history) if at is None else at:
        view, error = None, None
        try:
            view = before = prepare(history[:until], strategy, budget, before, held=held, overrides=overrides)
            # only the newest prompt counts
            prefixes.forget(model)
            prefixes.read(model, tools, view.messages, budget.counter)
        except BudgetError as raised:
            error = raised
        yield ReplayedCall(view, error, tuple(side.drain_events()) if side else ())


def replay_agent(agent: Agent) -> Iterator[ReplayedCall]:
    """Replay every call of an agent's history, and the next one, under its strategy and with its current tools."""
    tools = agent.schemas()
    agent.side.remember_tools(tools, agent.examples, agent.backend)
    made_by = (agent.side, agent.backend.id)
    return replay_strategy(
        agent.history, agent.strategy, agent.budget(tools), tools, *made_by, overrides=agent.state.overrides
    )


@dataclass
class Replayed:
    """The figures of one strategy, in tokens or counts.

    `prompt` and `prefill` are sums over all calls, the next one among them; `refused` counts calls that the budget
    could not hold, `over` those that would be sent over it, by at most `most_over` tokens. `next` is the view of the
    next call, None if the budget cannot hold it; `fates` counts messages by their fate there, `fitted` those whose fate
    `fit` chose. `asked`: the strategy's own model calls. `failed`: the error of a strategy that broke; else "".
    """

    spec: str
    prompt: int = 0
    prefill: int = 0
    refused: int = 0
    over: int = 0
    most_over: int = 0
    next: View | None = None
    fates: Mapping[Fate, int] = field(default_factory=dict)
    fitted: Mapping[str, int] = field(default_factory=dict)
    asked: list[SideCalled] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)
    failed: str = ""

    @property
    def kept(self) -> int:
        """The number of messages that the next prompt holds unchanged."""
        return self.fates.get("kept", 0)

    @property
    def fits(self) -> bool:
        """Whether every call kept to the budget."""
        return not (self.failed or self.refused or self.over)

    def add(self, call: ReplayedCall, needs: Needs) -> None:
        """Add the figures of the next call of a history whose actions have these `needs`."""
        self.next = view = call.view
        self.asked += call.asked
        self.refused += view is None
        if view:
            self.prompt += view.tokens
            self.prefill += view.prefill
            self.over += view.tokens > view.limit
            self.most_over = max(self.most_over, view.tokens - view.limit)
            self.faults.add(needs, view)


def replay_session(session: Session, spec: str) -> Replayed:
    """The figures of the session's history if this strategy had been in use from the start.

    The session is not changed. A strategy that asks a model asks the one that it would ask in the session. The user's
    overrides count only for a SPEC with the prefix `YOU_AND`.

    Raises:
        UsageError: the SPEC names no strategy.
    """
    if spec == AS_RECORDED:
        return _replay_recorded(session)
    found, fork = Replayed(spec), session.fork(spec.removeprefix(YOU_AND))
    if not spec.startswith(YOU_AND):
        fork.state.overrides = {}
    needs = needs_of(fork.history)
    try:
        for call in replay_agent(fork):
            found.add(call, needs)
    except (Exception, SystemExit) as error:  # the user's own strategy may raise anything
        found.failed = describe_failure(error, spec)
        found.asked += ReplayedCall(events=tuple(fork.side.drain_events())).asked
    if found.next and not found.failed:
        found.fates = Tally(found.next.fates)
        found.fitted = Tally(steps[-1].fate for steps in found.next.steps.values() if steps[-1].by == FIT)
    return found


def spec_in_use(session: Session) -> str:
    """The SPEC of the next call, with `YOU_AND` if the user has overridden messages."""
    return f"{YOU_AND if session.agent.state.overrides else ''}{session.spec}"


def limit_name(strategy: str) -> str:
    """The name of a call's limit: that of a recorded run, which has no budget, is its largest prompt."""
    return "largest prompt" if strategy == AS_RECORDED else "budget"


def is_as_recorded(session: Session) -> bool:
    """Whether the newest call of a session belongs to a recorded run of another agent."""
    prepared = session.agent.ledger.prepared
    return prepared is not None and prepared.strategy == AS_RECORDED


def _replay_recorded(session: Session) -> Replayed:
    """The figures of the agent's own context management; in the next call it would do nothing."""
    agent, tree, last = session.agent, session.journal.tree, session.agent.ledger.prepared
    if last is None or not is_as_recorded(session):
        raise UsageError(f"{AS_RECORDED} only applies to a recorded run", "thimble open FILE opens one")
    then, needs = SavedState(), needs_of(agent.history)
    views = [event.view for line in tree.path(tree.current) if isinstance(event := then.read(line), Prepared)]
    whole, history, schemas = last.view, agent.history, agent.backend.counter.overhead(agent.schemas())
    next_ = measure_view(history, [*whole.messages, *history[len(whole.history) :]], agent.budget(last.tools), whole)
    found = Replayed(AS_RECORDED, fates=Tally(next_.fates))
    for view in (*views, next_):
        more = schemas - view.overhead  # the other rows have these schemas
        prefill = view.prefill + (0 if view.cached else more)
        found.add(ReplayedCall(replace(view, tokens=view.tokens + more, prefill=prefill, limit=agent.limit)), needs)
    return found


def describe_failure(error: BaseException, spec: str) -> str:
    """`line 3: IndexError: list index out of range`: a strategy's error, with its line in the user's own file."""
    return str(error).removeprefix(f"{spec}, ") if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
