"""An answer is right when it says all it must, cites it, is short, and says nothing that is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.corpus.questions import NATURAL, Exchange, Fact, Proof
from thimble.corpus.score import ANSWER_WORDS, JUDGED_WORDS, cited_sources, is_refusal, score_answer

SHARE = Fact(("84 %",), (Proof("84 % of a turn are observations.", article="observation-masking"),))
TOLD = Fact(("heron",), (Proof("our project is called heron", exchange=1),))
ASKED = Exchange("How much of a turn?", (SHARE,), reject=("51 %",))
RIGHT = "About 84 per cent of a turn [observation-masking]."


def test_an_answer_that_states_and_cites_is_right() -> None:
    assert score_answer(ASKED, RIGHT).right


@given(st.integers(ANSWER_WORDS, 400))
def test_quoting_everything_is_not_answering(length: int) -> None:
    scored = score_answer(ASKED, f"{RIGHT} {'word ' * length}")
    assert not scored.right
    assert scored.why.startswith("too long")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "no answer"),
        ("About 84 % of a turn.", "does not cite: observation-masking"),
        ("About 84 % of a turn [context-rot].", "does not cite: observation-masking"),
        ("About 80 % of a turn [observation-masking].", "does not say: 84 %"),
        ("It is 84 %, or 51 % [observation-masking].", "states something wrong: 51 %"),
        ("I cannot answer that; perhaps 84 % [observation-masking].", "declined"),
    ],
)
def test_a_wrong_answer_says_why(answer: str, why: str) -> None:
    assert score_answer(ASKED, answer).why == why


def test_a_value_beside_the_wrong_name_is_swapped() -> None:
    proof = (Proof("Raw cost $1.29 and masking $0.61.", article="observation-masking"),)
    asked = Exchange("What did each cost?", tuple(Fact((cost,), proof, beside=name) for name, cost in COSTS.items()))
    assert score_answer(asked, "Raw cost $1.29. Masking cost $0.61 [observation-masking].").right
    assert not score_answer(asked, "Raw cost $0.61. Masking cost $1.29 [observation-masking].").right


COSTS = {"raw": "$1.29", "masking": "$0.61"}


def test_words_of_the_user_need_no_citation() -> None:
    assert score_answer(Exchange("What is it called?", (TOLD,), leans_on=(1,)), "It is called Heron.").right


@pytest.mark.parametrize("kind", ["", "offtopic", "neartopic", "unanswerable"])
def test_a_question_without_an_answer_must_be_declined(kind: str) -> None:
    asked = Exchange("How tall was Turing?", absent=("Turing", "tall"), reject=("5 ft",))
    assert score_answer(asked, "I cannot answer that from these articles.", kind).right
    assert score_answer(asked, "He was quite tall.", kind).why == "not declined"
    assert not score_answer(asked, "I cannot answer that from here, but 5 ft is likely.", kind).right


@pytest.mark.parametrize(
    ("text", "declines"),
    [
        ("I cannot answer that from these articles: nothing there speaks of “Turing”.", True),
        ("This cannot be answered from here.", True),
        ("I couldn't find this in the library.", True),
        ("The articles do not mention it.", True),
        ("There is no information about that in the corpus.", True),
        ("None of this is known: nothing in the files says so.", True),
        ("I am unable to determine that.", True),
        ("That isn't covered by any article.", True),
        ("Masking costs $0.61 [observation-masking].", False),
        ("Nobody reads logs at night.", False),
        ("It is 84 %. The other article does not mention it.", False),
        ("Temperature zero is no cure [testing-llm-applications].", False),
    ],
)
def test_an_answer_declines(text: str, declines: bool) -> None:
    assert is_refusal(text) == declines


def test_citations_in_all_their_forms() -> None:
    text = (
        "A [context-rot]. B [a-b; c-d, e]. C [logs/server.log:10-12] and [notes.md:3]; not [a link](context-windows)."
    )
    assert cited_sources(text) == {"context-rot", "a-b", "c-d", "e", "logs/server.log", "notes.md"}


LOOP = Fact(
    ("loop|cycle tool|function", "again_and_again act"), (Proof("An agent calls tools in a loop.", article="x"),)
)
NATURALLY = Exchange("what even is an agent", (LOOP,), reject=("51 %",))
each_natural = pytest.mark.parametrize("kind", NATURAL)


@each_natural
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("An agent calls tools in a loop [what-is-an-ai-agent].", ""),
        ("It uses functions, cycle after cycle.", ""),
        ("It acts again and again.", ""),
        ("It calls tools. Then it loops.", "does not say: loop|cycle tool|function"),
        ("It calls tools in a loop, in 51 % of cases.", "states something wrong: 51 %"),
        ("I cannot find this. Tools in a loop.", "declined"),
        ("", "does not say: loop|cycle tool|function"),
    ],
)
def test_any_wording_of_a_natural_answer_is_right_in_one_sentence(kind: str, answer: str, why: str) -> None:
    assert score_answer(NATURALLY, answer, kind).why == why


@each_natural
@given(st.integers(0, 200))
def test_only_the_first_words_of_a_natural_answer_are_judged(kind: str, before: int) -> None:
    said = "Tools run in a loop."
    most = JUDGED_WORDS.get(kind, 80)
    fits = before + len(said.split()) <= most
    assert score_answer(NATURALLY, f"{'Well. ' * before}{said} It goes on {'and on ' * 200}", kind).right == fits
    assert score_answer(NATURALLY, f"{said} {'Well. ' * most} 51 %.", kind).right


@each_natural
def test_a_slug_counts_as_said_in_a_listing_only(kind: str) -> None:
    asked = Exchange("anything on caches?", (Fact(("kv-cache",), (Proof("x", article="kv-cache"),)),))
    assert score_answer(asked, "There is this [kv-cache].", kind).right == (kind == "listing")
