"""What a small model is to call: conversations about made-up libraries, in the form that calls by schema have.

Results are those of the real tools; what to call, and what to answer, is known because the library is made up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from thimble.agent.messages import Message, ToolCall
from thimble.agent.prompts import BY_SCHEMA, CANNOT
from thimble.agent.protocols import Embedder, Tool
from thimble.lab.tool_choice.made_up import Kind, MadeUp, Wanted
from thimble.lab.training.fine_tune import Example
from thimble.models.text_calls.prompt import conversation
from thimble.models.text_calls.schema import SCHEMA, SOURCE
from thimble.tools import everyday

SHARES: Mapping[Kind, int] = {
    "fact": 11,
    "difference": 3,
    "file": 4,
    "summary": 2,
    "articles": 2,
    "files": 1,
    "article": 1,
    "path": 1,
    "near": 2,
    "far": 3,
}
"""How often each kind of question is drawn, relative to the others."""
EXCHANGES = 4
"""Questions of a conversation."""


def example(seed: int, embedder: Embedder | None, tokenizer: Any) -> Example | None:
    """A conversation about a made-up library, drawn by the seed: each call and each answer is to be learnt.

    Args:
        seed: Draws all.
        embedder: That of the session, for its search.
        tokenizer: The model's, with its chat template.
    """
    texts = conversation_about(seed, embedder)
    given, found = 0, list[Example]()
    for at, text in enumerate(texts):
        if text["role"] == "assistant":
            prompt = tokenizer.apply_chat_template(texts[:at], add_generation_prompt=True, tokenize=False)
            found.append(Example(prompt[given:], text["content"]))
            given = len(prompt + text["content"] + tokenizer.eos_token)
    return Example(found[0].prompt, found[0].completion, found[1:]) if found else None


def conversation_about(seed: int, embedder: Embedder | None) -> list[dict[str, str]]:
    """Questions about one library with calls, results and answers, as plain texts."""
    random = Random(seed)
    history: list[Message] = [Message("system", "system", BY_SCHEMA)]
    with TemporaryDirectory() as folder:
        made_up = MadeUp(seed, Path(folder))
        tools = everyday(made_up.library, Path(folder), embedder, lambda: history)
        for wanted in made_up.questions(random.choices([*SHARES], [*SHARES.values()], k=EXCHANGES)):
            history += _exchange(wanted, tools, len(history), made_up)
    schemas = [tool.schema for tool in tools.values()]
    return [{"role": text.role, "content": text.content} for text in conversation(history, schemas, SCHEMA)]


def _exchange(wanted: Wanted, tools: Mapping[str, Tool], at: int, made_up: MadeUp) -> Sequence[Message]:
    """A question, the call for it, its result and the answer; nothing where the search does not find what is there."""
    name, value = _call(wanted)
    (argument,) = [*tools[name].schema["function"]["parameters"]["properties"]][:1]
    result = tools[name].run({argument: value})
    call = ToolCall(str(at), name, json.dumps({argument: value}, ensure_ascii=False))
    answer = _answer(wanted, name, result)
    if not answer:
        return ()
    return (
        Message(f"{at}q", "user", wanted.question),
        Message(f"{at}c", "assistant", calls=(call,)),
        Message(f"{at}r", "tool", result, call_id=call.id, name=name),
        Message(f"{at}a", "assistant", answer),
    )


def _call(wanted: Wanted) -> tuple[str, str]:
    if wanted.kind == "articles":
        return "list_articles", wanted.subject
    if wanted.kind == "files":
        return "list_files", ""
    if wanted.kind == "article":
        return "read_article", wanted.sources[0]
    if wanted.kind == "path":
        return "read_file", wanted.sources[0]
    return "search", wanted.question


def _answer(wanted: Wanted, name: str, result: str) -> str:
    """The answer in one or two sentences with its source, as a message has it; "" if the result does not hold it."""
    if wanted.kind in ("near", "far"):
        return f"It {CANNOT}: the results are about something else."
    if name == "list_files":
        return f"The files are {', '.join(line.split()[0] for line in result.splitlines()[1:])}."
    if name == "list_articles":
        return f"There is {wanted.sources[0]}." if wanted.sources[0] in result else ""
    shown = SOURCE.findall(result) if name == "search" else wanted.sources
    source = next((source for source in reversed(shown) if source in wanted.sources), "")
    return f"{wanted.sentence} [{source}]" if source else ""
