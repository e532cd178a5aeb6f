"""What the tables say, against figures that are added up by hand from the same rows."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.studies import row
from thimble.lab.experiment import Row, made_by
from thimble.lab.run.answer_tables import TENTHS, answer_tables, outcome_rows, summarise_setting, tenth_of_prompt
from thimble.lab.run.command import Study
from thimble.lab.table.outcomes import differences

ROWS = st.lists(
    st.builds(
        lambda number, right, **values: row(number, right if number else None, **values),
        st.integers(0, 4),
        st.booleans(),
        exchange=st.sampled_from([1, 2]),
        strategy=st.sampled_from(["none", "hybrid"]),
        seed=st.sampled_from([0, 1]),
        turns=st.integers(1, 5),
        cost=st.floats(1, 100),
        side_cost=st.floats(0, 1),
        places=st.lists(st.none() | st.floats(0, 1), max_size=2),
    ),
    unique_by=lambda one: (one["digest"], one["strategy"], one["seed"], one["exchange"]),
    min_size=1,
)
"""Those of question 0 are not scored."""
FAILS = st.sets(st.tuples(st.sampled_from(["d1", "d2"]), st.sampled_from(["none", "hybrid"])))


def tables(rows: Sequence[Row], baseline: str = "none") -> dict[str, list[Sequence[str]]]:
    return {table.title.split(":")[0]: [*table.rows] for table in answer_tables(rows, baseline)}


@given(ROWS, FAILS)
def test_the_figures_of_a_setting_are_those_of_its_answers(rows: list[Row], fails: set[tuple[str, str]]) -> None:
    for one in rows:
        one["error"] = "gone" if (one["digest"], one["strategy"]) in fails else ""
    ours, raw = ([one for one in rows if one["strategy"] == spec] for spec in ("hybrid", "none"))
    found, done = summarise_setting(ours, raw), [one for one in ours if not one["error"]]
    assert found["jobs"] == len({(one["digest"], one["seed"]) for one in ours})
    assert found["failed"] == len({(one["digest"], one["seed"]) for one in ours if one["error"]})
    if done:
        assert found["turns"] == mean(one["turns"] for one in done)
        assert found["cost"] == pytest.approx(mean(one["cost"] for one in done))
        assert found["side_share"] == pytest.approx(
            sum(one["side_cost"] for one in done) / sum(one["cost"] for one in done)
        )
    asked = [{(one["digest"], one["seed"]) for one in of if not one["error"]} for of in (ours, raw)]
    both = asked[0] & asked[1]
    turns = [sum(one["turns"] for one in of if (one["digest"], one["seed"]) in both) for of in (ours, raw)]
    assert found["elongation"] == (pytest.approx(turns[0] / turns[1] - 1) if both else None)


def test_next_actions_are_compared_up_to_the_first_that_differs() -> None:
    look, other, say = ["", [["search", "{}"]]], ["", [["list", "{}"]]], ["Two.", []]
    raw = [row(1, actions=[look, say, say])]
    found = [
        summarise_setting([row(1, actions=actions)], raw)["agreement"]
        for actions in ([look, say, say], [look, other, say], [])
    ]
    assert found == [1, pytest.approx(0.5), None]


@given(ROWS)
def test_the_places_count_answers_of_one_fact(rows: list[Row]) -> None:
    counted = [one for one in rows if len(one["places"]) == 1 and one["right"] is not None]
    shown = {place: cell for place, cell in tables(rows)["Where the needed passage stood in the prompt of the answer"]}
    assert sum(int(cell.split(" of ")[1]) for cell in shown.values()) == len(counted)
    nowhere = [one["right"] for one in counted if one["places"] == [None]]
    share = f"{mean(nowhere):.0%}".replace("%", " %") if nowhere else ""
    assert shown.get("not there", "").startswith(share)


def test_a_prompt_has_ten_tenths() -> None:
    assert [tenth_of_prompt(place) for place in (0, 0.0999, 0.1, 0.95, 1, None)] == [0, 0, 1, 9, 9, TENTHS]


@given(ROWS)
def test_a_question_is_one_instance_of_each_strategy(rows: list[Row]) -> None:
    found = {(one["strategy"], one["instance"]): one for one in outcome_rows(rows)}
    assert found.keys() == {(one["strategy"], one["digest"]) for one in rows if one["digest"] != "d0"}
    for (strategy, digest), one in found.items():
        mine = [each for each in rows if (each["strategy"], each["digest"]) == (strategy, digest)]
        assert one["solved"] == pytest.approx(100 * mean(each["right"] for each in mine))
        assert one["cost"] == pytest.approx(sum(each["cost"] for each in mine) / len({each["seed"] for each in mine}))


def test_a_cost_that_is_unknown_is_in_no_difference() -> None:
    assert "Differences from none" not in tables([row(0, None), row(1, strategy="hybrid")]), "nothing to compare with"
    rows = [row(number, cost=None if spec == "none" else 3.0, strategy=spec)
            for number in range(3) for spec in ("none", "hybrid")]  # fmt: skip
    _, hybrid = differences(outcome_rows(rows), "none")
    assert (hybrid["pairs"], hybrid["solved_difference"], hybrid["cost_difference"]) == (3, 0, None)
    assert tables(rows)["Differences from none"] == [
        ["hybrid", "3", "+0.0 [+0.0, +0.0]", "1.0000", "1.0000", "?", "?", "?"]
    ]


def test_the_tables_say_what_failed_and_what_other_code_made() -> None:
    rows = [row(1, kind="talk", cost=None), row(2, False, made_by=made_by()), row(3, None, error="no server answers")]
    rows += [row(1, strategy=spec, budget=4000) for spec in ("own", "hybrid", "none")] + [row(1, model="ollama:m")]
    ordered = Study().report(rows, Namespace(wrong=False, baseline="none")).records
    assert [(one["model"], one["budget"], one["strategy"]) for one in ordered] == [
        ("ollama:m", 8000, "none"), *(("reader", 4000, spec) for spec in ("none", "hybrid", "own")),
        *[("reader", 8000, "none")] * 3,
    ]  # fmt: skip
    rows = rows[:3]
    assert [*Study().report(rows, Namespace(wrong=False, baseline="none")).headline] == [
        f"3 finished jobs, 1 of them failed, code {made_by()}.",
        "The first failure: q3 under none: no server answers.",
        "2 of them were made by other code or articles (this): do not compare them.",
    ]
    found = tables(rows)
    assert found["Answers and cost"] == [
        ("none @8,000", "3", "1", "2", "50 % (9 to 91)", "0", "0", "?", "0", "1.00", "+0.0 %", "?", "")
    ]
    assert found["Right answers by kind of question, %"] == [
        ["none @8,000", "0 % (0 to 79) of 1", "100 % (21 to 100) of 1"]
    ]
