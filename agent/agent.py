"""The agent: the parts of a session, its state, and what follows from both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agent.budget import Budget, Prices
from agent.events import Cancelled, Entry
from agent.history import History
from agent.ledger import Ledger
from agent.messages import Message, Schema, last_turn
from agent.prices import Timings
from agent.protocols import Backend, Strategy, Tool
from agent.side import SideModel
from agent.state import State
from agent.view import View

CANCELLED = "[cancelled before it returned]"


@dataclass(frozen=True, slots=True)
class NextCall:
    """What is known of a model call before its view is made.

    `tools` are offered with it; `closing` says that the model must answer now, without tools. `before` is the view of
    the call before, `warm` whether the server may still hold it: the same model was asked.
    """

    tools: Sequence[Schema]
    closing: bool
    budget: Budget
    before: View | None
    warm: bool


@dataclass
class Agent:
    """One session: its state, and its parts, any of which may be swapped between two exchanges.

    `side` is the model that strategies and tools ask, which may be the agent's own. The model is offered a tool that is
    `on_demand` only when the strategy names it. `prices` is the price card; with None the timings of the model in use
    make one. `record` is given every event after the state has changed.
    """

    backend: Backend
    strategy: Strategy
    state: State
    tools: Mapping[str, Tool]
    side: SideModel
    max_turns: int = 12
    max_output: int = 1024
    prices: Prices | None = None
    on_demand: Mapping[str, Tool] = field(default_factory=dict)
    record: Callable[[Entry], None] | None = None
    _timings: Timings | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def history(self) -> History:
        """Every message of the session."""
        return self.state.history

    @property
    def ledger(self) -> Ledger:
        """The account of all model calls."""
        return self.state.ledger

    @property
    def limit(self) -> int:
        """Tokens of prompt that a call may use."""
        return self.state.limit

    @property
    def strategy_name(self) -> str:
        """The SPEC of the strategy in use."""
        return self.state.strategy

    def enter(self, event: Entry) -> None:
        """Add an event that has happened to the state and to the journal."""
        self.state.take(event)
        if self.record:
            self.record(event)

    def use(self, backend: Backend) -> None:
        """Go on with this backend; so do the strategies, unless they have a model of their own."""
        if self.side.backend is self.backend:
            self.side.backend = backend
        self.backend = backend

    def close_calls(self) -> None:
        """Give every call that was left without a result one, so that the history stays sound."""
        turn = self.history[last_turn(self.history) :]
        answered = {message.call_id for message in turn}
        left = [call for message in turn for call in message.calls if call.id not in answered]
        if left:
            ids = self.state.new_ids()
            results = (Message(next(ids), "tool", CANCELLED, call_id=call.id, name=call.name) for call in left)
            self.enter(Cancelled(tuple(results)))

    def offered(self) -> dict[str, Tool]:
        """The tools that the model may call: the usual ones, and those that the strategy brings."""
        brought = getattr(self.strategy, "tools", ())
        return {**self.tools, **{name: tool for name, tool in self.on_demand.items() if name in brought}}

    def schemas(self) -> list[Schema]:
        """What the model learns of the tools."""
        return [tool.schema for tool in self.offered().values()]

    def next_call(self, turn: int = 1) -> NextCall:
        """The call of this turn of an exchange. In the last turn the tools are withdrawn."""
        closing = turn >= self.max_turns
        tools = [] if closing else self.schemas()
        last = self.ledger.prepared
        before, warm = (last.view, last.model == self.backend.id) if last else (None, False)
        return NextCall(tools, closing, self.budget(tools), before, warm)

    def budget(self, tools: Sequence[Schema]) -> Budget:
        """The budget of a call that offers these tools."""
        counter = self.backend.counter
        return Budget(self.limit, counter, counter.overhead(tools), self.price_card())

    def price_card(self) -> Prices:
        """What a token costs now."""
        if self.prices is not None:
            return self.prices
        if self._timings is None or self._timings.calls is not self.ledger.calls:
            self._timings = Timings(self.ledger.calls)
        return self._timings.prices(self.backend.id)
