"""The ReAct loop: prepare the view, ask the model, run the tools it calls, until it answers."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from itertools import count
from time import perf_counter, time

from thimble.agent import foreign
from thimble.agent import view as views
from thimble.agent.agent import Agent, Grounds, NextCall
from thimble.agent.errors import BudgetError, RepetitionDetected, ToolError, did_you_mean
from thimble.agent.events import (
    Answered,
    Asked,
    Ending,
    Event,
    Prepared,
    Preparing,
    PromptCut,
    QuestionWithdrawn,
    Replied,
    ReplyCancelled,
    ReplyDiscarded,
    ToolCalled,
    ToolReturned,
)
from thimble.agent.messages import Message, ToolCall, last_turn
from thimble.agent.printed_call import ends_with_call
from thimble.agent.prompts import CLOSING_MESSAGE, NUDGE_MESSAGE, QUESTION_AGAIN
from thimble.agent.repair import assign_call_ids
from thimble.agent.reply import Reply

MAX_CALLS = 64
"""The most calls of one reply that are run; the others get a result that says so."""
NOT_RUN = "not run: no tool calls were left for this question"
ANNOUNCED, UNFOUNDED = "it wrote a call as text", "it looked nothing up"
"""The reasons to ask for a reply once more."""
MAX_REPEATS = 2
"""The most times that the same call runs in an exchange."""
LONG_TOKENS = 100
"""The question is repeated after a result of more tokens, if the model has worked examples."""


def run(agent: Agent, question: str) -> Generator[Event, None, None]:
    """Answer one question, event by event; every event is recorded before it is yielded.

    Closing the generator cancels: the current reply is dropped with its connection, complete messages stay in the
    history, and calls without a result get one that says so.

    Raises:
        BudgetError: the budget cannot hold the question, which then does not enter the history.
        ModelError: the server cannot be used. The history is valid and the session can continue.
    """
    asked = Message(next(agent.state.new_ids()), "user", question)
    try:
        yield agent.enter(Asked(asked))
        first = len(agent.history)
        nudge: Sequence[Message] = ()
        for turn in count(1):
            reply = yield from _ask(agent, turn, nudge)
            closing_turn = turn >= agent.max_turns
            why = "" if closing_turn else _why_ask_again(agent, reply, turn)
            if why and why not in [message.why for message in nudge]:
                agent.enter(ReplyDiscarded(reply))
                if why == ANNOUNCED:
                    agent.backend.use_schema()
                nudge = (Message("unfounded", "assistant", reply.content, why=why), NUDGE_MESSAGE)
                continue
            nudge = ()
            for number, call in enumerate(reply.calls, 1):
                yield from _run_call(agent, call, first, NOT_RUN if closing_turn else _too_many(number))
            if closing_turn or not reply.calls:
                yield agent.enter(_make_answered(agent, reply, first, closing_turn))
                return
    except BudgetError:
        if agent.history[-1] is asked:
            agent.enter(QuestionWithdrawn(asked))
        raise
    except (GeneratorExit, KeyboardInterrupt):
        agent.side.stop()
        raise
    finally:
        agent.catch_up()  # the exchange is over, but these calls have been paid for
        agent.close_calls()


def _ask(agent: Agent, turn: int, nudge: Sequence[Message] = ()) -> Generator[Event, None, Message]:
    """One model call; on the closing turn the model is asked to answer, and if possible kept from calling a tool."""
    yield agent.enter(Preparing(turn, agent.strategy_name, agent.limit))
    for waiting in agent.backend.loading():
        yield agent.enter(waiting)
    backend, call = agent.backend, agent.next_call(turn, nudge)
    counter, view = backend.counter, prepare(agent, call)
    yield from agent.catch_up()
    yield agent.enter(Prepared(turn, agent.strategy_name, backend.id, view, counter.exact, call.tools, call.before))

    reply = Reply()
    stream = backend.within(agent.strategy_name, agent.limit).stream(
        view.messages,
        call.tools,
        max_tokens=agent.max_output,
        temperature=agent.temperature,
        expects="answer" if call.closing else "turn",
    )
    try:
        with closing(stream):
            for delta in stream:
                if event := reply.add_delta(delta):
                    yield agent.enter(event)
                    yield from agent.catch_up()
                if reply.stopped_by:
                    break
    except RepetitionDetected:
        reply.stopped_by = "server"
    except (GeneratorExit, KeyboardInterrupt):
        agent.enter(ReplyCancelled(turn, reply.tokens(counter), *reply.times, reply.began))
        raise
    times = reply.times
    calls = assign_call_ids(reply.calls, f"m{len(agent.history) + 1}")
    message = Message(next(agent.state.new_ids()), "assistant", reply.text, reply.thinking, calls)
    written = reply.tokens(counter) if reply.stopped_by else None
    thinking = backend.returns_thinking
    yield agent.enter(Replied(turn, message, reply.usage, *times, reply.stopped_by, reply.began, written, thinking))
    read = reply.usage.prompt_tokens
    if read is not None and not counter.calibrate(view.tokens, read):
        yield agent.enter(PromptCut(turn, view.tokens, read, counter.exact))
    return message


def _make_answered(agent: Agent, reply: Message, first: int, closing_turn: bool) -> Answered:
    """The event that ends an exchange; `first` is the index of the first message after its question."""
    grounds = agent.grounds(reply.content, agent.history, first)
    ending = _find_ending(agent, reply, closing_turn, grounds)
    if ending not in ("answered", "turn-limit"):
        return Answered(reply.content, ending, passage=grounds.passage)
    from_memory = grounds.from_memory and not agent.backend.id.built_in
    return Answered(reply.content, ending, from_memory, grounds.invented, grounds.passage)


def _why_ask_again(agent: Agent, reply: Message, turn: int) -> str:
    """Why to ask for a reply without a call once more; "" if it is an answer.

    Either it wrote a call as text, which is never run, or it is the first reply and rests on nothing that was read.
    """
    if not agent.nudges or not agent.tools or reply.calls or not reply.content.strip():
        return ""
    if ends_with_call(reply.content, agent.offered()):
        return ANNOUNCED
    unfounded = turn == 1 and agent.grounds(reply.content, agent.history, len(agent.history)).from_memory
    return UNFOUNDED if unfounded else ""


def _find_ending(agent: Agent, reply: Message, closing_turn: bool, grounds: Grounds) -> Ending:
    last = agent.ledger.last
    if last and last.usage.finish == "passages":
        return "passages"
    if (last and last.usage.finish == "refusal") or (grounds.declined and not grounds.read):
        return "refused"
    if reply.content.strip():
        return "turn-limit" if closing_turn else "answered"
    return "thought" if reply.thinking.strip() else "empty"


def prepare(agent: Agent, call: NextCall) -> views.View:
    """The view for this call. Raises BudgetError."""
    agent.side.remember_tools(call.tools, agent.examples, agent.backend)
    around = (call.before, call.warm, call.held, agent.examples, _make_reminders(agent, call), agent.state.overrides)
    return views.prepare(agent.history, agent.strategy, call.budget, *around)


def _make_reminders(agent: Agent, call: NextCall) -> list[Message]:
    """The messages after the view of a call: a nudge, the question again, the note that this is the last turn."""
    after = [*call.nudge]
    results = [message for message in agent.history[-1:] if message.role == "tool"]
    if agent.examples and sum(map(agent.backend.counter.count, results)) > LONG_TOKENS:
        asked = next(message for message in reversed(agent.history) if message.role == "user")
        again = QUESTION_AGAIN.format(asked.content)
        after.append(Message("again", "user", again, why="the question again, after a long result"))
    return [*after, CLOSING_MESSAGE] if call.closing else after


def _too_many(number: int) -> str:
    """Why the call of this number in its reply, counted from 1, is not run; "" if it is."""
    return "" if number <= MAX_CALLS else f"not run: only the first {MAX_CALLS} calls of a reply are run"


def _run_call(agent: Agent, call: ToolCall, first: int, refused: str) -> Generator[Event, None, None]:
    """Run a call, or give the reason for refusing it as its result."""
    yield agent.enter(ToolCalled(call))
    began, started = time(), perf_counter()
    try:
        if refused:
            raise ToolError(refused)
        observation, ok = run_tool(agent, call, first), True
    except ToolError as error:
        observation, ok = f"Error: {error.what}", False
    seconds = perf_counter() - started
    yield from agent.catch_up()
    message = Message(next(agent.state.new_ids()), "tool", observation, call_id=call.id, name=call.name)
    counter = agent.backend.counter
    yield agent.enter(ToolReturned(call, message, counter.count(message), counter.exact, seconds, ok, began))


def run_tool(agent: Agent, call: ToolCall, first: int) -> str:
    """The tool's result. `first` is the index of the first message after the question.

    Raises:
        ToolError: the tool raised it, or the call is wrong; the text is for the model.
    """
    reply, *results = agent.history[last_turn(agent.history) :]
    if any(_is_same_call(other, call) for other in reply.calls[: len(results)]):
        raise ToolError("not run: it is the same call as one above")
    tools = agent.offered()
    tool = tools.get(call.name)
    known = f"the tools are {', '.join(tools)}" if tools else "there are no tools"
    if not call.name:
        raise ToolError(f"that call cannot be read: write a tool's name, and its arguments as one JSON object; {known}")
    if tool is None:
        raise ToolError(f"there is no tool named {call.name[:80]!r}; {did_you_mean(call.name, tools) or known}")
    try:
        arguments = foreign.parse_json(call.arguments or "{}")
    except ValueError as error:
        raise ToolError(f"the arguments are not valid JSON: {str(error)[:100]}") from error
    if not isinstance(arguments, dict):
        raise ToolError(f"the arguments must be a JSON object, not {type(arguments).__name__}")
    if _count_repeats(agent.history[first:], call) > MAX_REPEATS:
        raise ToolError("you have made this very call twice for this question. Use what it returned, or answer now")
    return tool.run(arguments)


def _count_repeats(exchange: Sequence[Message], call: ToolCall) -> int:
    """The number of calls in this exchange with the same tool and arguments, up to this one."""
    run_before = sum(message.role == "tool" for message in exchange)
    made = [other for message in exchange for other in message.calls][: run_before + 1]
    return sum(_is_same_call(other, call) for other in made)


def _is_same_call(one: ToolCall, other: ToolCall) -> bool:
    try:
        same = one.arguments == other.arguments or foreign.parse_json(one.arguments) == foreign.parse_json(
            other.arguments
        )
        return bool(one.name == other.name and same)
    except ValueError:
        return False
