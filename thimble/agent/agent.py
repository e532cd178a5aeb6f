"""The agent: the parts of a session and its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from thimble.agent.budget import Budget, Prices
from thimble.agent.events import Cancelled, Entry, Replied, SideBegan, SideCalled
from thimble.agent.ledger import Call, Ledger
from thimble.agent.messages import CANCELLED, Message, Schema, last_turn
from thimble.agent.prefix_cache import PrefixCache
from thimble.agent.protocols import Backend, ModelId, Strategy, Tool
from thimble.agent.side import SideModel
from thimble.agent.state import State
from thimble.agent.view import CountCached, View

Happened = TypeVar("Happened", bound=Entry)


@dataclass(frozen=True, slots=True)
class Grounds:
    """The sources of an answer: the names that it cites, `read` or `invented`, and whether a tool returned anything.

    `declined`: it says, in the words of the system prompt, that the question cannot be answered from here. `passage`:
    the best passage of the built-in search for the question, found without the model.
    """

    read: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()
    looked_up: bool = True
    declined: bool = False
    passage: str = ""

    @property
    def from_memory(self) -> bool:
        """Whether nothing was looked up and the answer cites nothing that was read."""
        return not self.looked_up and not self.read


@dataclass(frozen=True, slots=True)
class NextCall:
    """A model call before its view is made.

    `tools`: offered to the model. `closing`: the model must answer now, and calls are not run; the tools stay in the
    prompt, which would share no prefix with earlier ones without them. `nudge`: messages at the end of the prompt that
    ask for an answer once more. `before`: the view of the last call. `warm`: the server may still have that view
    cached, since it went to the same model with the same tools. `held`: counts the messages at the start of a prompt
    that the server has cached, given all prompts it has read.
    """

    tools: Sequence[Schema]
    closing: bool
    budget: Budget
    before: View | None
    warm: bool
    held: CountCached | None = None
    nudge: Sequence[Message] = ()


@dataclass
class Agent:
    """One session: its state and its parts. Any part can be swapped between two exchanges.

    `side`: the model that strategies and tools ask; it may be the agent's own. `on_demand`: tools offered only when the
    strategy names them. `prices`: makes the price card from the calls so far and the model in use. `record`: called
    with every event, after the state has changed. `prefixes`: the prompts that servers can still hold. `examples`:
    worked examples before each prompt, for a model that calls by schema (`agent.prompts`). `nudges`: ask once more for
    an answer for which nothing was looked up. `temperature`: of its replies; None for the server's default. `grounds`:
    finds the sources of an answer in the history; its last argument is the index of the first message after the
    question.
    """

    backend: Backend
    strategy: Strategy
    state: State
    tools: Mapping[str, Tool]
    side: SideModel
    max_turns: int = 12
    max_output: int = 1024
    prices: Callable[[Sequence[Call], ModelId], Prices] = lambda calls, model: Prices()
    on_demand: Mapping[str, Tool] = field(default_factory=dict)
    record: Callable[[Entry], None] | None = None
    prefixes: PrefixCache = field(default_factory=PrefixCache, compare=False)
    examples: Sequence[Message] = ()
    nudges: bool = False
    temperature: float | None = None
    grounds: Callable[[str, Sequence[Message], int], Grounds] = lambda answer, history, first: Grounds()

    def __post_init__(self) -> None:
        self.side.prefixes = self.prefixes

    @property
    def history(self) -> list[Message]:
        """Every message of the session."""
        return self.state.history

    @property
    def ledger(self) -> Ledger:
        """The account of all model calls."""
        return self.state.ledger

    @property
    def limit(self) -> int:
        """The prompt tokens that a call may use."""
        return self.state.budget

    @property
    def strategy_name(self) -> str:
        """The SPEC of the strategy in use."""
        return self.state.strategy

    def enter(self, event: Happened) -> Happened:
        """Apply an event to the state, record it, and return it."""
        self.state.apply(event)
        if self.record:
            self.record(event)
        last = self.ledger.prepared
        if isinstance(event, Replied) and last:
            self.prefixes.read(last.model, last.tools, last.view.messages, self.backend.counter)
        return event

    def use(self, backend: Backend) -> None:
        """Use this backend from now on; so do the strategies, unless they have their own model."""
        if self.side.backend is self.backend:
            self.side.backend = backend
        self.backend = backend

    def catch_up(self) -> list[SideBegan | SideCalled]:
        """Enter the side calls that have begun or ended since the last time; return these events."""
        return [*map(self.enter, self.side.drain_events())]

    def close_calls(self) -> None:
        """Add a result to every call without one, so that the history stays valid."""
        turn = self.history[last_turn(self.history) :]
        answered = {message.call_id for message in turn}
        left = [call for message in turn for call in message.calls if call.id not in answered]
        if left:
            ids = self.state.new_ids()
            results = (Message(next(ids), "tool", CANCELLED, call_id=call.id, name=call.name) for call in left)
            self.enter(Cancelled(tuple(results)))

    def offered(self) -> dict[str, Tool]:
        """The tools that the model may call: the usual ones, and those on demand that the strategy names."""
        brought = getattr(self.strategy, "tools", ())
        return {**self.tools, **{name: tool for name, tool in self.on_demand.items() if name in brought}}

    def schemas(self) -> list[Schema]:
        """The schemas of the tools that the model may call."""
        return [tool.schema for tool in self.offered().values()]

    def next_call(self, turn: int = 1, nudge: Sequence[Message] = ()) -> NextCall:
        """The call of this turn of an exchange."""
        closing, tools = turn >= self.max_turns, self.schemas()
        last = self.ledger.prepared
        before = last.view if last else None
        warm = last is not None and last.model == self.backend.id and [*last.tools] == tools
        held = partial(self.prefixes.count_cached, self.backend.id, tools, self.backend.counter)
        return NextCall(tools, closing, self.budget(tools), before, warm, held, nudge)

    def budget(self, tools: Sequence[Schema]) -> Budget:
        """The budget of a call that offers these tools."""
        counter = self.backend.counter
        return Budget(self.limit, counter, counter.overhead(tools), self.price_card())

    def price_card(self) -> Prices:
        """The current price of a token."""
        return self.prices(self.ledger.calls, self.backend.id)
