"""What a model that calls by schema may write next, by what its calls have found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import sound_histories
from thimble.agent.messages import Message, ToolCall
from thimble.agent.prompts import NUDGE_MESSAGE
from thimble.corpus.library import load_library
from thimble.corpus.question_form import find_comparison
from thimble.models.tool_calls.next_turn import turn_schema
from thimble.tools.sources import source_tools

FOUND = "[thimbles] Use: It guards a finger.\n[notes/may.md:3] two thimbles\nsee [nowhere] else"
LISTED = '1 article about "pins"\n[pins] Pins'
NOTHING = 'Nothing fits "x" well. The nearest:\n[thimbles] Use: It guards a finger.'
ERROR = "Error: no article 'sewing'"


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> list[Mapping[str, Any]]:
    folder = tmp_path_factory.mktemp("articles")
    for name in ("thimbles", "pins", "sewing-needles"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nAll of {name}.\n")
    (folder / "none").mkdir()
    return [tool.schema for tool in source_tools(load_library(folder), folder / "none", None, tuple)]


def asked(question: str, *turns: tuple[str, str, str]) -> list[Message]:
    """A question, and calls with their results."""
    messages = [Message("m2", "user", question)]
    for number, (name, argument, result) in enumerate(turns):
        parameter = {"search": "query", "list": "topic", "read": "name"}[name]
        call = ToolCall(f"c{number}", name, json.dumps({parameter: argument}))
        messages += [Message(f"a{number}", "assistant", calls=(call,))]
        messages += [Message(f"t{number}", "tool", result, call_id=call.id, name=name)]
    return messages


def forms(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], may_call: bool = True) -> dict[str, Any]:
    """The value of each object that the model may write next, by its key."""
    each = [form["properties"] for form in turn_schema(messages, tools, may_call)["anyOf"]]
    assert all(len(one) == 1 for one in each)
    return {key: value for one in each for key, value in one.items()}


READ = ("read", "pins", "# Pins")
FAILED = ("read", "sewing", ERROR)
NEXT: dict[str, tuple[list[Message], list[str], list[str] | None]] = {
    "first it must look something up": (
        asked("What is it?"), ["search", "list", "read"], ["pins", "sewing-needles", "thimbles"]),
    "an article that the question names is read": (
        asked("Read the article about sewing needles"), ["search", "list", "read"], ["sewing-needles"]),
    "what was found is an answer, or is read": (
        asked("What is it?", ("search", "x", FOUND)), ["answer", "read"], ["thimbles", "notes/may.md"]),
    "so is what was listed": (asked("What is there?", ("list", "pins", LISTED)), ["answer", "read"], ["pins"]),
    "what was read is not read again": (asked("Read pins", READ), ["answer"], None),
    "of two named articles the other is read": (
        asked("Read pins and thimbles", READ), ["answer", "read"], ["thimbles"]),
    "nothing fits": (
        asked("x", ("search", "x", NOTHING)), ["list", "read", "cannot_answer"], None),
    "an error": (asked("x", FAILED), ["search", "list", "read", "cannot_answer"], None),
    "an error after something was read": (asked("What are they?", READ, FAILED), ["answer"], None),
}  # fmt: skip
"""The keys that are offered next, and the names that may be read."""


@pytest.mark.parametrize("row", NEXT)
def test_a_turn_is_offered_what_its_calls_have_left_to_do(row: str, tools: Any) -> None:
    messages, keys, names = NEXT[row]
    offered = forms(messages, tools)
    assert [*offered] == keys
    assert names is None or offered["read"] == {"enum": names}


@pytest.mark.parametrize(
    ("messages", "offered"),
    [
        (asked("x"), ["answer", "cannot_answer"]),
        (asked("x", ("search", "x", FOUND)), ["answer"]),
        (asked("x", ("search", "x", NOTHING)), ["answer", "cannot_answer"]),
    ],
)
def test_the_last_turn_can_only_answer(tools: Any, messages: list[Message], offered: list[str]) -> None:
    assert [*forms(messages, tools, may_call=False)] == offered


def test_a_later_question_may_be_answered_from_what_is_still_shown(tools: Any) -> None:
    before = [*asked("What is a thimble?", ("search", "thimble", FOUND)), Message("a9", "assistant", "It guards.")]
    later = [*before, Message("m9", "user", "What have you learned?")]
    assert [*forms(later, tools)] == ["search", "list", "read", "answer"]
    masked = [one.rewritten("[gone]", "masked") if one.role == "tool" else one for one in later]
    assert "answer" not in forms(masked, tools)
    assert "answer" not in forms([*later, NUDGE_MESSAGE], tools), "asked once more, it looks something up"


def test_a_comparison_is_answered_in_two_parts(tools: Any) -> None:
    question = "Compare what you've learned about pins and sewing needles"
    answer = forms(asked(question, ("search", "x", FOUND)), tools)["answer"]
    assert answer["required"] == ["pins", "sewing needles"]
    assert find_comparison(question) == ("pins", "sewing needles")


@pytest.mark.parametrize(
    ("question", "two"),
    [
        ("What is the difference between a token and a word?", ("a token", "a word")),
        ("how do masks differ from summaries?", ("masks", "summaries")),
        ("Compare A with B.", ("A", "B")),
        ("Compare them", None),
        ("What is a token?", None),
        ("", None),
    ],
)
def test_the_two_things_that_a_question_compares(question: str, two: tuple[str, str] | None) -> None:
    assert find_comparison(question) == two


@given(sound_histories(), st.booleans())
def test_something_is_always_offered_and_no_name_is_listed_twice(history: list[Message], may_call: bool) -> None:
    tool = {"name": "read", "parameters": {"properties": {"name": {"type": "string"}}, "required": ["name"]}}
    offered = turn_schema(history, [{"type": "function", "function": tool}], may_call)["anyOf"]
    assert offered
    for form in offered:
        names = form["properties"].get("read", {}).get("enum", ["any"])
        assert names
        assert len(names) == len({*names})


def test_in_a_library_too_large_to_list_any_name_may_be_written(tools: Any, tmp_path: Path) -> None:
    bare = [json.loads(json.dumps(tool)) for tool in tools]
    bare[-1]["function"]["parameters"]["properties"]["name"].pop("enum")
    assert forms(asked("What is it?"), bare)["read"] == {"type": "string", "maxLength": 300}
    assert forms(asked("x", ("search", "x", FOUND)), bare)["read"] == {"enum": ["thimbles", "notes/may.md"]}
