"""A set of exercises: a folder with `workshop.toml` and, for each exercise, a folder of the same name."""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError, with_config

from thimble.agent import foreign
from thimble.agent.errors import UsageError, in_line
from thimble.corpus.reading import file_bytes
from thimble.workshop.checks import named_check

TOML = "workshop.toml"
BUILT_IN_EXERCISES = Path(__file__).parent / "exercises"
PAGE, SOLUTION = "page.md", "solution.py"
SET_BYTES = 1_000_000
"""The largest size of a file of a set."""
KNOWN = ConfigDict(extra="forbid")

Count = Annotated[int, Field(ge=0, le=500)]
Range = Annotated[tuple[Count, Count], AfterValidator(sorted)]


@with_config(KNOWN)
@dataclass(frozen=True)
class Exercise:
    """One exercise, as in the TOML; each field but `name`, `checks` and `hints` is optional there.

    `checks`: names, or tables `{check = NAME, …}` with its parameters. `begins_as`: the path of the starter from its
    folder, such as another exercise's solution. `member`: the class in the file; "" for a plain function. `limit`: the
    budget in tokens; 0 for one about as large as a history needs. `turns`, `words`: the least and the most of a
    history, and of each half of a result. `lag`: calls until the small model's reply arrives.
    """

    name: Annotated[str, Field(pattern=r"^\w[\w .-]{0,59}$")]
    folder: Path
    checks: Annotated[Sequence[str | Mapping[str, Any]], Field(max_length=50)]
    hints: Annotated[Sequence[str], Field(min_length=1, max_length=50)]
    begins_as: str = "starter.py"
    member: Annotated[str, Field(pattern=r"^\w*$")] = ""
    limit: Annotated[int, Field(ge=0, le=10_000_000)] = 700
    turns: Range = (1, 9)
    words: Range = (8, 60)
    tools: bool = True
    lag: Count = 0
    histories: Annotated[Count, Field(ge=1)] = 30

    @property
    def page(self) -> Path:
        """The page that the participant reads."""
        return self.folder / PAGE

    @property
    def starter(self) -> Path:
        """The file that the participant starts from."""
        return self.folder / self.begins_as

    @property
    def solution(self) -> Path:
        """The file of the model solution."""
        return self.folder / SOLUTION

    def named_checks(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Each check with its parameters."""
        tables = [one if isinstance(one, Mapping) else {"check": one} for one in self.checks]
        return [(one["check"], {key: value for key, value in one.items() if key != "check"}) for one in tables]


@with_config(KNOWN)
@dataclass(frozen=True)
class ExerciseSet:
    """Exercises in order, and the limits of a check: seconds, and megabytes of memory."""

    title: str
    folder: Path
    exercises: Annotated[Sequence[Exercise], Field(min_length=1, max_length=100)]
    seconds: Annotated[int, Field(ge=1, le=3_600)] = 10
    megabytes: Annotated[int, Field(ge=100, le=100_000)] = 2_000

    def find(self, name: str) -> Exercise:
        """The exercise with this name, number, or start of a name, in this order. Raises UsageError."""
        found = [one for one in self.exercises if one.name == name]
        found += [one for number, one in enumerate(self.exercises, 1) if str(number) == name]
        found += [one for one in self.exercises if one.name.startswith(name)]
        if found:
            return found[0]
        names = ", ".join(one.name for one in self.exercises)
        raise UsageError(f"there is no exercise {name!r}", f"the exercises: {names}")


def load_set(folder: Path) -> ExerciseSet:
    """Load the set in a folder, check every value of its TOML, and refuse files outside the folder.

    Raises:
        UsageError: there is no set, or its TOML or one of its files is wrong.
    """
    path = folder / TOML
    try:
        told = tomllib.loads(file_bytes(path, SET_BYTES).decode())
        if not all(
            text.replace("\n", "").isprintable() for text in foreign.iter_strings(json.dumps(told, default=str))
        ):
            raise ValueError("a text has a control character")
        rows = [{**row, "folder": folder / str(row["name"])} for row in told.pop("exercise")]
        made = TypeAdapter(ExerciseSet).validate_python({**told, "folder": folder, "exercises": rows})
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "thimble workshop new NAME makes a set") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        fix = f"an exercise has {', '.join(one.name for one in fields(Exercise) if one.name != 'folder')}"
        raise UsageError(f"{path}: {in_line(_first_error(error))}", fix) from error
    for exercise in made.exercises:
        for name, given in exercise.named_checks():
            try:
                function = inspect.unwrap(named_check(name))
                inspect.signature(function).bind(None, **given)
                for parameter, value in given.items():
                    TypeAdapter(get_type_hints(function)[parameter]).validate_python(value)
            except (TypeError, ValueError) as error:
                fix = "docs/how-to/run-a-workshop.md lists the parameters of each check"
                raise UsageError(f"{path}: {exercise.name}: {name}: {in_line(_first_error(error))}", fix) from error
        for file in (exercise.page, exercise.starter, exercise.solution):
            if not file.is_file() or not file.resolve().is_relative_to(folder.resolve()):
                raise UsageError(f"{file} is missing, or outside {folder}", "an exercise has its files in its set")
            if file.stat().st_size > SET_BYTES:
                raise UsageError(f"{file} is larger than {SET_BYTES // 1_000_000} MB", "make it smaller")
    return made


def _first_error(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    return ": ".join(filter(None, (" ".join(map(str, first["loc"])), first["msg"])))
