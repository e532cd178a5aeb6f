"""The page of answers: its intervals, its table, and the sessions it holds."""

from __future__ import annotations

import pytest

from scripts.answers import LIBRARY, READING, Asked, Mark, ask, by_kind, table
from tests.support.paths import ROOT
from thimble.corpus.questions import Exchange, Fact, Proof, Question
from thimble.lab.experiment import fingerprint

DOCS = ROOT / "docs"
READER = Asked("none", 64_000)
SHARE = "In SWE-agent runs, observation tokens make up about 84 % of an average turn"
ASKED = Question(
    "q1",
    "single",
    (
        Exchange(
            "What share of an average turn do observation tokens make up in SWE-agent runs?",
            (Fact(("84 %",), (Proof(SHARE, article="observation-masking"),)),),
        ),
    ),
)


def test_a_question_is_asked_in_a_session_of_its_own() -> None:
    (mark,) = ask(ASKED, READER)
    assert (mark.right, mark.why) == (True, "")
    assert mark.turns > 1
    assert mark.tokens is not None
    assert mark.tokens > mark.turns * 1000
    assert ask(ASKED, READER) == [mark]


def test_a_budget_that_cannot_hold_the_question_leaves_it_unanswered() -> None:
    (mark,) = ask(ASKED, Asked("observation-masking", 300))
    assert (mark.right, mark.why) == (False, "no answer")


def test_the_exchanges_of_a_dialogue_share_a_session() -> None:
    told = Fact(("84 %",), (Proof(SHARE, article="observation-masking"),))
    dialogue = Question("d1", "dialogue", (ASKED.exchanges[0], Exchange("And thanks!"), Exchange("ok", (told,))))
    first, last = ask(dialogue, READER)
    assert (first.exchange, last.exchange) == (1, 3)


def test_passages_are_told_apart_from_answers() -> None:
    ended = [("answered", True), ("answered", False), ("passages", False), ("refused", False)]
    marks = [Mark("q", "single", 1, False, False, right, "", "", 2, 9, 9, end, True) for end, right in ended]
    assert [*by_kind(marks)][2] == "| one fact |  |  | 4 | 25 25 25 |"


def test_the_table_says_what_was_lost_and_won_of_what_all_were_asked() -> None:
    def asked(*right: bool, tokens: int | None = 100) -> list[Mark]:
        return [Mark(f"q{at}", "single", 1, False, False, one, "", "", 2, tokens, 10) for at, one in enumerate(right)]

    marks = {READER: asked(True, True, False, True), Asked("hybrid", 8_000): asked(False, True, True, tokens=None)}
    header, _, first, other = table(marks)
    assert header.startswith("| 3 exchanges | right |")
    assert first == "| none | 67% | 100 | 10.0 |"
    assert other == "| hybrid | 67% (−1 +1) | ? | 10.0 |"


@pytest.mark.nightly
def test_the_page_of_answers_is_of_this_library_and_this_reader() -> None:
    page = (DOCS / "results" / "answers.md").read_text()
    for patterns in (LIBRARY, READING):
        assert f"`{fingerprint(*patterns)}`" in page, "make it again: python -m scripts.results answers --record"
