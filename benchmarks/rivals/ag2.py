"""ag2: the middleware that limits the history, and the policies that assemble a prompt.

Nothing here asks a model: its compaction, which can, runs only after an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ag2.assembly import AssemblerMiddleware
from ag2.context import ConversationContext
from ag2.events import (
    BaseEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextInput,
    ToolCallEvent,
    ToolCallsEvent,
    ToolResult,
    ToolResultEvent,
    ToolResultsEvent,
)
from ag2.middleware import HistoryLimiter, TokenLimiter
from ag2.policies import SlidingWindowPolicy, TokenBudgetPolicy
from ag2.stream import MemoryStream

from benchmarks.judging import BUDGET
from benchmarks.rivals.session import Entry, Session
from thimble.agent.messages import Message, ToolCall

EVENTS = 60
"""The events of twelve tool steps: about 8,000 tokens in most conversations here."""


def entries() -> list[Entry]:
    """Each with the budget, or with so many events: these have no defaults."""
    budget, window = [TokenBudgetPolicy(BUDGET)], [SlidingWindowPolicy(EVENTS)]
    return [
        Entry("TokenLimiter", lambda: limiting(TokenLimiter(BUDGET))),
        Entry("TokenBudgetPolicy", lambda: limiting(partial(AssemblerMiddleware, policies=budget))),
        Entry(f"HistoryLimiter: {EVENTS}", lambda: limiting(HistoryLimiter(EVENTS)), counts=False),
        Entry(
            f"SlidingWindowPolicy: {EVENTS}",
            lambda: limiting(partial(AssemblerMiddleware, policies=window)),
            counts=False,
        ),
    ]


def limiting(make: Callable[..., Any]) -> Session:
    """Run the middleware on all events at each call, as its agents do."""
    context = ConversationContext(MemoryStream())

    async def manage(events: list[Any]) -> list[Any]:
        shown: list[Any] = [event for event in events[:1] if isinstance(event, str)]
        history = events[len(shown) :]
        context.prompt = list(shown)

        async def send(kept: Sequence[BaseEvent], context: Any) -> ModelResponse:
            shown[:] = [*context.prompt, *kept]
            return ModelResponse()

        if history:
            await make(history[-1], context).on_llm_call(send, history, context)
        return shown

    return Session(manage, into, out)


def into(messages: Sequence[Message]) -> list[Any]:
    """Convert messages to its events: each call and each result is there twice, as in its agents."""
    made: list[Any] = []
    results: list[ToolResultEvent] = []
    for message, following in zip(messages, [*messages[1:], None], strict=True):
        if message.role == "system":
            made.append(message.content)
        elif message.role == "user":
            made.append(ModelRequest([TextInput(message.content)]))
        elif message.role == "tool":
            result = ToolResult(message.content)
            results.append(ToolResultEvent(parent_id=message.call_id, name=message.name, result=result))
            if following is None or following.role != "tool":
                made += [*results, ToolResultsEvent(results)]
                results = []
        else:
            calls = [ToolCallEvent(call.name, id=call.id, arguments=call.arguments) for call in message.calls]
            text = ModelMessage(message.content) if message.content or not calls else None
            made.append(ModelResponse(text, tool_calls=ToolCallsEvent(calls)))
            made += [ToolCallsEvent(calls), *calls] if calls else []
    return made


def out(event: Any) -> list[Message]:
    """Convert one of its events to the messages that its clients send; they send nothing for the copies."""
    match event:
        case str():
            return [Message("", "system", event)]
        case ModelRequest():
            return [Message("", "user", part.content) for part in event.parts if isinstance(part, TextInput)]
        case ModelResponse():
            calls = (ToolCall(call.id, call.name, call.arguments) for call in event.tool_calls.calls)
            return [Message("", "assistant", event.content or "", "", tuple(calls))]
        case ToolResultsEvent():
            return list(map(_read, event.results))
        case _:
            return []


def _read(result: ToolResultEvent) -> Message:
    text = "".join(part.content for part in result.result.parts if isinstance(part, TextInput))
    return Message("", "tool", text, call_id=result.parent_id, name=result.name or "")
