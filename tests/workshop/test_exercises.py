"""Each exercise: the model solution passes, the starter fails, and each usual wrong solution is told why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workshop.wrong_solutions import WRONG
from thimble.workshop.exercise_set import OURS, STARTER, Exercise, load_set
from thimble.workshop.judge import judge

EXERCISES = load_set(OURS).exercises
BY_NAME = {exercise.name: exercise for exercise in EXERCISES}
every_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=BY_NAME)


@every_exercise
def test_the_model_solution_passes(exercise: Exercise) -> None:
    for seed in range(2):
        verdict = judge(exercise, exercise.solution, seed)
        assert verdict.passed, (seed, verdict.why)


@every_exercise
def test_the_starter_fails_with_its_line(exercise: Exercise) -> None:
    verdict = judge(exercise, exercise.folder / STARTER, 1)
    assert not verdict.passed
    assert verdict.check
    assert verdict.why


@every_exercise
def test_at_least_four_wrong_solutions_are_known(exercise: Exercise) -> None:
    assert len({code for code, _, _ in WRONG[exercise.name]}) >= 4


@pytest.mark.parametrize(
    ("name", "code", "check", "why"), [(name, *row) for name, rows in WRONG.items() for row in rows]
)
def test_a_usual_wrong_solution_is_told_why(name: str, code: str, check: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(code)
    verdict = judge(BY_NAME[name], file, 0)
    assert not verdict.passed
    assert (verdict.check, why in verdict.why) == (check, True), verdict.why
