"""agent-framework-core: truncation, tool-result compaction, and the composition of both that it recommends."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import agent_framework as framework
from agent_framework import (
    CharacterEstimatorTokenizer,
    Content,
    ContextWindowCompactionStrategy,
    ToolResultCompactionStrategy,
    TruncationStrategy,
    apply_compaction,
)

from benchmarks.judging import BUDGET
from benchmarks.rivals.session import TARGET, Entry, Session
from thimble.agent.messages import Message, ToolCall

TOKENIZER = CharacterEstimatorTokenizer()


def entries() -> list[Entry]:
    """Its defaults with the budget as the trigger, and the same with the first question kept, which is optional."""
    logging.getLogger("agent_framework").setLevel(logging.ERROR)  # it warns when it cannot keep to the budget
    truncation = partial(TruncationStrategy, max_n=BUDGET, tokenizer=TOKENIZER)
    short = partial(truncation, compact_to=TARGET, preserve_first_user_group=True)
    window = partial(
        ContextWindowCompactionStrategy,
        max_context_window_tokens=BUDGET,
        max_output_tokens=0,
        tokenizer=TOKENIZER,
        preserve_first_user_group=True,
    )
    return [
        _entry("TruncationStrategy", partial(truncation, compact_to=BUDGET)),
        _entry(f"TruncationStrategy: to {TARGET:,}, first user kept", short),
        _entry("ToolResultCompactionStrategy", ToolResultCompactionStrategy),
        _entry("ContextWindowCompactionStrategy: first user kept", window),
    ]


def _entry(name: str, make: Callable[[], Any]) -> Entry:
    return Entry(name, lambda: compacting(make()))


def compacting(strategy: Any) -> Session:
    """Compact the history; its annotations of the messages, such as token counts, are made once and stay."""

    async def manage(messages: list[framework.Message]) -> list[framework.Message]:
        return await apply_compaction(messages, strategy=strategy, tokenizer=TOKENIZER)

    return Session(manage, into, out)


def into(messages: Sequence[Message]) -> list[framework.Message]:
    """Convert messages to its format."""
    return [framework.Message(message.role, _contents(message)) for message in messages]


def _contents(message: Message) -> list[Content]:
    if message.role == "tool":
        return [Content.from_function_result(message.call_id, result=message.content)]
    calls = [Content.from_function_call(call.id, call.name, arguments=call.arguments) for call in message.calls]
    return [*([Content.from_text(message.content)] if message.content or not calls else []), *calls]


def out(message: framework.Message) -> list[Message]:
    """Convert one of its messages to ours."""
    results = [one for one in message.contents if one.type == "function_result"]
    if results:
        return [Message("", "tool", str(one.result or ""), call_id=one.call_id or "") for one in results]
    calls = [one for one in message.contents if one.type == "function_call"]
    made = tuple(ToolCall(call.call_id or "", call.name or "", str(call.arguments)) for call in calls)
    return [Message("", message.role, message.text, "", made)]
