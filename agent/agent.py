"""The agent: what a session is made of, and what follows from its parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from agent.budget import Budget, Prices
from agent.events import Cancelled, Entry
from agent.history import History
from agent.ledger import Ledger
from agent.messages import Message, Role, Schema, last_turn
from agent.prices import estimated
from agent.prompts import SYSTEM
from agent.protocols import Backend, Strategy, Tool
from agent.side import SideModel
from agent.view import View

CANCELLED = "[cancelled before it returned]"


@dataclass
class Agent:
    """One session: its parts, any of which may be swapped between two exchanges, its history and its ledger.

    `side` is the model that strategies and tools ask, which may be the agent's own. `on_demand` are tools that the
    model is offered only when the strategy names them. `prices` is the price card; None
    is the one that the timings of the model in use amount to. `record` is told every event, when it is in the ledger.
    """

    backend: Backend
    strategy: Strategy
    strategy_name: str
    tools: Mapping[str, Tool]
    side: SideModel
    limit: int = 8000
    max_turns: int = 12
    max_output: int = 1024
    prices: Prices | None = None
    on_demand: Mapping[str, Tool] = field(default_factory=dict)
    system: str = SYSTEM
    history: History = field(default_factory=History)
    ledger: Ledger = field(default_factory=Ledger)
    record: Callable[[Entry], None] | None = None

    def enter(self, event: Entry) -> None:
        """Enter an event in the ledger and on record; by then it has happened."""
        self.ledger.add(event)
        if self.record:
            self.record(event)

    def add(self, role: Role, content: str, **rest: object) -> Message:
        """Append a message to the history; nothing else does."""
        if not self.history and role != "system":
            self.add("system", self.system)
        numbers = count(len(self.history) + 1)
        fresh = next(made for number in numbers if self.history.place(made := f"m{number}") is None)
        message = Message(fresh, role, content, **rest)  # type: ignore[arg-type]
        self.history = self.history.plus(message)
        return message

    def withdraw(self) -> Message:
        """Take the newest message out of the history again."""
        newest = self.history[-1]
        self.history = self.history.upto(len(self.history) - 1)
        return newest

    def close_calls(self) -> None:
        """Give every call that was left without a result one, so that the history stays sound."""
        turn = self.history[last_turn(self.history) :]
        answered = {message.call_id for message in turn}
        left = [call for message in turn for call in message.calls if call.id not in answered]
        closed = [self.add("tool", CANCELLED, call_id=call.id, name=call.name) for call in left]
        if closed:
            self.enter(Cancelled(tuple(closed)))

    @property
    def model(self) -> str:
        """The backend and its model in one name."""
        return f"{self.backend.name}/{self.backend.model}"

    @property
    def before(self) -> tuple[View | None, bool]:
        """The view of the newest call, and whether the server of the next one knows it: the same model."""
        last = self.ledger.prepared
        return (last.view, last.model == self.model) if last else (None, False)

    def offered(self) -> dict[str, Tool]:
        """The tools that the model may call: the usual ones, and those that the strategy brings."""
        brought = getattr(self.strategy, "tools", ())
        return {**self.tools, **{name: tool for name, tool in self.on_demand.items() if name in brought}}

    def schemas(self, turn: int = 1) -> list[Schema]:
        """What the model is told of the tools in this turn of an exchange: nothing in the last one."""
        return [tool.schema for tool in self.offered().values()] if turn < self.max_turns else []

    def budget(self, tools: Sequence[Schema]) -> Budget:
        """The budget of a call that offers these tools."""
        counter = self.backend.counter
        return Budget(self.limit, counter, counter.overhead(tools), self.price_card())

    def price_card(self) -> Prices:
        """What a token costs now."""
        if self.prices is not None:
            return self.prices
        model = self.model
        return estimated(call for call in self.ledger.calls if call.model == model)
