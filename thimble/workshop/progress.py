"""A participant's workshop: a folder with a file for each exercise, and the progress in `progress.json`."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path

from pydantic import TypeAdapter

from thimble.agent.errors import UsageError, in_line
from thimble.corpus.reading import file_bytes
from thimble.workshop.exercise_set import BUILT_IN_EXERCISES, SET_BYTES, SOLUTION, TOML, Exercise, ExerciseSet, load_set

PROGRESS, MINE = "progress.json", "mine.py"


@dataclass
class Progress:
    """The exercises done, the number of hints shown, and the chosen exercise ("" for the first that is not done).

    `exercises_in`: the folder of the set; "" for the one that ships, so that a workshop can move to another machine.
    `at`: the exercise of this command, such as that of the current folder; it goes before `chosen` and is not saved.
    """

    folder: Path
    exercises_in: str = ""
    done: list[str] = field(default_factory=list)
    hints: dict[str, int] = field(default_factory=dict)
    chosen: str = ""
    at: str = ""

    @cached_property
    def set(self) -> ExerciseSet:
        """The set. Raises UsageError."""
        return load_set(Path(self.exercises_in) if self.exercises_in else BUILT_IN_EXERCISES)

    @property
    def exercise(self) -> Exercise:
        """The exercise to write now; the last one if all are done. Raises UsageError."""
        exercises = self.set.exercises
        if name := self.at or self.chosen:
            return self.set.find(name)
        return next((one for one in exercises if one.name not in self.done), exercises[-1])

    @property
    def file(self) -> Path:
        """The participant's file for this exercise."""
        return self.folder / self.exercise.name / MINE

    def save(self) -> None:
        """Write the progress."""
        told = {name: value for name, value in asdict(self).items() if name not in ("folder", "at")}
        (self.folder / PROGRESS).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")

    def reload(self) -> None:
        """Reload the progress, which another command may have changed. Raises UsageError."""
        now = find_workshop(self.folder)
        self.done, self.hints, self.chosen = now.done, now.hints, now.chosen

    def advance(self) -> None:
        """Go to the exercise after this one, and choose it; after the last, the first."""
        names = [one.name for one in self.set.exercises]
        place = names.index(self.exercise.name) + 1
        self.reload()
        self.at = self.chosen = names[place % len(names)]
        self.save()

    def note_done(self) -> None:
        """Record that the exercise is done, and copy the model solution next to the participant's file."""
        exercise, beside = self.exercise, self.file.with_name(SOLUTION)
        if not beside.exists():
            shutil.copy(exercise.solution, beside)
        self.reload()
        self.done = [one.name for one in self.set.exercises if one.name in (*self.done, exercise.name)]
        if self.chosen == exercise.name:
            self.chosen = ""
        self.save()

    def reset(self) -> Path | None:
        """Put the starter back; return the new path of the participant's file, if it was not the starter."""
        file, kept = self.file, None
        if file.exists() and file.read_bytes() != self.exercise.starter.read_bytes():
            names = (file.with_name(f"{MINE}.old{number or ''}") for number in count())
            kept = file.rename(next(name for name in names if not name.exists()))
        shutil.copy(self.exercise.starter, file)
        return kept


def create_workshop(folder: Path, exercises_in: Path | None) -> Progress:
    """Make a workshop in a folder. Existing files stay.

    Raises:
        UsageError: the folder is a workshop or a set already, or cannot be written; or there is no such set.
    """
    if (folder / PROGRESS).exists():
        raise UsageError(f"{folder} is a workshop already", "go there and continue: thimble workshop next")
    if (folder / TOML).exists():
        raise UsageError(f"{folder} is the folder of a set", "choose another folder")
    progress = Progress(folder, str(exercises_in.resolve()) if exercises_in else "")
    try:
        for exercise in progress.set.exercises:
            own = folder / exercise.name
            own.mkdir(parents=True, exist_ok=True)
            shutil.copy(exercise.page, own)
            if not (own / MINE).exists():
                shutil.copy(exercise.starter, own / MINE)
        progress.save()
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be written: {error.strerror}", "choose another folder") from error
    return progress


def workshop_folder(here: Path) -> Path | None:
    """The folder of the workshop that this folder is in."""
    return next((folder for folder in (here, *here.parents) if (folder / PROGRESS).is_file()), None)


def find_workshop(here: Path) -> Progress:
    """The workshop that this folder is in, at the exercise of this folder, if any. Raises UsageError."""
    folder = workshop_folder(here)
    if folder is None:
        raise UsageError("this folder is not in a workshop", "make one: thimble workshop init FOLDER")
    file = folder / PROGRESS
    try:
        told = json.loads(file_bytes(file, SET_BYTES))
        progress = TypeAdapter(Progress).validate_python({**told, "folder": folder})
    except (OSError, ValueError, TypeError, RecursionError) as error:
        fix = "delete it, and start again: thimble workshop init . (your files stay)"
        raise UsageError(f"{file} cannot be read: {in_line(str(error))}", fix) from error
    below = here.relative_to(folder).parts[:1]
    progress.at = next((one.name for one in progress.set.exercises if (one.name,) == below), "")
    return progress
