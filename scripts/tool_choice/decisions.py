"""Make training conversations about made-up libraries, with tool calls by schema.

The results come from the real tools; the right call and answer are known because the library is made up.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scripts.tool_choice.made_up import MadeUp, Wanted
from thimble.agent.messages import Message, ToolCall
from thimble.agent.prompts import BY_SCHEMA, CANNOT_ANSWER
from thimble.agent.protocols import Embedder, Tool
from thimble.corpus.observations import find_sources
from thimble.lab.training.fine_tune import Example
from thimble.models.tool_calls.prompt import plain_conversation
from thimble.tools import small_model_tools

EXCHANGES = 4
"""Questions of a conversation."""


def example(seed: int, embedder: Embedder | None, tokenizer: Any) -> Example:
    """A conversation about a made-up library, with each call and each answer as a completion to learn.

    Args:
        seed: The seed of the library and the conversation.
        embedder: The session's embedder, for its search.
        tokenizer: The model's tokenizer, with its chat template.
    """
    texts, given, found = talk(seed, embedder), 0, list[Example]()
    for at, text in enumerate(texts):
        if text["role"] == "assistant":
            prompt = tokenizer.apply_chat_template(texts[:at], add_generation_prompt=True, tokenize=False)
            found.append(Example(prompt[given:], text["content"]))
            given = len(prompt + text["content"] + tokenizer.eos_token)
    first, *then = found
    return Example(first.prompt, first.completion, then)


def talk(seed: int, embedder: Embedder | None) -> list[dict[str, str]]:
    """Questions about one library with calls, results and answers."""
    history = [Message("system", "system", BY_SCHEMA)]
    with TemporaryDirectory() as folder:
        made_up = MadeUp(seed, Path(folder))
        tools = small_model_tools(made_up.library, Path(folder), embedder, list)
        for at in range(EXCHANGES):
            wanted = made_up.wanted()
            history += _exchange(wanted, tools[wanted.tool], str(at))
    texts = plain_conversation(history, [tool.schema for tool in tools.values()])
    return [{"role": text.role, "content": text.content} for text in texts]


def _exchange(wanted: Wanted, tool: Tool, at: str) -> Sequence[Message]:
    """A question, its call, the result and the answer; empty if the result does not show the answer."""
    listed = wanted.subject if "." not in wanted.fact.source else ""  # the files are in the list of all
    value = {"search": wanted.question, "list": listed}.get(tool.name, wanted.fact.source.partition(":")[0])
    arguments = {next(iter(tool.schema["function"]["parameters"]["properties"])): value}
    result = tool.run(arguments)
    answer = _answer(wanted, tool.name, result)
    if not answer:
        return ()
    call = ToolCall(at, tool.name, json.dumps(arguments, ensure_ascii=False))
    return (
        Message(f"{at}q", "user", wanted.question),
        Message(f"{at}c", "assistant", calls=(call,)),
        Message(f"{at}r", "tool", result, call_id=at, name=tool.name),
        Message(f"{at}a", "assistant", answer),
    )


def _answer(wanted: Wanted, tool: str, result: str) -> str:
    """The answer with its source, as the text of a message; "" if the result does not show the answer."""
    if not wanted.answerable:
        return f"It {CANNOT_ANSWER}: the results are about something else."
    if tool == "list" and "." in wanted.fact.source:
        return f"The files are {', '.join(name for name in find_sources(result) if '.' in name)}."
    if tool == "list":
        return f"There is {wanted.fact.source}." if wanted.fact.source in result else ""
    if tool != "search":
        return f"{wanted.fact.sentence} [{wanted.fact.source.partition(':')[0]}]"
    return f"{wanted.fact.sentence} [{wanted.fact.source}]" if f"[{wanted.fact.source}] " in result else ""
