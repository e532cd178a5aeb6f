from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.reader_library import Session, make_tools, tokens
from thimble.agent.messages import Message
from thimble.agent.prompts import SUMMARY_TAG
from thimble.models.reader.backend import reply
from thimble.models.reader.view import own_sentences

INSTRUCTION = """Write a summary of everything above. Write at most {words} words, in these sections.
Sections:
{sections}"""
SECTIONS = {
    "Asked": "what the user wants",
    "Found": "facts, each with its [source]",
    "Read": "articles and files read",
    "Open": "what is still open, and what went wrong",
}


def summary(material: list[Message], words: int = 250, sections: dict[str, str] = SECTIONS) -> str:
    listed = "\n".join(f"- {name}: {about}" for name, about in sections.items())
    request = Message("s", "user", INSTRUCTION.format(words=words, sections=listed))
    said = reply([*material, request], [])
    assert not said.calls
    return said.text


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> list[Message]:
    session = Session(make_tools(tmp_path_factory.mktemp("library")))
    for question in (
        "Who is the president of Orrin?",
        "Read the article about lighthouses",
        "How many kilograms of honey does a colony need in winter?",
        "Read the file lost.txt",
    ):
        session.ask(question)
    return session.history


@settings(max_examples=60, deadline=None)
@given(words=st.integers(20, 400), names=st.lists(st.sampled_from(sorted(SECTIONS)), min_size=1, unique=True))
def test_it_has_just_the_sections_asked_for_within_the_limit(material, words, names) -> None:
    text = summary(material, words, {name: SECTIONS[name] for name in names})
    assert re.findall(r"^(\w+):$", text, re.MULTILINE) == names
    assert len(text.split()) <= words
    assert len(text.split()) > len(names)


@settings(max_examples=30, deadline=None)
@given(words=st.integers(30, 400))
def test_what_it_cites_was_read(material, words) -> None:
    shown = tokens("\n".join(message.content for message in material))
    sentences = own_sentences(summary(material, words))
    assert sentences or words < 60
    assert all(tokens(sentence.text) in shown for sentence in sentences)


def test_each_kind_of_point_has_its_section(material) -> None:
    text = summary(material)
    asked, found, read, opened = re.split(r"^\w+:\n", text, flags=re.MULTILINE)[1:]
    assert "How many kilograms of honey does a colony need in winter?" in asked
    points = [point.text for point in own_sentences(found)]
    assert [point for point in points if any(point in other for other in points if other is not point)] == []
    assert "needs 18 kilograms of honey to live through winter" in found
    assert "“Lighthouses: towers and lamps” [lighthouses]" in read
    assert "not answered: " in opened
    assert "Error: " in opened


def test_an_earlier_summary_is_folded_in(material) -> None:
    first = summary(material)
    later = [
        Message("s1", "user", f"{SUMMARY_TAG}\n{first}", why="folded"),
        Message("u", "user", "What is varroa?"),
        Message("a", "assistant", "Varroa is a mite that feeds on bee larvae. [beekeeping]"),
    ]
    second = summary(later)
    for kept in ("18 kilograms of honey", "[lighthouses]", "feeds on bee larvae. [beekeeping]"):
        assert kept in second


def test_the_reader_answers_from_its_summary(material) -> None:
    view = [
        Message("s1", "user", f"{SUMMARY_TAG}\n{summary(material)}", why="folded"),
        Message("u", "user", "How many kilograms of honey does a colony need in winter?"),
    ]
    assert "needs 18 kilograms of honey" in reply(view, []).text


def test_a_view_without_material_still_gets_its_headings() -> None:
    assert summary([], 100, {"Gist": "", "Asked": ""}) == "Gist:\n- none\nAsked:\n- none"
