"""pydantic-ai-harness: its compaction, by `compact_now` if its own estimate exceeds the trigger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.test import TestModel
from pydantic_ai_harness.compaction import (
    ClearToolResults,
    SlidingWindowCompaction,
    SummarizingCompaction,
    TieredCompaction,
    compact_now,
    estimate_context_tokens,
)

from benchmarks.judging import BUDGET, SUMMARY
from benchmarks.rivals.session import TARGET, Entry, Session
from thimble.agent.messages import Message, ToolCall


def four_characters(text: str) -> int:
    """The tokens of texts as the benchmark counts them, each as one message."""
    return 4 + len(text) // 4


DEFAULT: dict[str, Any] = {"max_tokens": BUDGET}
ALIKE: dict[str, Any] = {"max_tokens": BUDGET, "tokenizer": four_characters}
SHORT: dict[str, Any] = {**ALIKE, "keep_tokens": TARGET}


def entries() -> list[Entry]:
    """Its defaults with the budget as the trigger, and settings for this budget with the benchmark's counter."""
    tiers = [ClearToolResults(max_tokens=1), SlidingWindowCompaction(max_messages=1, keep_tokens=TARGET)]
    tiered = partial(TieredCompaction, tiers, target_tokens=BUDGET, tokenizer=four_characters)
    return [
        _entry("SlidingWindowCompaction", partial(SlidingWindowCompaction, **DEFAULT)),
        _entry(f"SlidingWindowCompaction: keep {TARGET:,}", partial(SlidingWindowCompaction, **SHORT)),
        _entry("ClearToolResults", partial(ClearToolResults, **DEFAULT)),
        _entry("ClearToolResults: min 2,000", partial(ClearToolResults, min_clear_tokens=2_000, **ALIKE)),
        _entry(f"TieredCompaction: clear, slide to {TARGET:,}", tiered),
        _entry("SummarizingCompaction", partial(SummarizingCompaction, **DEFAULT), asks=True),
        _entry(f"SummarizingCompaction: keep {TARGET:,}", partial(SummarizingCompaction, **SHORT), asks=True),
    ]


def _entry(name: str, make: Callable[[], Any], asks: bool = False) -> Entry:
    return Entry(name, lambda: compacting(make()), asks)


def compacting(strategy: Any) -> Session:
    """Replace the history by the compacted messages, as in a run of an agent."""
    model = TestModel(call_tools=[], custom_output_text=SUMMARY)

    async def manage(messages: list[ModelMessage]) -> list[ModelMessage]:
        if estimate_context_tokens(messages, strategy.tokenizer) > BUDGET:
            messages[:] = await compact_now(strategy, messages, model=model, tokenizer=strategy.tokenizer)
        return list(messages)

    return Session(manage, into, out)


def into(messages: Sequence[Message]) -> list[ModelMessage]:
    """Convert messages to its format: a turn's results are one request, as are the system prompt and the question."""
    made: list[ModelMessage] = []
    for message in messages:
        if message.role == "assistant":
            calls = [ToolCallPart(call.name, call.arguments, call.id) for call in message.calls]
            text = [TextPart(message.content)] if message.content or not calls else []
            made.append(ModelResponse([*text, *calls]))
        elif made and isinstance(made[-1], ModelRequest):
            made[-1] = ModelRequest([*made[-1].parts, _part(message)])
        else:
            made.append(ModelRequest([_part(message)]))
    return made


def _part(message: Message) -> SystemPromptPart | UserPromptPart | ToolReturnPart:
    if message.role == "tool":
        return ToolReturnPart(message.name, message.content, message.call_id)
    return SystemPromptPart(message.content) if message.role == "system" else UserPromptPart(message.content)


def out(message: ModelMessage) -> list[Message]:
    """Convert one of its messages to ours; a request becomes a message for each part."""
    if isinstance(message, ModelRequest):
        return list(map(_read, message.parts))
    text = "".join(one.content for one in message.parts if isinstance(one, TextPart))
    calls = [one for one in message.parts if isinstance(one, ToolCallPart)]
    made = tuple(ToolCall(call.tool_call_id, call.tool_name, call.args_as_json_str()) for call in calls)
    return [Message("", "assistant", text, "", made)]


def _read(part: Any) -> Message:
    if isinstance(part, ToolReturnPart):
        return Message("", "tool", str(part.content), call_id=part.tool_call_id, name=part.tool_name)
    return Message("", "system" if isinstance(part, SystemPromptPart) else "user", str(part.content))
