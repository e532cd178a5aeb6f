"""Each exercise: the model solution passes, the starter fails, and each usual wrong solution is told why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.family import family
from tests.workshop.wrong_solutions import WRONG
from thimble.workshop.exercise_set import BUILT_IN_EXERCISES, Exercise, ExerciseSet, load_set
from thimble.workshop.judge import judge_exercise

EXERCISES = load_set(BUILT_IN_EXERCISES).exercises
BY_NAME = {exercise.name: exercise for exercise in EXERCISES}
every_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=BY_NAME)


@every_exercise
@pytest.mark.parametrize("seed", family(range(20)))
def test_the_model_solution_passes(exercise: Exercise, seed: int) -> None:
    verdict = judge_exercise(exercise, exercise.solution, seed)
    assert verdict.passed, verdict.why


def test_an_exercise_is_found_by_its_name_then_its_number_then_how_its_name_begins() -> None:
    names = ("2-mask-more", "mask-more", "mask", "2")
    exercises = ExerciseSet("", Path(), [replace(EXERCISES[0], name=name) for name in names])
    asked = {"mask": "mask", "2": "2", "1": "2-mask-more", "mask-": "mask-more", "2-": "2-mask-more", "4": "2"}
    assert {name: exercises.find(name).name for name in asked} == asked


@every_exercise
def test_the_starter_fails_with_its_line(exercise: Exercise) -> None:
    verdict = judge_exercise(exercise, exercise.starter, 1)
    assert not verdict.passed
    assert verdict.check
    assert verdict.why


@every_exercise
def test_at_least_four_wrong_solutions_are_known(exercise: Exercise) -> None:
    assert len({code for code, _, _ in WRONG[exercise.name]}) >= 4


@pytest.mark.parametrize(
    ("name", "code", "check", "why"),
    family(
        [(name, *row) for name, rows in WRONG.items() for row in rows],
        *((name, *rows[0]) for name, rows in WRONG.items()),
    ),
)
def test_a_usual_wrong_solution_is_told_why(name: str, code: str, check: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(code)
    verdict = judge_exercise(BY_NAME[name], file, 0)
    assert not verdict.passed
    assert (verdict.check, why in verdict.why) == (check, True), verdict.why
