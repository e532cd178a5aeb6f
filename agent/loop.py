"""The ReAct loop: prepare the view, ask the model, run the tools it calls, until it answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import count
from time import perf_counter
from typing import Literal

from agent import view as views
from agent.budget import Budget, Prices
from agent.errors import BudgetError, NotOnTape, ToolError
from agent.events import (
    Answered,
    Asked,
    Cancelled,
    Ending,
    Entry,
    Event,
    Prepared,
    Preparing,
    PromptCut,
    Replied,
    Said,
    ToolCalled,
    ToolReturned,
    Withdrawn,
)
from agent.ledger import Ledger
from agent.messages import Message, Role, ToolCall, last_turn
from agent.prices import estimated
from agent.prompts import CLOSING, SYSTEM
from agent.protocols import Backend, Delta, Schema, Sent, Strategy, Text, Tool, Usage, Waiting
from agent.repair import named
from agent.side import SideModel

CANCELLED = "[cancelled before it returned]"
CLOSING_MESSAGE = Message("closing", "user", CLOSING, why="the last turn: the tools are withdrawn")
REPEATS = 2


@dataclass
class Agent:
    """One session: its parts, any of which may be swapped between two exchanges, its history and its ledger.

    `on_demand` are tools that the model is offered only when the strategy names them. `prices` is the price card; None
    is the one that the timings of the model in use amount to. `record` is told every event, when it is in the ledger.
    """

    backend: Backend
    strategy: Strategy
    strategy_name: str
    tools: Mapping[str, Tool]
    limit: int = 8000
    max_turns: int = 12
    max_output: int = 1024
    side: SideModel | None = None
    prices: Prices | None = None
    on_demand: Mapping[str, Tool] = field(default_factory=dict)
    system: str = SYSTEM
    history: list[Message] = field(default_factory=list)
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
        taken = {message.id for message in self.history}
        fresh = next(made for number in count(len(taken) + 1) if (made := f"m{number}") not in taken)
        message = Message(fresh, role, content, **rest)  # type: ignore[arg-type]
        self.history.append(message)
        return message

    @property
    def model(self) -> str:
        """The backend and its model in one name."""
        return f"{self.backend.name}/{self.backend.model}"

    @property
    def before(self) -> tuple[views.View | None, bool]:
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


def run(agent: Agent, question: str) -> Generator[Event, None, None]:
    """Answer one question, event by event; every event is entered before it is yielded.

    Closing the generator cancels: the reply under way is dropped with its connection, what was complete stays in
    the history, and calls that had no result yet get one that says so.

    Raises:
        BudgetError: the budget cannot hold the question; it is not taken into the history.
        NotOnTape: a recording cannot answer the question; it is not taken into the history.
        ModelError: the server cannot be used. The history is sound and the session can go on.
    """
    with closing(_exchange(agent, question)) as events:
        for event in events:
            agent.enter(event)
            yield event


def _exchange(agent: Agent, question: str) -> Generator[Event, None, None]:
    asked = agent.add("user", question)
    first = len(agent.history)
    try:
        yield Asked(asked)
        for turn in count(1):
            closing_turn = turn >= agent.max_turns
            reply = yield from _ask(agent, turn)
            if not reply.calls:
                yield Answered(reply.content, _ending(reply, closing_turn))
                return
            for call in reply.calls:
                yield from _act(agent, call, first)
    except (BudgetError, NotOnTape):
        if agent.history[-1] is asked:
            agent.enter(Withdrawn(agent.history.pop()))
        raise
    finally:
        for paid in agent.side.drain() if agent.side else ():
            agent.enter(paid)  # nobody is told any more, but it was paid for
        close_calls(agent)


def _ask(agent: Agent, turn: int) -> Generator[Event, None, Message]:
    """One model call; on the closing turn the tools are withdrawn and the model is asked to answer."""
    tools = agent.schemas(turn)
    yield Preparing(turn, agent.strategy_name, agent.limit)
    view = prepare(agent, turn)
    yield from agent.side.drain() if agent.side else ()
    yield Prepared(turn, agent.strategy_name, agent.model, view, agent.backend.counter.exact, tools)

    reply, started = _Reply(), perf_counter()
    with closing(agent.backend.stream(view.messages, tools, max_tokens=agent.max_output)) as stream:
        for delta in stream:
            shown = reply.take(delta, perf_counter() - started)
            if shown:
                yield shown
    calls = () if turn >= agent.max_turns else named(reply.calls, f"m{len(agent.history) + 1}")
    message = agent.add("assistant", "".join(reply.text), thinking="".join(reply.thinking), calls=calls)
    seconds, first = perf_counter() - started, reply.first_token_seconds
    yield Replied(turn, message, reply.usage, seconds, first, min(seconds, reply.waited_seconds))
    read, counter = reply.usage.prompt_tokens, agent.backend.counter
    if read is not None and not counter.calibrate(view.tokens, read):
        yield PromptCut(turn, view.tokens, read, counter.exact)
    return message


def _ending(reply: Message, closing_turn: bool) -> Ending:
    if reply.content.strip():
        return "turn-limit" if closing_turn else "answered"
    return "thought" if reply.thinking.strip() else "empty"


@dataclass
class _Reply:
    """A reply as it comes in."""

    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    first_token_seconds: float | None = None
    passed_seconds: float = 0.0

    @property
    def waited_seconds(self) -> float:
        """Seconds in which the server did not compute: it was busy, or loaded the model."""
        return self.passed_seconds + (self.usage.load_seconds or 0)

    def take(self, delta: Delta, seconds: float) -> Said | Sent | Waiting | None:
        """Add a delta that came so many seconds after the question; what there is to show of it."""
        if isinstance(delta, Usage):
            self.usage = delta
            return None
        if isinstance(delta, Sent):
            return delta
        if isinstance(delta, Waiting):
            self.passed_seconds += delta.seconds
            return delta
        if self.first_token_seconds is None:
            self.first_token_seconds = seconds
        if isinstance(delta, ToolCall):
            self.calls.append(delta)
            return None
        kind: Literal["text", "thinking"] = "text" if isinstance(delta, Text) else "thinking"
        getattr(self, kind).append(delta.text)
        return Said(kind, delta.text)


def prepare(agent: Agent, turn: int) -> views.View:
    """The view that the call of this turn is sent. Raises BudgetError."""
    tools = agent.schemas(turn)
    budget = agent.budget(tools)
    if agent.side:
        agent.side.offered = tools if agent.side.backend is agent.backend else ()
    before, warm = agent.before
    if turn < agent.max_turns:
        return views.prepare(agent.history, agent.strategy, budget, before, warm)
    tight = replace(budget, limit=budget.limit - budget.count(CLOSING_MESSAGE))
    view = views.prepare(agent.history, agent.strategy, tight)
    closed = views.measure(view.history, [*view.messages, CLOSING_MESSAGE], budget, before, warm, view.notes)
    return replace(closed, left_out=view.left_out)


def _act(agent: Agent, call: ToolCall, first: int) -> Generator[Event, None, None]:
    yield ToolCalled(call)
    started = perf_counter()
    try:
        observation, ok = _observe(agent, call, first), True
    except ToolError as error:
        observation, ok = f"Error: {error.what}", False
    seconds = perf_counter() - started
    yield from agent.side.drain() if agent.side else ()
    message = agent.add("tool", observation, call_id=call.id, name=call.name)
    counter = agent.backend.counter
    yield ToolReturned(call, message, counter.count(message), counter.exact, seconds, ok)


def _observe(agent: Agent, call: ToolCall, first: int) -> str:
    tools = agent.offered()
    tool = tools.get(call.name)
    known = f"the tools are {', '.join(tools)}" if tools else "there are no tools"
    if not call.name:
        raise ToolError(f"that call cannot be read: write a tool's name, and its arguments as one JSON object; {known}")
    if tool is None:
        near = get_close_matches(call.name, tools, 1)
        raise ToolError(f"there is no tool named {call.name[:80]!r}; {f'did you mean {near[0]}?' if near else known}")
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise ToolError(f"the arguments are not valid JSON: {str(error)[:100]}") from error
    if not isinstance(arguments, dict):
        raise ToolError(f"the arguments must be a JSON object, not {type(arguments).__name__}")
    if _repeats(agent.history[first:], call) > REPEATS:
        raise ToolError("you have made this very call twice for this question. Use what it returned, or answer now")
    return tool.run(arguments)


def _repeats(exchange: Sequence[Message], call: ToolCall) -> int:
    """How often this exchange has asked for the same tool with the same arguments, up to this call."""
    run_before = sum(message.role == "tool" for message in exchange)
    made = [other for message in exchange for other in message.calls][: run_before + 1]
    return sum(other.name == call.name and _same_json(other.arguments, call.arguments) for other in made)


def _same_json(left: str, right: str) -> bool:
    try:
        return left == right or bool(json.loads(left) == json.loads(right))
    except (ValueError, RecursionError):
        return False


def close_calls(agent: Agent) -> None:
    """Give every call that was left without a result one, so that the history stays sound."""
    turn = agent.history[last_turn(agent.history) :]
    answered = {message.call_id for message in turn}
    left = [call for message in turn for call in message.calls if call.id not in answered]
    closed = [agent.add("tool", CANCELLED, call_id=call.id, name=call.name) for call in left]
    if closed:
        agent.enter(Cancelled(tuple(closed)))
