"""Each exercise: the model solution passes, the starter fails, and each usual wrong solution is told why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.family import family
from tests.workshop.wrong_solutions import WRONG
from thimble.workshop.exercise_set import OURS, Exercise, load_set
from thimble.workshop.judge import judge

EXERCISES = load_set(OURS).exercises
BY_NAME = {exercise.name: exercise for exercise in EXERCISES}
every_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=BY_NAME)


@every_exercise
@pytest.mark.parametrize("seed", family(range(20)))
def test_the_model_solution_passes(exercise: Exercise, seed: int) -> None:
    verdict = judge(exercise, exercise.solution, seed)
    assert verdict.passed, verdict.why


@every_exercise
def test_the_starter_fails_with_its_line(exercise: Exercise) -> None:
    verdict = judge(exercise, exercise.starter, 1)
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
    verdict = judge(BY_NAME[name], file, 0)
    assert not verdict.passed
    assert (verdict.check, why in verdict.why) == (check, True), verdict.why
