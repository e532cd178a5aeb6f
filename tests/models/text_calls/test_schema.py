"""Calls by schema: what the model is told, what it may write next, and what its turn becomes while it streams."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import sound_histories
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.protocols import Delta, Text
from thimble.models.text_calls.prompt import as_text
from thimble.models.text_calls.schema import DECLINES, SCHEMA, Turn, turn_schema


def tool(name: str, required: Sequence[str] = (), **properties: str) -> Schema:
    """A tool with these arguments, each of a type."""
    arguments = {argument: {"type": kind} for argument, kind in properties.items()}
    parameters = {"type": "object", "properties": arguments, "required": [*required]}
    return {
        "type": "function",
        "function": {"name": name, "description": f"Do {name}. More.", "parameters": parameters},
    }


SEARCH = tool("search", ["query"], query="string")
READ = tool("read_article", ["slug"], slug="string", page="integer")
NOTE = tool("save_note", ["title", "text"], title="string", text="string")
MAP = tool("map_articles", topic="string")
TODAY = tool("today")
TOOLS = (SEARCH, READ, NOTE, MAP, TODAY)
USER = Message("m2", "user", "What is a thimble?")
FOUND = "[thimbles] Use: It guards a finger.\n[notes/may.md:3] two thimbles\nsee [nowhere] else"


def asked(*turns: tuple[str, dict[str, object], str]) -> list[Message]:
    """A question, and calls with their results."""
    messages = [USER]
    for number, (name, arguments, result) in enumerate(turns):
        call = ToolCall(f"c{number}", name, json.dumps(arguments))
        messages += [Message(f"a{number}", "assistant", calls=(call,))]
        messages += [Message(f"t{number}", "tool", result, call_id=call.id, name=name)]
    return messages


def forms(messages: Sequence[Message], may_call: bool = True) -> list[list[str]]:
    """The properties of each object that the model may write next."""
    return [[*form["properties"]] for form in turn_schema(messages, TOOLS, may_call)["anyOf"]]


def read(written: str, *cuts: int) -> tuple[str, Delta | None]:
    """What a turn shows that arrives in pieces, and what it leaves at its end."""
    turn, places = Turn(TOOLS), sorted({0, len(written), *(cut for cut in cuts if cut < len(written))})
    shown = [delta for a, b in pairwise(places) for delta in turn.take(Text(written[a:b]))]
    return "".join(delta.text for delta in shown if isinstance(delta, Text)), next(iter(turn.end()), None)


# ---- what it is told ----


def test_a_line_a_tool_with_the_arguments_that_it_needs() -> None:
    first, search, article, note, topic, today, *_ = SCHEMA.description(TOOLS).content.splitlines()
    assert first == "Reply with one JSON object:"
    assert search == '{"search": query} Do search.'
    assert article == '{"read_article": slug} Do read_article.'
    assert note == '{"save_note": {"title": "title", "text": "text"}} Do save_note.'
    assert (topic, today) == ('{"map_articles": topic} Do map_articles.', '{"today": {}} Do today.')


@given(sound_histories())
def test_a_history_is_written_as_the_model_has_to_write_it(history: list[Message]) -> None:
    for message in history:
        text = as_text(message, SCHEMA)
        assert (text.id, text.calls, text.call_id) == (message.id, (), "")
        if message.role == "assistant":
            *_, last = text.content.splitlines()
            assert isinstance(json.loads(last), dict)
        else:
            assert text.content == (message.content or "")


# ---- what it may write next ----


def test_first_it_must_look_something_up() -> None:
    assert forms([USER]) == [["search"], ["read_article"], ["save_note"], ["map_articles"], ["today"]]


def test_the_tool_of_the_last_turn_is_not_offered_again() -> None:
    names = [name for form in forms(asked(("search", {"query": "thimble"}, FOUND))) for name in form]
    assert "search" not in names
    assert "read_article" in names


def test_a_call_that_was_made_twice_is_not_offered_any_more() -> None:
    same = ("search", {"query": "thimble"}, FOUND)
    other = ("read_article", {"slug": "thimbles"}, "# Thimbles")
    assert ["search"] in forms(asked(same, other))
    assert ["search"] not in forms(asked(same, other, same, other))


def test_an_answer_names_a_source_that_was_shown_or_read() -> None:
    messages = asked(("search", {"query": "thimble"}, FOUND), ("read_article", {"slug": "sewing"}, "# Sewing"))
    (answer,) = (form for form in turn_schema(messages, TOOLS, True)["anyOf"] if "answer" in form["properties"])
    assert [*answer["properties"]] == ["answer", "source"] == answer["required"]
    assert answer["properties"]["source"] == {"enum": ["thimbles", "notes/may.md:3", "sewing"]}


def test_without_a_source_it_may_answer_once_it_has_looked() -> None:
    assert forms(asked(("search", {"query": "x"}, "No results.")))[-2:] == [["answer"], ["cannot_answer"]]


@pytest.mark.parametrize("messages", [[USER], asked(("search", {"query": "x"}, FOUND))])
def test_on_the_last_turn_it_can_only_answer(messages: list[Message]) -> None:
    assert [form[0] for form in forms(messages, may_call=False)] == ["answer", "cannot_answer"]


def test_an_answer_before_belongs_to_another_question() -> None:
    before = [*asked(("search", {"query": "thimble"}, FOUND)), Message("a9", "assistant", "It guards. [thimbles]")]
    assert forms([*before, Message("m9", "user", "and?")]) == forms([USER])


# ---- what its turn becomes ----

texts = st.text(st.characters(codec="utf-8"), max_size=60)
cuts = st.lists(st.integers(1, 80), max_size=8)


@given(texts, texts, st.booleans(), st.booleans(), cuts)
def test_an_answer_streams_as_it_is_written(
    source: str, words: str, ascii_: bool, cited: bool, cuts: list[int]
) -> None:
    written = json.dumps({"answer": words} | ({"source": source} if cited else {}), ensure_ascii=ascii_)
    shown, left = read(written, *cuts)
    assert shown == words
    assert left == (Text(f" [{source}]") if cited and source else None)


@given(texts, cuts)
def test_a_turn_that_declines_says_so_first(words: str, cuts: list[int]) -> None:
    shown, left = read(json.dumps({"cannot_answer": words}), *cuts)
    assert (shown, left) == (DECLINES + words, None)
    assert json.loads(as_text(Message("a", "assistant", shown), SCHEMA).content) == {"cannot_answer": words}


@given(texts, st.integers(0, 60))
def test_an_answer_that_is_cut_off_shows_what_came(words: str, end: int) -> None:
    written = json.dumps({"answer": words})
    shown, left = read(written[: len('{"answer": "') + end])
    assert words.startswith(shown)
    assert left is None


@pytest.mark.parametrize(
    ("written", "name", "arguments"),
    [
        ({"search": "a thimble"}, "search", {"query": "a thimble"}),
        ({"read_article": "thimbles"}, "read_article", {"slug": "thimbles"}),
        ({"save_note": {"title": "a", "text": "b"}}, "save_note", {"title": "a", "text": "b"}),
        ({"map_articles": ""}, "map_articles", {"topic": ""}),
        ({"today": {}}, "today", {}),
    ],
)
def test_a_call_comes_at_the_end(written: object, name: str, arguments: object) -> None:
    shown, call = read(json.dumps(written), 3, 9)
    assert shown == ""
    assert isinstance(call, ToolCall)
    assert (call.name, json.loads(call.arguments)) == (name, arguments)
    said = as_text(Message("a", "assistant", calls=(call,)), SCHEMA)
    assert json.loads(said.content) == written


@pytest.mark.parametrize(
    "written", ['{"search": "cut', '{"weather": "x"}', "{}", '{"search": "a", "today": {}}', "{[1]"]
)
def test_what_is_no_turn_is_a_malformed_call(written: str) -> None:
    assert read(written, 4) == ("", ToolCall("", "", written))


@given(st.text(max_size=40).filter(lambda text: not text.lstrip().startswith("{")), cuts)
def test_where_nothing_is_enforced_the_reply_is_text(words: str, cuts: list[int]) -> None:
    shown, left = read(words, *cuts)
    assert shown == words.lstrip() or shown == words or not words.strip()
    assert left is None
