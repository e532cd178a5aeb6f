"""LangChain: `trim_messages`, `ClearToolUsesEdit` and `SummarizationMiddleware`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from langchain.agents.middleware import ClearToolUsesEdit, SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately, trim_messages

from benchmarks.judging import BUDGET, SUMMARY
from benchmarks.rivals.session import TARGET, Entry, Session
from thimble.agent.messages import Message, Role, ToolCall

ROLES: dict[str, Role] = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}


def entries() -> list[Entry]:
    """Its recommended settings (a history starts with a human message), and others for one long question."""
    whole = {"keep": ("tokens", TARGET), "trim_tokens_to_summarize": None}
    return [
        Entry("trim_messages: start_on=human", partial(trim, start_on="human")),
        Entry("trim_messages: start_on=human or ai", partial(trim, start_on=("human", "ai"))),
        Entry("trim_messages", trim),
        Entry("ClearToolUsesEdit", clear),
        Entry("ClearToolUsesEdit: keep=1, inputs too", partial(clear, keep=1, clear_tool_inputs=True)),
        Entry("SummarizationMiddleware", summarise, asks=True),
        Entry(f"SummarizationMiddleware: keep {TARGET:,}, untrimmed", partial(summarise, **whole), asks=True),
    ]


def trim(**settings: Any) -> Session:
    """Trim the whole history at each call, as its documentation shows."""

    async def manage(messages: list[BaseMessage]) -> list[BaseMessage]:
        kept = trim_messages(messages, max_tokens=BUDGET, token_counter="approximate", include_system=True, **settings)
        return list(kept)

    return Session(manage, into, out)


def clear(**settings: Any) -> Session:
    """Clear tool results in a copy of the history at each call: a shallow copy instead of its middleware's deep one."""
    edit = ClearToolUsesEdit(trigger=BUDGET, **settings)

    async def manage(messages: list[BaseMessage]) -> list[BaseMessage]:
        edited = list(messages)
        edit.apply(edited, count_tokens=count_tokens_approximately)
        return edited

    return Session(manage, into, out)


def summarise(**settings: Any) -> Session:
    """Summarise; the summarised messages leave the history."""
    middleware = SummarizationMiddleware(FakeListChatModel(responses=[SUMMARY]), trigger=("tokens", BUDGET), **settings)

    async def manage(messages: list[BaseMessage]) -> list[BaseMessage]:
        update = await middleware.abefore_model({"messages": messages}, None)
        if update:
            messages[:] = update["messages"][1:]  # the first entry means: remove all old messages
        return list(messages)

    return Session(manage, into, out)


def into(messages: Sequence[Message]) -> list[BaseMessage]:
    """Convert messages to its format."""
    return list(map(_written, messages))


def _written(message: Message) -> BaseMessage:
    match message.role:
        case "system":
            return SystemMessage(message.content)
        case "user":
            return HumanMessage(message.content)
        case "tool":
            return ToolMessage(message.content, tool_call_id=message.call_id, name=message.name)
        case "assistant":
            calls = [{"id": call.id, "name": call.name, "args": json.loads(call.arguments)} for call in message.calls]
            return AIMessage(message.content, tool_calls=calls)


def out(message: BaseMessage) -> list[Message]:
    """Convert one of its messages to ours."""
    calls = getattr(message, "tool_calls", ())
    made = tuple(ToolCall(call["id"], call["name"], json.dumps(call["args"])) for call in calls)
    answered = getattr(message, "tool_call_id", "")
    return [Message("", ROLES[message.type], str(message.content), "", made, answered, message.name or "")]
