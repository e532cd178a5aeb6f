"""A set of exercises: a folder with `workshop.toml` and, for each exercise, a folder of the same name."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from thimble.agent.errors import UsageError
from thimble.workshop.checks import named_check

TOML = "workshop.toml"
OURS = Path(__file__).parent / "exercises"
PAGE, SOLUTION = "page.md", "solution.py"


@dataclass(frozen=True)
class Exercise:
    """One exercise, as the TOML has it; each field but `name`, `checks` and `hints` may be left out there.

    `checks`: names, or tables `{check = NAME, …}` with its parameters. `begins_as`: the path of the starter from its
    folder, such as another exercise's solution. `member`: the class in the file; "" for a plain function. `limit`: the
    budget in tokens; 0 for one at the edge of what a history needs. `turns`, `words`: the least and the most of a
    history, and of each half of a result. `lag`: calls until the small model's reply is there.
    """

    name: str
    folder: Path
    checks: Sequence[str | Mapping[str, Any]]
    hints: Sequence[str]
    begins_as: str = "starter.py"
    member: str = ""
    limit: int = 700
    turns: Sequence[int] = (1, 9)
    words: Sequence[int] = (8, 60)
    tools: bool = True
    lag: int = 0
    histories: int = 30

    @property
    def page(self) -> Path:
        """What the participant reads."""
        return self.folder / PAGE

    @property
    def starter(self) -> Path:
        """What the participant's file begins as."""
        return self.folder / self.begins_as

    @property
    def solution(self) -> Path:
        """The file of the model solution."""
        return self.folder / SOLUTION

    def named_checks(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Each check with its parameters."""
        tables = [one if isinstance(one, Mapping) else {"check": one} for one in self.checks]
        return [(one["check"], {key: value for key, value in one.items() if key != "check"}) for one in tables]


@dataclass(frozen=True)
class ExerciseSet:
    """Exercises in order, and the limits of a check: seconds of computing, megabytes of memory."""

    title: str
    folder: Path
    exercises: Sequence[Exercise] = field(default=())
    seconds: int = 10
    megabytes: int = 2_000

    def find(self, name: str) -> Exercise:
        """The exercise of this name, number, or beginning of a name, in this order. Raises UsageError."""
        found = [one for one in self.exercises if one.name == name]
        found += [one for number, one in enumerate(self.exercises, 1) if str(number) == name]
        found += [one for one in self.exercises if one.name.startswith(name)]
        if found:
            return found[0]
        names = ", ".join(one.name for one in self.exercises)
        raise UsageError(f"there is no exercise {name!r}", f"the exercises: {names}")


def load_set(folder: Path) -> ExerciseSet:
    """The set in a folder.

    Raises:
        UsageError: there is none, or a line of its TOML is wrong.
    """
    path = folder / TOML
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
        rows = [Exercise(folder=folder / row["name"], **row) for row in told.pop("exercise")]
        made = ExerciseSet(folder=folder, exercises=rows, **told)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "thimble workshop new NAME makes a set") from error
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        fix = f"an exercise has {', '.join(one.name for one in fields(Exercise) if one.name != 'folder')}"
        raise UsageError(f"{path}: {error}", fix) from error
    for exercise in rows:
        for name, given in exercise.named_checks():
            try:
                inspect.signature(inspect.unwrap(named_check(name))).bind(None, **given)
            except TypeError as error:
                fix = "docs/how-to/run-a-workshop.md lists the parameters of each check"
                raise UsageError(f"{path}: {exercise.name}: {name}: {error}", fix) from error
        missing = next(
            (file for file in (exercise.page, exercise.starter, exercise.solution) if not file.is_file()), None
        )
        if missing or not exercise.hints:
            what = f"{missing} is missing" if missing else f"{path}: {exercise.name} has no hint"
            raise UsageError(what, "an exercise has a page, a starter, a solution and hints")
    return made
