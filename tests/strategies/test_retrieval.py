"""retrieval: what was hidden comes back when it is needed, and only then, and never at the cost of what is there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import log
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.embedding import Counting
from tests.support.histories import LIMITS, Story, budget, calls_of, react_history, sound_histories
from tests.support.specs import build
from thimble.agent.messages import Message
from thimble.agent.prompts import SUMMARY_TAG
from thimble.agent.view import prepare
from thimble.strategies.recital import without_recital
from thimble.strategies.retrieval import (
    K1,
    PASSAGE_TEXT,
    B,
    PassageIndex,
    Retrieval,
    rank_passages,
    split_result,
    stem_query,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOPICS = ["lighthouse keepers", "tram timetables", "beet harvests", "violin varnish", "glacier surveys", "moss gardens"]


def library(steps: int = 18, question: str = "Tell me about the library.") -> list[Message]:
    """A history that reads one article after the other; each says its own thing, and then much that all say."""
    history, told = react_history(steps), 0
    for place, message in enumerate(history):
        if message.role == "tool":
            topic = TOPICS[told % len(TOPICS)]
            told += 1
            fact = f"In year {1800 + told} the {topic} were counted: {told * 37} in all."
            history[place] = replace(
                message, content=f"# On {topic}\n\n{fact}\n\n" + "What everybody says anyway. " * 80
            )
        elif message.role == "user":
            history[place] = replace(message, content=question)
    return history


def asked(question: str, spec: str | Retrieval = "retrieval", limit: int = 6_000) -> str:
    """What comes back for a question after a long reading; "" for nothing."""
    strategy, history = build(spec) if isinstance(spec, str) else spec, library()
    for messages in calls_of(history):
        strategy.prepare(messages, budget(limit))
    history += Story(None).answer("I have read it all.").ask(question).messages
    named = [replace(message, id=f"m{place}") for place, message in enumerate(history, 1)]
    view = prepare(named, strategy, budget(limit))
    return view.messages[-1].content if view.inserted else ""


# --- what comes back --------------------------------------------------------------------------------------------------


def test_a_hidden_passage_comes_back_with_its_source_when_it_is_asked_for() -> None:
    text = asked("How many glacier surveys were counted in 1805?")
    assert text.startswith(SUMMARY_TAG)
    assert "the glacier surveys were counted: 185 in all." in text
    assert 'From read_article {"slug": "s5"}:' in text
    assert text.index("1805") < min(text.find(other) for other in ("1811", "1817") if other in text)


def test_nothing_comes_back_for_what_was_never_read() -> None:
    assert asked("Who painted the ceiling of the opera?") == ""


def test_no_more_than_asked_for_and_no_passage_twice() -> None:
    for most in (1, 2, 3):
        text = asked("glacier surveys, moss gardens and violin varnish", f"retrieval:passages={most},share=1")
        assert text.count("From read_article") == most
    text = asked("glacier surveys", "retrieval:passages=9,share=1")
    assert [text.count(f"In year {year}") for year in (1805, 1811, 1817)] == [1, 1, 0]  # the view shows the third


def test_a_passage_in_view_does_not_come_back() -> None:
    view = prepare(library(question="How many moss gardens were counted in 1818?"), build("retrieval"), budget(6_000))
    assert "year 1818" in view.messages[-2 if view.inserted else -1].content
    assert "year 1818" not in (view.messages[-1].content if view.inserted else "")


def test_a_result_that_slid_out_comes_back_too() -> None:
    strategy, history = build("retrieval"), library(120, "How many lighthouse keepers were counted in 1801?")
    view = prepare(history, strategy, budget(4_000))
    assert view.fates[3] == "dropped"
    assert "year 1801" in view.messages[-1].content
    assert view.tokens <= 4_000


# --- at what cost -----------------------------------------------------------------------------------------------------


@given(sound_histories(most_turns=40), LIMITS, st.integers(1, 6), st.sampled_from([0.05, 0.3, 1.0]))
def test_a_recital_takes_only_room_that_is_left(history: list[Message], limit: int, most: int, share: float) -> None:
    strategy, allowed = build(f"retrieval:passages={most},share={share}"), budget(limit)
    for messages in calls_of(history):
        view = strategy.prepare(messages, allowed)
        settled = without_recital(view, messages)
        assert len(view) - len(settled) <= 1
        if len(view) > len(settled):
            assert allowed.count(view[-1]) <= share * limit
            assert not allowed.over(view)
            assert view[-1].why


def test_a_recital_is_no_edit() -> None:
    strategy, before, edits, recitals = build("retrieval"), None, 0, 0
    for messages in calls_of(library(30, "What is said of glacier surveys and moss gardens?")):
        state = str(strategy.state)  # type: ignore[attr-defined]
        view = prepare(messages, strategy, budget(6_000), before)
        recitals += bool(view.inserted)
        edits += view.edited
        assert not view.edited or str(strategy.state) != state  # type: ignore[attr-defined]
        before = view
    assert recitals > 10
    assert edits < recitals / 2


# --- ranking ----------------------------------------------------------------------------------------------------------

LINES = st.lists(st.sampled_from(["cache", "server", "index", "moss", "tram"]), min_size=1, max_size=12).map(" ".join)


def bm25(texts: list[str], number: int, wanted: list[str]) -> float:
    """The score from the equation alone; a word in half of all texts or more counts nothing."""
    counted = [text.split() for text in texts]
    average = sum(map(len, counted)) / len(texts)
    score = 0.0
    for word in wanted:
        tf, n = counted[number].count(word), sum(word in one for one in counted)
        if 0 < 2 * n < len(texts):
            idf = log((len(texts) - n + 0.5) / (n + 0.5))
            score += idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * len(counted[number]) / average))
    return score


@given(st.lists(LINES, max_size=12), st.integers(0, 12))
def test_ranked_by_the_equation(texts: list[str], read: int) -> None:
    wanted = ["server", "moss", "tram"]
    index, results = PassageIndex(), [Message(f"m{number}", "tool", text) for number, text in enumerate(texts)]
    for upto in (read, len(texts), read, len(texts)):
        index.read(results[:upto])
    scores = [bm25(texts, int(passage.result.id[1:]), wanted) for passage in rank_passages(index, wanted)]
    assert scores == sorted(scores, reverse=True)
    assert all(2 * score >= scores[0] > 0 for score in scores)


def test_need_is_the_words_of_the_newest_turn() -> None:
    story = Story().ask("Which caches were counted?").turn(10)
    assert stem_query(story.messages)[:2] == ["cach", "count"]
    assert {"step", "s1"} <= set(stem_query(story.messages))
    story.answer("Done with mosses.").ask("And the trams?")
    assert stem_query(story.messages) == ["tram"]
    assert stem_query(Story().turn(10).messages)
    assert stem_query([]) == []


@given(st.text(st.sampled_from("word 日本\n\n.é🙂 \t"), max_size=3_000))
def test_passages_hold_every_word_and_are_small(text: str) -> None:
    passages = split_result(Message("m1", "tool", text))
    assert "".join("".join(passage.text for passage in passages).split()) == "".join(text.split())
    assert all(len(passage.text) <= 600 for passage in passages)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a " * 150 + "end\n\n" + "b " * 400, "a " * 150 + "end"),
        ("a " * 150 + "end\n" + "b " * 400, "a " * 150 + "end"),
        ("a " * 150 + "end. " + "b " * 400, "a " * 150 + "end."),
        ("a" * 900, "a" * 600),
        ("short\n\nand short", "short\n\nand short"),
    ],
)
def test_passages_are_cut_where_the_text_allows_it(text: str, first: str) -> None:
    found = PASSAGE_TEXT.match(text)
    assert found is not None
    assert found[0].strip() == first


# ---- by meaning ----


def embedding(embedder: Counting, **settings: int) -> Retrieval:
    return Retrieval(by="meaning", embedder=embedder, **settings)


@given(sound_histories(most_turns=40), LIMITS)
def test_without_vectors_the_words_rank_and_say_why(history: list[Message], limit: int) -> None:
    words, failing, allowed = Retrieval(), embedding(Counting(fails=True)), budget(limit, overhead=20)
    for messages in calls_of(history):
        one, other = (each.prepare(messages, allowed) for each in (words, failing))
        assert one == other
        if other and other[-1] is not messages[-1] and other[-1].why.startswith("what fits"):
            assert other[-1].why.endswith("(by words alone: the server is gone)")


def test_a_server_that_fails_is_asked_once_a_question_and_each_text_once() -> None:
    inner = Counting(fails=True)
    strategy, allowed, history = embedding(inner), budget(8_000), react_history(40, 600)
    for messages in calls_of(history):
        strategy.prepare(messages, allowed)
    assert len(inner.asked) == 1
    inner.fails = False
    strategy.prepare([*history, Message("next", "user", "And the second one?")], allowed)
    again = len(inner.asked)
    assert again == 2
    for _ in range(3):
        strategy.prepare([*history, Message("next", "user", "And the second one?")], allowed)
    texts = [text for asked in inner.asked[1:] for text in asked]
    assert len(texts) == len(set(texts))
    assert len(inner.asked) == again


def test_a_passage_is_found_that_shares_no_word_with_the_question() -> None:
    class Meaning(Counting):
        """Knows that a beacon is a lighthouse."""

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return super().embed(["lamp" if re.search("beacon|lighthouse", text) else "other" for text in texts])

    assert "the lighthouse keepers were counted" in asked("Who watched the beacon?", embedding(Meaning()))
    assert asked("Who watched the beacon?") == ""
