"""strands-agents: its conversation managers, and its context manager with the settings that it recommends.

Its own hooks run before and after each call, as in its agents. The server refuses a prompt that exceeds the budget;
then the manager reduces the history and the agent calls again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any

from strands import Agent
from strands.agent.conversation_manager import SlidingWindowConversationManager, SummarizingConversationManager
from strands.hooks import AfterModelCallEvent, BeforeModelCallEvent
from strands.models import Model
from strands.types.exceptions import ContextWindowOverflowException

from benchmarks.judging import BUDGET, SUMMARY
from benchmarks.rivals.session import Entry, Session
from thimble.agent.messages import Message, ToolCall

AHEAD: dict[str, Any] = {"proactive_compression": True, "pin_first": 1}
"""Reduce at 70% of the window, and keep the first message: both are optional."""


def entries() -> list[Entry]:
    """Its defaults, the same with the optional settings, and its context manager."""
    logging.getLogger("strands").setLevel(logging.CRITICAL)  # it warns when it cannot reduce the history
    ahead = partial(SlidingWindowConversationManager, per_turn=True, **AHEAD)
    return [
        _entry("SlidingWindow", SlidingWindowConversationManager),
        _entry("SlidingWindow: each turn, at 70%, first kept", ahead),
        _entry("Summarizing", SummarizingConversationManager, asks=True),
        _entry("Summarizing: at 70%, first kept", partial(SummarizingConversationManager, **AHEAD), asks=True),
        Entry("context_manager=auto", lambda: managing(context_manager="auto"), asks=True),
    ]


def _entry(name: str, make: Callable[[], Any], asks: bool = False) -> Entry:
    return Entry(name, lambda: managing(conversation_manager=make()), asks)


class Server(Model):
    """A model with the budget as its context window. It counts as the benchmark, and only writes the summary."""

    def get_config(self) -> dict[str, Any]:
        """The context window."""
        return {"context_window_limit": BUDGET}

    def update_config(self, **config: Any) -> None:
        """Not used."""

    def structured_output(self, *_: Any, **__: Any) -> Any:
        """Not used."""
        raise NotImplementedError

    async def count_tokens(self, messages: Any, *_: Any, system_prompt: str | None = None, **__: Any) -> int:
        """Tokens of four characters, and four more for each message."""
        system = 4 + len(system_prompt) // 4 if system_prompt else 0
        return system + sum(map(_count, messages))

    async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """Write the summary."""
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": SUMMARY}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def _count(message: Any) -> int:
    letters, results = 0, 0
    for block in message["content"]:
        if "toolResult" in block:
            results += 4 + sum(len(part.get("text", "")) for part in block["toolResult"]["content"]) // 4
        elif "toolUse" in block:
            letters += len(block["toolUse"]["name"]) + len(json.dumps(block["toolUse"]["input"]))
        else:
            letters += len(block.get("text", ""))
    return results or 4 + letters // 4


def managing(**settings: Any) -> Session:
    """Add the new messages to an agent, which manages its history when a question is answered and at each call."""
    agent, held = Agent(model=Server(), callback_handler=None, **settings), 0

    async def manage(messages: list[Any]) -> list[Any]:
        nonlocal held
        for message in messages[held:]:
            if isinstance(message, str):
                agent.system_prompt = message
                continue
            if agent.messages and message["role"] == "user" and "text" in message["content"][0]:
                agent.conversation_manager.apply_management(agent)
            await agent._append_messages(message)
        await _reduce(agent)
        messages[:] = [*([agent.system_prompt] if agent.system_prompt else []), *agent.messages]
        held = len(messages)
        return list(messages)

    return Session(manage, into, out)


async def _reduce(agent: Agent) -> None:
    """Call until the prompt fits, or the agent gives up, or nothing becomes shorter (it would repeat that for ever)."""
    refused, last = ContextWindowOverflowException("the prompt is too long"), 0
    while True:
        tokens = await _tokens(agent)
        await agent.hooks.invoke_callbacks_async(BeforeModelCallEvent(agent=agent, projected_input_tokens=tokens))
        tokens = await _tokens(agent)
        if tokens <= BUDGET or tokens == last:
            return
        last = tokens
        after, _ = await agent.hooks.invoke_callbacks_async(AfterModelCallEvent(agent=agent, exception=refused))
        if not after.retry:
            try:
                agent.conversation_manager.reduce_context(agent, e=refused)
            except ContextWindowOverflowException:
                return


async def _tokens(agent: Agent) -> int:
    return await agent.model.count_tokens(agent.messages, system_prompt=agent.system_prompt)


def into(messages: Sequence[Message]) -> list[Any]:
    """Convert messages to its format: the system prompt is a text; a turn's results are one message of the user."""
    made: list[Any] = []
    for message in messages:
        if message.role == "system":
            made.append(message.content)
        elif message.role == "tool":
            result = {"toolUseId": message.call_id, "status": "success", "content": [{"text": message.content}]}
            if not (made and "toolResult" in made[-1]["content"][0]):
                made.append({"role": "user", "content": []})
            made[-1]["content"].append({"toolResult": result})
        else:
            calls = [
                {"toolUse": {"toolUseId": call.id, "name": call.name, "input": json.loads(call.arguments)}}
                for call in message.calls
            ]
            text = [{"text": message.content}] if message.content or not calls else []
            made.append({"role": message.role, "content": [*text, *calls]})
    return made


def out(message: Any) -> list[Message]:
    """Convert one of its messages to ours; one of the user becomes a message for each part."""
    if isinstance(message, str):
        return [Message("", "system", message)]
    content = message["content"]
    if message["role"] == "user":
        return list(map(_read, content))
    calls = [block["toolUse"] for block in content if "toolUse" in block]
    made = tuple(ToolCall(call["toolUseId"], call["name"], json.dumps(call["input"])) for call in calls)
    return [Message("", "assistant", "".join(block.get("text", "") for block in content), "", made)]


def _read(block: Any) -> Message:
    if "toolResult" not in block:
        return Message("", "user", block["text"])
    text = "".join(part["text"] for part in block["toolResult"]["content"])
    return Message("", "tool", text, call_id=block["toolResult"]["toolUseId"])
