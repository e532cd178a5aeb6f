"""What the tables say, against figures that are added up by hand from the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import TinyCounter
from tests.support.studies import answer, row
from thimble.agent.budget import Budget
from thimble.agent.messages import Message
from thimble.agent.view import measure
from thimble.corpus.questions import Fact, Proof
from thimble.lab.action_similarity import Action
from thimble.lab.run.analysis import TENTHS, StudySetting, by_kind, groups, outcomes, places, tenth
from thimble.lab.run.ask import ScoredAnswer, place
from thimble.lab.run.study_rows import StudyRow, made_by
from thimble.lab.run.study_tables import findings
from thimble.lab.table.outcomes import differences

PARTS = st.integers(0, 9)
FIGURES = st.builds(
    answer,
    st.booleans(),
    turns=st.integers(1, 5),
    prefill=PARTS,
    cost=st.floats(1, 100),
    side_cost=st.floats(0, 1),
    places=st.lists(st.none() | st.floats(0, 1), max_size=2).map(tuple),
)


def unscored(answers: Sequence[ScoredAnswer]) -> list[ScoredAnswer]:
    """What was said to messages of a dialogue that are no questions."""
    return [replace(each, right=None) for each in answers]


ROWS = st.lists(
    st.builds(
        lambda number, answers, strategy, seed, error: row(
            number, *(answers if number else unscored(answers)), strategy=strategy, seed=seed, error=error
        ),
        st.integers(0, 4),
        st.lists(FIGURES, min_size=1, max_size=2),
        st.sampled_from(["none", "hybrid"]),
        st.sampled_from([0, 1]),
        st.sampled_from(["", "", "", "gone"]),
    ),
    unique_by=lambda one: (one.digest, one.strategy, one.seed),
    min_size=1,
)


def of(rows: Sequence[StudyRow], strategy: str) -> list[ScoredAnswer]:
    return [each for one in rows if one.strategy == strategy and not one.error for each in one.answers]


@given(ROWS)
def test_the_figures_of_a_group_are_those_of_its_answers(rows: list[StudyRow]) -> None:
    for group in groups(rows):
        mine = [one for one in rows if one.strategy == group.setting.strategy]
        answers = of(rows, group.setting.strategy)
        assert (group.jobs, group.failed) == (len(mine), sum(bool(one.error) for one in mine))
        assert group.right == [each.right for each in answers].count(True)
        assert group.scored == group.right + [each.right for each in answers].count(False)
        if answers:
            assert group.turns == mean(each.turns for each in answers)
            assert group.cost == pytest.approx(mean(each.cost or 0 for each in answers))
            assert group.side_share == pytest.approx(
                sum(each.side_cost or 0 for each in answers) / sum(each.cost or 0 for each in answers)
            )


@given(ROWS)
def test_elongation_compares_the_same_exchanges(rows: list[StudyRow]) -> None:
    done = {(one.strategy, one.digest, one.seed): one for one in rows if not one.error}
    both = [(done[key], done["none", *key[1:]]) for key in done if key[0] == "hybrid" and ("none", *key[1:]) in done]
    ours, theirs = (sum(each.turns for pair in both for each in pair[at].answers) for at in (0, 1))
    found = {group.setting.strategy: group.elongation for group in groups(rows)}
    assert found.get("none") in (None, 0)
    if "hybrid" in found:
        assert found["hybrid"] == (pytest.approx(ours / theirs - 1) if both else None)


def test_next_actions_are_compared_up_to_the_first_that_differs() -> None:
    look, other, say = Action("", (("search", "{}"),)), Action("", (("list", "{}"),)), Action("Two.")
    mine = {"none": (look, say, say), "hybrid": (look, other, say), "truncate": (look, say, say)}
    rows = [row(1, answer(actions=actions), strategy=name) for name, actions in mine.items()]
    rows.append(row(1, answer(), strategy="offload"))
    found = {group.setting.strategy: group.agreement for group in groups(rows)}
    assert found == {"none": 1, "truncate": 1, "hybrid": pytest.approx(0.5), "offload": None}


@given(ROWS)
def test_the_places_count_answers_of_one_fact(rows: list[StudyRow]) -> None:
    counted = [each for spec in ("none", "hybrid") for each in of(rows, spec) if len(each.places) == 1]
    counted = [each for each in counted if each.right is not None]
    (found,) = places(rows).values()
    assert sum(tally.of for tally in found) == len(counted)
    assert sum(tally.right for tally in found) == sum(bool(each.right) for each in counted)
    assert found[TENTHS].of == sum(each.places == (None,) for each in counted)


def test_a_prompt_has_ten_tenths() -> None:
    assert [tenth(place) for place in (0, 0.0999, 0.1, 0.95, 1, None)] == [0, 0, 1, 9, 9, TENTHS]


@given(ROWS)
def test_a_question_is_one_instance_of_each_strategy(rows: list[StudyRow]) -> None:
    (found,) = outcomes(rows).values()
    for strategy, by_question in found.items():
        mine = [one for one in rows if one.strategy == strategy and not one.error]
        asked = {one.digest: [each for each in mine if each.digest == one.digest] for one in mine if one.digest != "d0"}
        assert by_question.keys() == asked.keys()
        for digest, of_one in asked.items():
            right = [each.right for one in of_one for each in one.answers]
            cost = mean(sum(each.cost or 0 for each in one.answers) for one in of_one)
            assert by_question[digest] == (pytest.approx(100 * mean(map(bool, right))), pytest.approx(cost))


def test_a_cost_that_is_unknown_is_in_no_difference() -> None:
    rows = [row(number, answer(cost=None if spec == "none" else 3.0), strategy=spec)
            for number in range(3) for spec in ("none", "hybrid")]  # fmt: skip
    (found,) = outcomes(rows).values()
    _, hybrid = differences(found, "none")
    assert (hybrid["pairs"], hybrid["solved_difference"], hybrid["cost_difference"]) == (3, 0, None)
    shown = next(table for table in findings(rows).tables if table.title.startswith("Differences"))
    assert shown.rows == [["hybrid", "3", "+0.0 [+0.0, +0.0]", "1.0000", "1.0000", "?", "?", "?"]]


def test_rows_of_other_settings_are_not_mixed() -> None:
    rows = [row(1, answer()), row(1, answer(), temperature=0.8, model="ollama:m"), row(1, answer(), code="abcdefgh"),
            row(1, answer(), summariser="small"), row(1, answer(), budget=4000)]  # fmt: skip
    assert [group.setting for group in groups(rows)] == [
        StudySetting("ollama:m, temperature 0.8", 8000, "none"),
        StudySetting("reader", 4000, "none"),
        StudySetting("reader", 8000, "none"),
        StudySetting("reader", 8000, "none (abcdef)"),
        StudySetting("reader, summariser small", 8000, "none"),
    ]


def test_the_tables_say_what_failed_and_what_other_code_made() -> None:
    rows = [row(1, answer(cost=None)), row(2, answer(False), made_by=made_by()), row(3, error="no server answers")]
    found = findings(rows)
    assert "3 finished jobs, 1 of them failed" in found.told[0]
    assert found.told[1:] == (
        [
            "The first failure: q3 under none: no server answers.",
            "2 of them are of other code or articles (this): do not compare them.",
        ]
    )
    assert found.tables[0].rows == [
        ("none @8,000", "3", "1", "2", "50 % (9 to 91)", "0", "?", "?", "0", "1.00", "+0.0 %", "?", "")
    ]
    assert [(one["question"], one["right"]) for one in found.records] == [("q1", True), ("q2", False)]


def test_kinds_of_questions_are_counted_apart() -> None:
    rows = [row(number, answer(number < 2), answer(None), kind="single") for number in range(3)]
    rows += [row(9, answer(False), kind="talk")]
    (kinds,) = by_kind(rows).values()
    assert {kind: (tally.right, tally.of) for kind, tally in kinds.items()} == {"single": (2, 3), "talk": (0, 1)}


# --- places in a prompt -----------------------------------------------------------------------------------------------

SENTENCE = "A thimble holds two [millilitres](volumes)."


@given(st.integers(0, 40), st.integers(0, 40), st.booleans())
def test_a_place_is_the_share_of_the_prompt_before_the_passage(before: int, behind: int, with_link: bool) -> None:
    counter = TinyCounter()
    said = SENTENCE if with_link else "A thimble  holds\ntwo millilitres."
    texts = [*["Some words."] * before, said, *["Other words."] * behind]
    messages = [Message(f"m{at}", "user", text) for at, text in enumerate(texts)]
    view = measure(messages, messages, Budget(10**6, counter, 7))
    fact = Fact(("two",), (Proof("A thimble is empty.", article="x"), Proof(SENTENCE, article="x")))
    wanted = (7 + sum(map(counter.count, messages[:before]))) / view.tokens
    assert place(fact, view, counter) == pytest.approx(wanted, abs=0.0001)
    assert place(Fact(("two",), (Proof("A thimble is full.", article="x"),)), view, counter) is None
