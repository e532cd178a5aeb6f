"""The ReAct loop: prepare the view, ask the model, run the tools it calls, until it answers."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from itertools import count
from time import perf_counter

from agent import view as views
from agent.agent import Agent, NextCall
from agent.errors import BudgetError, ToolError
from agent.events import (
    Answered,
    Asked,
    Ending,
    Event,
    Prepared,
    Preparing,
    PromptCut,
    Replied,
    ToolCalled,
    ToolReturned,
    Withdrawn,
)
from agent.messages import Message, ToolCall
from agent.observe import observe
from agent.prompts import CLOSING
from agent.repair import named
from agent.reply import Reply

MOST_CALLS = 64
"""The most calls of one reply that are run; each other gets a result that says so."""
CLOSING_MESSAGE = Message("closing", "user", CLOSING, why="the last turn: the tools are withdrawn")


def run(agent: Agent, question: str) -> Generator[Event, None, None]:
    """Answer one question, event by event; every event is recorded before it is yielded.

    Closing the generator cancels: the current reply is dropped with its connection, complete messages stay in the
    history, and calls without a result get one that says so.

    Raises:
        BudgetError: the budget cannot hold the question, which then does not enter the history.
        ModelError: the server cannot be used. The history is valid and the session can go on.
    """
    with closing(_exchange(agent, question)) as events:
        for event in events:
            agent.enter(event)
            yield event


def _exchange(agent: Agent, question: str) -> Generator[Event, None, None]:
    asked = Message(next(agent.state.new_ids()), "user", question)
    try:
        yield Asked(asked)
        first = len(agent.history)
        for turn in count(1):
            reply = yield from _ask(agent, turn)
            if not reply.calls:
                last = agent.ledger.last
                refused = last is not None and last.usage.finish == "refusal"
                yield Answered(reply.content, "refused" if refused else _ending(reply, turn >= agent.max_turns))
                return
            for number, call in enumerate(reply.calls, 1):
                yield from _act(agent, call, first, number)
    except BudgetError:
        if agent.history[-1] is asked:
            agent.enter(Withdrawn(asked))
        raise
    finally:
        for paid in agent.side.drain():
            agent.enter(paid)  # the exchange is over, but this call has been paid for
        agent.close_calls()


def _ask(agent: Agent, turn: int) -> Generator[Event, None, Message]:
    """One model call; on the closing turn there are no tools, and the model is asked to answer."""
    yield Preparing(turn, agent.strategy_name, agent.limit)
    backend, call = agent.backend, agent.next_call(turn)
    view = prepare(agent, call)
    yield from agent.side.drain()
    yield Prepared(turn, agent.strategy_name, backend.id, view, backend.counter.exact, call.tools, call.before)

    reply, started = Reply(), perf_counter()
    with closing(backend.stream(view.messages, call.tools, max_tokens=agent.max_output)) as stream:
        yield from reply.read(stream)
    calls = () if call.closing else named(reply.calls, f"m{len(agent.history) + 1}")
    message = Message(next(agent.state.new_ids()), "assistant", reply.text, reply.thinking, calls)
    seconds, first = perf_counter() - started, reply.first_token_seconds
    waited = min(seconds, reply.waited_seconds)
    yield Replied(turn, message, reply.usage, seconds, first, waited, reply.stopped_by)
    read, counter = reply.usage.prompt_tokens, backend.counter
    if read is not None and not counter.calibrate(view.tokens, read):
        yield PromptCut(turn, view.tokens, read, counter.exact)
    return message


def _ending(reply: Message, closing_turn: bool) -> Ending:
    if reply.content.strip():
        return "turn-limit" if closing_turn else "answered"
    return "thought" if reply.thinking.strip() else "empty"


def prepare(agent: Agent, call: NextCall) -> views.View:
    """The view for this call. Raises BudgetError."""
    budget, before, warm, held = call.budget, call.before, call.warm, call.held
    agent.side.offer(call.tools, agent.backend)
    if not call.closing:
        return views.prepare(agent.history, agent.strategy, budget, before, warm, held)
    tight = replace(budget, limit=budget.limit - budget.count(CLOSING_MESSAGE))
    view = views.prepare(agent.history, agent.strategy, tight, before, warm, held)
    closed = views.measure(view.history, [*view.messages, CLOSING_MESSAGE], budget, before, warm, view.notes, held)
    return replace(closed, left_out=view.left_out, fit=view.fit)


def _act(agent: Agent, call: ToolCall, first: int, number: int) -> Generator[Event, None, None]:
    yield ToolCalled(call)
    started = perf_counter()
    try:
        if number > MOST_CALLS:
            raise ToolError(f"not run: only the first {MOST_CALLS} calls of a reply are run")
        observation, ok = observe(agent, call, first), True
    except ToolError as error:
        observation, ok = f"Error: {error.what}", False
    seconds = perf_counter() - started
    yield from agent.side.drain()
    message = Message(next(agent.state.new_ids()), "tool", observation, call_id=call.id, name=call.name)
    counter = agent.backend.counter
    yield ToolReturned(call, message, counter.count(message), counter.exact, seconds, ok)
