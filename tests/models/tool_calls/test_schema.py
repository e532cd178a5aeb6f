"""Calls by schema: what the model is told, and what its turn becomes while it streams."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import sound_histories
from thimble.agent.fates import MASK
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.protocols import Delta, Text
from thimble.models.tool_calls.prompt import DECLINES, as_text, describe_tools
from thimble.models.tool_calls.schema import LONGEST_ANSWER, LONGEST_ARGUMENT, Turn


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


def read(written: str, *cuts: int, found: Sequence[Message] = (), cut: bool = False) -> tuple[str, Delta | None]:
    """All that a turn shows that arrives in pieces, and its call."""
    turn, places = Turn(TOOLS, found), sorted({0, len(written), *(cut for cut in cuts if cut < len(written))})
    deltas = [delta for a, b in pairwise(places) for delta in turn.add_delta(Text(written[a:b]))]
    deltas += turn.finish(cut=cut)
    assert turn.cut or not cut or not deltas or written.endswith("}")
    shown = "".join(delta.text for delta in deltas if isinstance(delta, Text))
    return shown, next((delta for delta in deltas if isinstance(delta, ToolCall)), None)


# ---- what it is told ----


def test_a_line_a_tool_with_the_arguments_that_it_needs() -> None:
    first, search, article, note, topic, today, *_ = describe_tools(TOOLS).content.splitlines()
    assert first == "Reply with one JSON object:"
    assert search == '{"search": query} Do search.'
    assert article == '{"read_article": slug} Do read_article.'
    assert note == '{"save_note": {"title": "title", "text": "text"}} Do save_note.'
    assert (topic, today) == ('{"map_articles": topic} Do map_articles.', '{"today": {}} Do today.')


@given(sound_histories())
def test_a_history_is_written_as_the_model_has_to_write_it(history: list[Message]) -> None:
    for message in history:
        text = as_text(message)
        assert (text.id, text.calls, text.call_id) == (message.id, (), "")
        if message.role == "assistant":
            *_, last = text.content.splitlines()
            assert isinstance(json.loads(last), dict)
        else:
            assert text.content == (message.content or "")


# ---- what its turn becomes ----

texts = st.text(st.characters(codec="utf-8"), max_size=60)
cuts = st.lists(st.integers(1, 80), max_size=8)


@given(texts, st.booleans(), cuts)
def test_an_answer_is_shown_as_it_is_written(words: str, ascii_: bool, cuts: list[int]) -> None:
    assert read(json.dumps({"answer": words}, ensure_ascii=ascii_), *cuts) == (words.rstrip(), None)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("a\nb\x00c", "a\nb\x00c"),
        (r"a\qb \u12", "aqb u12"),
        (r"\ud83d\ude00 \ud83d", "😀 �"),
        (r"\\ud83d \/\"\t", '\\ud83d /"'),
        ('", "b": "c', ""),
    ],
)
def test_broken_escapes_are_read_wherever_they_are_cut(written: str, words: str) -> None:
    whole = f'{{"answer": "{written}"}}'
    assert {read(whole, at) for at in range(1, len(whole))} == {(words, None)}


def test_a_call_with_a_control_character_is_one() -> None:
    shown, call = read('{"search": "a\tb\n"}')
    assert isinstance(call, ToolCall)
    assert (shown, json.loads(call.arguments)) == ("", {"query": "a\tb\n"})


def test_a_sentence_is_shown_when_it_has_ended_and_the_next_begins() -> None:
    turn = Turn(TOOLS)
    pieces = ['{"answer": "It guards', " a finger", ".", " ", "Two", " are", " a pair.", '"}']
    assert [turn.add_delta(Text(piece)) for piece in pieces] == [*[[]] * 4, [Text("It guards a finger.")], *[[]] * 3]
    assert (turn.finish(), turn.cut) == ([Text(" Two are a pair.")], False)


sentence = st.builds(
    lambda words, end: f"{' '.join(words).capitalize()}{end}",
    st.lists(st.text("abcdé", min_size=2, max_size=9), min_size=1, max_size=9),
    st.sampled_from([". ", "! ", "?\n", '." ', "… "]),
)


@given(st.lists(sentence, min_size=1, max_size=6), st.booleans(), st.data())
def test_a_reply_that_is_cut_anywhere_ends_with_a_sentence_or_a_word(
    said: list[str], declines: bool, data: st.DataObject
) -> None:
    begins = '{"cannot_answer": "' if declines else '{"answer": "'
    written = json.dumps("".join(said), ensure_ascii=data.draw(st.booleans()))[1:-1]
    for end in range(len(written) + 1):
        shown, _ = read(begins + written[:end], *data.draw(cuts), cut=True)
        shown = shown.removeprefix(DECLINES)
        wholes = ["".join(said[:many]).rstrip() for many in range(len(said) + 1)]
        first = wholes[1].split(" ")
        assert shown in wholes or shown in {" ".join(first[:many]) for many in range(len(first))} | {*accents(first[0])}


def accents(word: str) -> list[str]:
    """What came of the only word."""
    return [word[:end] for end in range(len(word) + 1)]


@pytest.mark.parametrize(("kind", "limit"), [("answer", LONGEST_ANSWER), ("cannot_answer", LONGEST_ARGUMENT)])
def test_words_that_the_schema_has_ended_are_cut_at_a_sentence(kind: str, limit: int) -> None:
    words = ("It is so, as was found in vitro. " * 40)[:limit]
    turn = Turn(TOOLS)
    shown = "".join(delta.text for delta in [*turn.add_delta(Text(json.dumps({kind: words}))), *turn.finish()])  # type: ignore[union-attr]
    shown = shown.removeprefix(DECLINES)
    assert turn.cut
    assert shown == words[: limit // 33 * 33 - 1]
    turn = Turn(TOOLS)
    turn.add_delta(Text(json.dumps({kind: words[:-1]})))
    turn.finish(cut=True)
    assert not turn.cut, "the object is complete, whatever came behind it"


def test_a_server_that_enforces_no_length_has_it_as_it_comes() -> None:
    words = "It is so. " * 100
    assert read(json.dumps({"answer": words}))[0] == words.rstrip()


# ---- its source ----

HIT = "[may.md:3] It guards two fingers\n[thimbles] Use: A thimble guards the finger that pushes the needle."
WORDS = "It guards the finger that pushes the needle."


def test_code_names_the_source() -> None:
    messages = asked(("search", {"query": "thimble"}, HIT))
    written = json.dumps({"answer": WORDS})
    for at in range(1, len(written)):
        assert read(written, at, found=messages) == (f"{WORDS} [thimbles]", None)
    assert read(json.dumps({"answer": "Thimbles were banned in 1911."}), found=messages)[0].endswith("1911.")
    assert read(json.dumps({"cannot_answer": WORDS}), found=messages)[0] == DECLINES + WORDS


def test_a_source_is_what_the_prompt_shows() -> None:
    messages = asked(("search", {"query": "thimble"}, HIT))
    masked = [replace(one, content=MASK.format(1), why="old") if one.role == "tool" else one for one in messages]
    example = [replace(one, id=f"example-{one.id}") for one in messages]
    assert [read(json.dumps({"answer": WORDS}), found=found)[0] for found in (masked, example)] == [WORDS] * 2


def test_the_model_never_sees_a_source_behind_an_answer() -> None:
    for content in (WORDS, f"{WORDS} [thimbles]", f"{WORDS} [thimbles] [may.md:3]"):
        assert json.loads(as_text(Message("a", "assistant", content)).content) == {"answer": WORDS}


@given(texts, cuts)
def test_a_turn_that_declines_says_so_first(words: str, cuts: list[int]) -> None:
    shown, left = read(json.dumps({"cannot_answer": words}), *cuts)
    assert (shown.rstrip(), left) == ((DECLINES + words).rstrip(), None)
    assert json.loads(as_text(Message("a", "assistant", shown)).content) == {"cannot_answer": words.rstrip()}


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
    said = as_text(Message("a", "assistant", calls=(call,)))
    assert json.loads(said.content) == written


@pytest.mark.parametrize(
    "written", ['{"search": "cut', '{"weather": "x"}', "{}", '{"search": "a", "today": {}}', "{[1]"]
)
def test_an_object_of_another_schema_is_a_malformed_call(written: str) -> None:
    assert read(written, 4) == ("", ToolCall("", "", written))


@given(st.text(max_size=40).filter(lambda text: not text.lstrip().startswith("{")), cuts)
def test_a_reply_without_a_schema_is_text(words: str, cuts: list[int]) -> None:
    shown, left = read(words, *cuts)
    assert shown == words.lstrip() or shown == words or not words.strip()
    assert left is None


@given(st.lists(st.integers(1, 120), max_size=8))
def test_a_comparison_is_two_lines_without_cut_sentences(cuts: list[int]) -> None:
    for written, words in (
        (
            {"rust": "It is a fungus. It winters on", "mould": "It needs wet air. It"},
            ("It is a fungus.", "It needs wet air."),
        ),
        ({"rust": "It is", "mould": "Wet."}, ("It is", "Wet.")),  # one cut sentence alone stays
    ):
        shown, left = read(json.dumps({"answer": written}), *cuts)
        assert shown + (left.text if isinstance(left, Text) else "") == "rust: {}\nmould: {}".format(*words)


@pytest.mark.parametrize("before", ["", "{", '{"answer": "Yes.', '{"answer": "Yes."', '{"answer": "Yes."}'])
def test_blanks_without_end_between_the_parts_of_an_answer_change_nothing(before: str) -> None:
    pieces = [before, *[" "] * 20_000, '{"answer": "Yes."}'[len(before) :]]
    turn = Turn([])
    said = [delta for piece in pieces for delta in turn.add_delta(Text(piece))] + turn.finish()
    assert "".join(delta.text for delta in said if isinstance(delta, Text)).strip() == "Yes."
