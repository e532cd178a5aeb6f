"""Attribution: the source is the piece that shares the most runs of words, and words that stand nowhere have none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.paths import ROOT
from thimble.agent.messages import CANCELLED, Message, ToolCall
from thimble.corpus.attribution import SOURCE, attribute_answer, collect_sources
from thimble.corpus.library import load_library
from thimble.corpus.questions import load_questions
from thimble.tools import small_model_tools, toolbox
from thimble.tools.notebook import Notebook

FILES = ROOT / "thimble" / "corpus" / "files"
NONSENSE = ["kabo", "lumi", "tarn", "vopa", "zib", "quol", "mek", "drup", "fyn", "gost"]
"""Words that no folding changes."""
words = st.lists(st.sampled_from(NONSENSE), min_size=3, max_size=14).map(" ".join)


def shared(answer: str, text: str) -> set[str]:
    """The words and the runs of three words in both, found as texts."""
    said = answer.split()
    runs = {" ".join(said[at : at + 3]) for at in range(len(said) - 2)}
    return {run for run in {*said} | runs if f" {run} " in f" {text} "}


@given(words, st.lists(words, min_size=1, max_size=5))
def test_the_first_source_shares_most_and_a_second_one_adds_half_as_much(answer: str, texts: list[str]) -> None:
    counts = [shared(answer, text) for text in texts]
    most = max(map(len, counts))
    found = [
        int(source[1:]) for source in attribute_answer(answer, [(f"s{at}", text) for at, text in enumerate(texts)])
    ]
    assert bool(found) == (most >= max(1, 0.35 * len(shared(answer, answer))))
    if found:
        first, *second = found
        assert first == max(at for at, one in enumerate(counts) if len(one) == most)
        adds = [len(one - counts[first]) for one in counts]
        assert bool(second) == (2 * max(adds) >= most)
        assert all(adds[other] == max(adds) for other in second)


@given(words, st.lists(words, max_size=3))
def test_a_piece_that_holds_the_answer_is_its_source(answer: str, others: list[str]) -> None:
    read = [*(("other", text) for text in others), ("holder", f"vopa vopa {answer} zib")]
    assert attribute_answer(answer, read)[0] == "holder"
    assert attribute_answer(f"{answer.upper()} [elsewhere]", read)[0] == "holder"


def test_words_in_several_pieces_of_a_source_count_together() -> None:
    read = [("a", "kabo lumi tarn vopa"), ("b", "kabo lumi tarn vopa zib"), ("a", "quol mek drup fyn")]
    assert attribute_answer("kabo lumi tarn vopa zib quol mek drup fyn", read)[0] == "a"


TOMATOES = ("growing-tomatoes", "Deep watering wets the soil down to the roots. Tomatoes want it every 2 or 3 days.")
SOIL = ("garden-soil", "Clay holds water for a week, and sand lets it run through within an hour.")


@pytest.mark.parametrize(
    ("answer", "sources"),
    [
        ("Every 2 or 3 days.", ["growing-tomatoes"]),
        ("A week.", ["garden-soil"]),
        ("3 days", ["growing-tomatoes"]),
        ("Tomatoes want deep watering every 2 or 3 days, while clay holds water for a week.", 2),
        ("Sand holds water for an hour.", ["garden-soil"]),
        ("Yes.", []),
        ("Roses should be pruned in March, above an outward bud.", []),
        ("The soil should be limed once in a decade, says the ministry.", []),
        ("Une semaine, pour l'argile.", []),
        ("", []),
        ("?!", []),
    ],
)
def test_an_answer_has_the_sources_that_say_it(answer: str, sources: list[str] | int) -> None:
    found = attribute_answer(answer, [TOMATOES, SOIL])
    assert (sorted(found) == ["garden-soil", "growing-tomatoes"]) if sources == 2 else (found == sources)


LIBRARY = load_library()
TOOLS = toolbox(LIBRARY, FILES, Notebook()) | small_model_tools(LIBRARY, FILES, None, list)


def result(name: str, as_: str = "", **arguments: object) -> list[Message]:
    """A call and what it gave."""
    call = ToolCall("c1", as_ or name, json.dumps(arguments))
    found = Message("m2", "tool", TOOLS[name].run(arguments), call_id="c1", name=call.name)
    return [Message("m1", "assistant", calls=(call,)), found]


def sources(messages: Sequence[Message]) -> set[str]:
    return {source for source, _ in collect_sources(messages)}


def test_each_tool_shows_its_sources() -> None:
    assert sources(result("read_article", slug="context-windows")) == {"context-windows"}
    assert sources(result("read_article", as_="read", slug="Context windows")) == {"context-windows"}
    assert sources(result("read_file", path="README.md")) == {"README.md"}
    assert sources(result("read_file", as_="read", path="README.md")) == {"README.md"}
    assert sources(result("list_articles", topic="agents")) == sources(result("list_files")) == {""}
    found = result("search", query="What is observation masking?")
    assert sources(found) == {*SOURCE.findall(found[1].content)}
    assert sources([]) == sources(result("search", query="zzzz")) == set()


def test_a_hidden_or_failed_result_shows_nothing() -> None:
    asked, found = result("read_article", slug="context-windows")
    for content in (CANCELLED, "Error: no article 'x'; nearest: context-windows"):
        assert not any(text for _, text in collect_sources([asked, replace(found, content=content)]))
    masked = replace(found, content="[masked: read_article, 2,000 tokens]", why="old")
    assert not any(text for _, text in collect_sources([asked, masked]))


def test_each_article_that_is_listed_is_known() -> None:
    listed = result("list_articles", topic="agents")
    titles = [article.title for article in LIBRARY.matching("agents")][:4]
    assert attribute_answer(f"The articles are {', '.join(titles)}.", [*collect_sources(listed)]) == [""]


PROVED = [
    (exchange.question, proof)
    for question in load_questions().questions
    for exchange in question.exchanges[:1]
    for fact in exchange.facts
    for proof in fact.proof[:1]
    if proof.article
][::12]


@pytest.mark.parametrize(("question", "proof"), PROVED)
def test_a_sentence_of_what_was_found_has_its_article_and_one_of_another_has_none(question: str, proof: object) -> None:
    found = [*collect_sources(result("search", query=question))]
    sentence, article = proof.sentence, proof.article  # type: ignore[attr-defined]
    holders = {source for source, text in found if sentence in text}
    if holders:
        assert {*attribute_answer(sentence, found)} <= holders | {article}
    others = [piece for piece in collect_sources(result("search", query="tomatoes and chess")) if piece[0] != article]
    assert not attribute_answer(sentence, others)
