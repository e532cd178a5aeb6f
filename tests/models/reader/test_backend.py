from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.estimate import EstimateCounter
from tests.support.reader_library import Session, make_tools, mask, masked, tokens
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.prompts import CLOSING_PROMPT, SUMMARY_TAG
from thimble.agent.protocols import Text, Usage
from thimble.models.reader import Reader
from thimble.models.reader.backend import reply
from thimble.models.reader.view import own_sentences

QUESTIONS = (
    "What articles do you have about the coast?",
    "Read the article about lighthouses",
    "How many litres of oil does the lamp of Gull Point burn?",
    "Compare lighthouses and beekeeping",
    "What is varroa?",
    "How hot does the floor of a bread oven get?",
    "What errors are in logs/pump.log?",
    "Note that the lamp burns oil",
    "Who is the president of Orrin?",
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[list[Message]], list[Schema]]:
    """Every view of a long session, and the schemas of its tools."""
    session = Session(make_tools(tmp_path_factory.mktemp("library")))
    for question in QUESTIONS:
        session.ask(question)
    return session.views, [tool.schema for tool in session.tools.values()]


def thinned(view: Sequence[Message], data: st.DataObject) -> list[Message]:
    """The view with any of its results masked and any of its older turns dropped."""
    choice = st.lists(st.sampled_from(["keep", "keep", "mask", "drop"]), min_size=len(view), max_size=len(view))
    fates = data.draw(choice)
    last = max(index for index, message in enumerate(view) if message.role == "user")
    kept = []
    for index, (message, fate) in enumerate(zip(view, fates, strict=True)):
        if fate == "drop" and index < last and message.role in ("assistant", "tool"):
            continue
        kept.append(mask(message) if fate == "mask" and message.role == "tool" else message)
    return kept


# ---- laws ----


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_same_view_gives_the_same_deltas(recorded, data) -> None:
    views, schemas = recorded
    view = thinned(data.draw(st.sampled_from(views)), data)
    first, second = (list(Reader(EstimateCounter()).stream(view, schemas)) for _ in range(2))
    assert first == second
    assert isinstance(first[-1], Usage)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_what_is_cited_stands_in_the_view(recorded, data) -> None:
    views, schemas = recorded
    view = thinned(data.draw(st.sampled_from(views)), data)
    shown = tokens("\n".join(message.content for message in view if message.role != "system"))
    said = reply(view, schemas).text
    for quoted in own_sentences(said):
        # The row of a table is said with the names of its columns, so its words stand in the view in another order.
        row = " · " in quoted.text
        assert set(tokens(quoted.text).split()) <= set(shown.split()) if row else tokens(quoted.text) in shown, quoted


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_only_tools_that_are_offered_are_called_and_no_result_in_view_is_asked_for_again(recorded, data) -> None:
    views, schemas = recorded
    view = thinned(data.draw(st.sampled_from(views)), data)
    offered = data.draw(st.lists(st.sampled_from(schemas), unique_by=lambda schema: schema["function"]["name"]))
    takes = {schema["function"]["name"]: schema["function"]["parameters"] for schema in offered}
    said = reply(view, offered)
    for call in said.calls:
        arguments = json.loads(call.arguments)
        assert arguments.keys() <= takes[call.name]["properties"].keys()
        assert set(takes[call.name].get("required", ())) <= arguments.keys()
        results = {message.call_id: message.content for message in view if message.role == "tool"}
        made = [
            old
            for message in view
            for old in message.calls
            if (old.name, json.loads(old.arguments)) == (call.name, arguments)
        ]
        assert all(results.get(old.id, "[masked").startswith("[masked") for old in made)
    assert said.text.strip()
    assert said.calls or not offered or said.text


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_without_tools_it_answers(recorded, data) -> None:
    views, _ = recorded
    view = [*thinned(data.draw(st.sampled_from(views)), data), Message("closing", "user", CLOSING_PROMPT)]
    said = reply(view, [])
    assert said.text.strip()
    assert not said.calls


ODD_TEXTS = [
    "# T\nslug: a · page 9 of 0 · 0 words\nsections: A; B\n\nOne is two.\n\n## B\n| a |\n|---|\n| b |",
    '2 results for "x"\n1. a — b — section: c (score 0.50)\n   …\n2. d\n',
    '1 result for "x"\n1. a — b — section: c (score 1.2.3)\n   Text.',
    f"x.md · lines 7-8 of 9\n7: # a\n{'9' * 5_000}: b",
    '1 match for "a"\nb:1: c',
    "2 files\na.md (9 bytes, 1 line)\nb",
    "Error: no such article",
    '[2 of 9 lines; recall(id="m8") shows all]\nx.log · lines 1-9 of 9\n[7 left out]\n9: a [3 left out] b',
    "m8 · result of read_file · page 1 of 1\n\n1: a",
    f"{SUMMARY_TAG}\nFound:\n- A is b. [c]",
    CLOSING_PROMPT,
    "Что это? 这是什么？",
]
TEXTS = st.text(max_size=80) | st.sampled_from(ODD_TEXTS)
MESSAGES = st.builds(
    lambda number, role, text, name, arguments: Message(
        f"m{number}",
        role,
        text,
        calls=(ToolCall("", name, arguments),) if role == "assistant" else (),
        name=name,
    ),
    st.integers(0, 99),
    st.sampled_from(["system", "user", "assistant", "tool"]),
    TEXTS,
    st.sampled_from(["read_article", "search_articles", "read_file", "recall", "", "?"]),
    st.sampled_from(
        ["{}", "", "[1]", "{", '{"slug": 3}', '{"id": "m8"}', '{"slug": "a"}', '{"path": null}', '{"query": "x"}']
    ),
)
ODD_TOOLS = st.lists(
    st.sampled_from(
        [
            {"type": "function", "function": {"name": name, **({"parameters": parameters} if parameters else {})}}
            for name in ("read_article", "list_articles", "search_articles", "read_file", "save_note", "recall", "what")
            for parameters in (None, {"properties": {}}, {"properties": {"slug": {}, "query": {}}})
        ]
        + [{}]
    ),
    max_size=4,
)


@settings(max_examples=300, deadline=None)
@given(messages=st.lists(MESSAGES, max_size=8), tools=ODD_TOOLS)
def test_nothing_that_it_is_sent_makes_it_fail(messages, tools) -> None:
    assert reply(messages, tools).text.strip()


# ---- the backend ----

ANSWERED = [
    Message("u", "user", "What is a lighthouse?"),
    Message("a", "assistant", "I look.", calls=(ToolCall("c", "read_article", '{"slug": "l"}'),)),
    Message("t", "tool", "# L\nslug: l · page 1 of 1 · 9 words\n\nA lighthouse is a tower with a lamp.", call_id="c"),
]


def test_it_streams_words_and_then_its_usage() -> None:
    counter = EstimateCounter()
    deltas = list(Reader(counter).stream(ANSWERED, []))
    assert deltas[0] == Text("A")
    assert "".join(delta.text for delta in deltas[:-1]) == "A lighthouse is a tower with a lamp. [l]"
    usage = deltas[-1]
    assert (usage.prompt_tokens, usage.finish) == (counter.overhead([]) + sum(map(counter.count, ANSWERED)), "stop")


@pytest.mark.parametrize("most", [0, 1, 5, 8])
def test_a_reply_is_cut_at_max_tokens(most: int) -> None:
    counter = EstimateCounter()
    *texts, usage = Reader(counter).stream(ANSWERED, [], max_tokens=most)
    text = "".join(delta.text for delta in texts)
    assert counter.count(Message("x", "assistant", text)) - counter.count(Message("x", "assistant")) <= most
    assert "A lighthouse is a tower with a lamp. [l]".startswith(text)
    assert usage.finish == "length"


def test_a_cut_reply_makes_no_call() -> None:
    tool = {"type": "function", "function": {"name": "search_articles"}}
    question = [Message("u", "user", "What is varroa?")]
    assert any(isinstance(delta, ToolCall) for delta in Reader(EstimateCounter()).stream(question, [tool]))
    cut = list(Reader(EstimateCounter()).stream(question, [tool], max_tokens=3))
    assert not any(isinstance(delta, ToolCall) for delta in cut)


def test_two_calls_of_a_session_never_share_an_id(tmp_path) -> None:
    session = Session(make_tools(tmp_path), masked(0))
    for question in QUESTIONS[:4] * 2:
        session.ask(question)
    ids = [call.id for message in session.history for call in message.calls]
    assert len(ids) > 6
    assert len(set(ids)) == len(ids)


def test_what_is_recited_at_the_end_is_not_taken_for_the_question(recorded) -> None:
    asked = [Message("m1", "user", "Read the article about context windows")]
    recital = Message("r", "user", f"{SUMMARY_TAG}\nWhat does a token cost?", why="recited")
    (alone,), (followed,) = (reply(view, recorded[1]).calls for view in (asked, [*asked, recital]))
    assert (followed.name, followed.arguments) == (alone.name, alone.arguments)
