"""The next turn of a model that calls by schema: the tools and answers on offer, by the results so far."""

from __future__ import annotations

from collections.abc import Sequence

from thimble.agent.messages import Message, Schema
from thimble.agent.prompts import NUDGE_MESSAGE, is_framing
from thimble.agent.turns import question
from thimble.corpus.observations import find_sources, is_useful
from thimble.corpus.question_form import find_comparison
from thimble.corpus.words import content_terms
from thimble.models.tool_calls.prompt import write_call
from thimble.models.tool_calls.schema import LONGEST_ANSWER, LONGEST_ARGUMENT, object_schema, value_schema

READ = "read"
SEARCH_TOOLS = ("search", "list")
"""Tools that search: they are not offered once something was found."""


def turn_schema(messages: Sequence[Message], tools: Sequence[Schema], may_call: bool) -> Schema:
    """The JSON schema of the next turn.

    - Before the first call every tool is offered; an answer only if the prompt still shows an earlier result.
    - Once something was found, an answer comes first, and only texts that were found or that the question names can be
      read.
    - `cannot_answer` is offered once calls were made and none of their results fits.
    - The answer to a comparison has a part for each of the two things.
    - The tool of the last turn is not offered again, nor one that was called twice with the same argument.
    """
    own = [message for message in messages if not is_framing(message)]
    start = next((at + 1 for at in reversed(range(len(own))) if own[at].role == "assistant" and not own[at].calls), 0)
    earlier, exchange = own[:start], own[start:]
    made = [write_call(call) for message in exchange for call in message.calls]
    found = [message.content for message in exchange if message.role == "tool" and is_useful(message.content)]
    out = {name for call in made if call == made[-1] or made.count(call) > 1 for name in call}

    forms: list[Schema] = []
    for function in (tool["function"] for tool in tools if may_call):
        name, value = function["name"], value_schema(function)
        if name == READ:
            names = _readable(value, question(own), made, found)
            if names != []:
                forms.append(object_schema({name: {"enum": names} if names else value}))
        elif name not in out and not (found and name in SEARCH_TOOLS):
            forms.append(object_schema({name: value}))
    nudged = any(message.id == NUDGE_MESSAGE.id for message in messages)
    remembers = not (made or nudged) and any(message.role == "tool" and not message.why for message in earlier)
    if found or remembers or not forms:
        answer = object_schema({"answer": _answer(question(own))})
        forms = [answer, *forms] if found else [*forms, answer]
    if not found and (made or not may_call):
        forms.append(object_schema({"cannot_answer": {"type": "string", "maxLength": LONGEST_ARGUMENT}}))
    return {"anyOf": forms}


def _readable(
    value: Schema, asked: Message | None, made: Sequence[dict[str, object]], found: Sequence[str]
) -> list[str] | None:
    """The names that `read` may be given; None for any."""
    known = value.get("enum")
    shown = [name for content in found for name in find_sources(content)]
    wanted = {*content_terms(asked.content)} if asked else set()
    named = [name for name in known or shown if {*content_terms(name)} <= wanted]
    names = [*named, *shown] if found else named or known
    done = {call.get(READ) for call in made}
    return None if names is None else [name for name in dict.fromkeys(names) if name not in done]


def _answer(asked: Message | None) -> Schema:
    parts = find_comparison(asked.content) if asked else None
    part = {"type": "string", "maxLength": LONGEST_ANSWER // 2 if parts else LONGEST_ANSWER}
    return object_schema(dict.fromkeys(parts, part)) if parts else part
