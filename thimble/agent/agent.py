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
from thimble.agent.view import Held, View

Happened = TypeVar("Happened", bound=Entry)


@dataclass(frozen=True, slots=True)
class Grounds:
    """What an answer rests on: the names that it cites, `read` and `invented`, and whether a tool returned anything.

    `declined`: it says, as the system prompt asks, that the question cannot be answered from here. `passage`: what the
    built-in search finds for the question, beside the model.
    """

    read: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()
    looked_up: bool = True
    declined: bool = False
    passage: str = ""

    @property
    def from_memory(self) -> bool:
        """Whether nothing was looked up, and nothing that was read is cited."""
        return not self.looked_up and not self.read


@dataclass(frozen=True, slots=True)
class NextCall:
    """A model call before its view is made.

    `tools` are offered with it. `closing`: the model must answer now, and a call is not run; the tools stay, since
    without them a prompt would share no prefix with those before. `nudge`: put at its end, to ask for an answer once
    more. `before`: the view of the last call. `warm`: the
    server may still have that view cached, since it went to the same model with the same tools. `held` says how many
    messages at the start of a prompt it has cached, by all that it has read.
    """

    tools: Sequence[Schema]
    closing: bool
    budget: Budget
    before: View | None
    warm: bool
    held: Held | None = None
    nudge: Sequence[Message] = ()


@dataclass
class Agent:
    """One session: its state and its parts. Any part can be swapped between two exchanges.

    `side`: the model that strategies and tools ask; it may be the agent's own. `on_demand`: tools offered only when the
    strategy names them. `prices`: the price card, by the calls so far and the model in use. `record` gets every event
    after the state has changed. `prefixes`: the prompts that servers can still hold. `examples`: worked examples before
    each prompt, for a model that calls by schema (`agent.prompts`). `nudges`: an answer that rests on nothing is asked
    for once more. `temperature`: of its replies; None for that of the server. `grounds`: what an answer rests on, by
    the history and the place where what came after its question begins.
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
        """Tokens of prompt that a call may use."""
        return self.state.budget

    @property
    def strategy_name(self) -> str:
        """The SPEC of the strategy in use."""
        return self.state.strategy

    def enter(self, event: Happened) -> Happened:
        """Add an event that has already happened to the state and the journal; the event itself."""
        self.state.take(event)
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
        """Enter what side calls have begun and ended by now; these events."""
        return [*map(self.enter, self.side.drain())]

    def close_calls(self) -> None:
        """Give every call without a result one, so that the history stays valid."""
        turn = self.history[last_turn(self.history) :]
        answered = {message.call_id for message in turn}
        left = [call for message in turn for call in message.calls if call.id not in answered]
        if left:
            ids = self.state.new_ids()
            results = (Message(next(ids), "tool", CANCELLED, call_id=call.id, name=call.name) for call in left)
            self.enter(Cancelled(tuple(results)))

    def offered(self) -> dict[str, Tool]:
        """The tools that the model may call: the usual ones, and the ones that the strategy names."""
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
        held = partial(self.prefixes.kept, self.backend.id, tools, self.backend.counter)
        return NextCall(tools, closing, self.budget(tools), before, warm, held, nudge)

    def budget(self, tools: Sequence[Schema]) -> Budget:
        """The budget of a call that offers these tools."""
        counter = self.backend.counter
        return Budget(self.limit, counter, counter.overhead(tools), self.price_card())

    def price_card(self) -> Prices:
        """The current price of a token."""
        return self.prices(self.ledger.calls, self.backend.id)
