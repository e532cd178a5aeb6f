"""The page of answers: its intervals, its table, and the sessions it holds."""

from __future__ import annotations

from scripts.answers import LIBRARY, READING, Asked, Mark, ask, by_ending, table
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


def test_the_table_counts_each_kind_apart() -> None:
    marks = [Mark(f"q{n}", "single", 1, False, False, n < 3, "", "", 2, 100, 10) for n in range(4)]
    marks += [Mark("d", "dialogue", n, False, n > 1, n < 2, "", "", 4, 300, 30) for n in (1, 2)]
    header, _, row = table({READER: marks}, lambda mark: not mark.held_out)
    assert header.startswith(
        "| | one fact (4) | dialogues, every exchange (2) | dialogues, exchanges that lean on earlier"
    )
    assert row == ("| none @64,000 | 75 % (30 to 95 %) | 50 % (9 to 91 %) | 0 % (0 to 79 %) |  |  | 167 | 16.7 | 2.7 |")


def test_passages_are_told_apart_from_answers() -> None:
    ended = [("answered", True), ("answered", False), ("passages", False), ("refused", False)]
    marks = [Mark("q", "single", 1, False, False, right, "", "", 2, 9, 9, end, True) for end, right in ended]
    assert [*by_ending(marks)][2] == "| one fact | 4 | 25 % | 25 % | 0 % | 25 % | 25 % |"


def test_the_table_says_what_was_lost_and_won_of_what_all_were_asked() -> None:
    def asked(*right: bool) -> list[Mark]:
        return [Mark(f"q{at}", "single", 1, False, False, one, "", "", 2, None, 10) for at, one in enumerate(right)]

    marks = {READER: asked(True, True, False, True), Asked("hybrid", 8_000): asked(False, True, True)}
    _, _, first, other = table(marks, lambda mark: True)
    assert first.endswith(" |  |  | ? | 10.0 | 2.0 |")
    assert other.endswith(" | 1 | 1 | ? | 10.0 | 2.0 |")


def test_the_page_of_answers_is_of_this_library_and_this_reader() -> None:
    page = (DOCS / "results" / "answers.md").read_text()
    for patterns in (LIBRARY, READING):
        assert f"`{fingerprint(*patterns)}`" in page, "make it anew: python -m scripts.answers"
