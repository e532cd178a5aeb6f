"""The commands of the workshop."""

from __future__ import annotations

import json
import shutil
from argparse import Namespace
from pathlib import Path

from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.repl.screen.theme import console_for, is_plain, say
from thimble.workshop.exercise_set import BUILT_IN_EXERCISES, TOML, load_set
from thimble.workshop.progress import Progress, create_workshop, find_workshop
from thimble.workshop.steps import check_file, judge_file, reset_exercise, show_done, show_hint, show_list, show_page

EXAMPLE = "02-window"
"""The exercise of ours that a new set starts with."""


def run_command(given: Namespace) -> bool:
    """Run the command of a command line; False if a check did not pass.

    Raises:
        UsageError: this folder is in no workshop, or a file cannot be read or written.
    """
    here, out = Path.cwd(), console_for(is_plain(False))
    match given.command:
        case "init":
            progress = create_workshop(given.folder, given.set)
            many, where = len(progress.set.exercises), given.folder.resolve()
            say(out, f"{many} exercises are in {where}\nGo there and start: thimble workshop next")
            return True
        case "new":
            make_set(given.folder)
            where = given.folder.resolve()
            say(out, f"A set with one exercise is in {where}\nGo there and check it: thimble workshop check")
            return True
        case "check" if Path(TOML).is_file():
            return check_set(here, out)
    progress = find_workshop(here)
    match given.command:
        case "next":
            if given.exercise:
                progress.at = progress.chosen = progress.set.find(given.exercise).name
                progress.save()
            elif progress.at in progress.done:
                progress.at = ""
            show_page(progress, out)
        case "check":
            return _check(progress, given.exercise, out)
        case "watch":
            from thimble.workshop.watch import watch_exercise

            watch_exercise(progress, out)
        case name:
            {"list": show_list, "hint": show_hint, "reset": reset_exercise}[name](progress, out)
    return True


def _check(progress: Progress, exercise: str, out: Console) -> bool:
    """Check the exercise of this name, all, or with "" the one of this folder."""
    if exercise == "all":
        passed = []
        for one in progress.set.exercises:
            progress.at = one.name
            passed.append(check_file(progress, out, line=True))
        show_done(progress, out)
        return all(passed)
    if exercise:
        progress.at = progress.set.find(exercise).name
    return check_file(progress, out)


def make_set(folder: Path) -> None:
    """Write a set of one exercise, a copy of one of ours, to change.

    Raises:
        UsageError: there is a set already, or the folder cannot be written.
    """
    if (folder / TOML).exists():
        raise UsageError(f"{folder} has a set already, in {TOML}", "give the name of a new folder")
    parts = (BUILT_IN_EXERCISES / TOML).read_text(encoding="utf-8").split("[[exercise]]")
    example = next(part for part in parts if f'name = "{EXAMPLE}"' in part).rstrip()
    title = json.dumps(folder.resolve().name, ensure_ascii=False)
    try:
        shutil.copytree(BUILT_IN_EXERCISES / EXAMPLE, folder / EXAMPLE)
        (folder / TOML).write_text(f"title = {title}\n\n[[exercise]]{example}\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}", "give the name of a new folder") from error


def check_set(folder: Path, out: Console) -> bool:
    """Whether each starter of the set fails and each model solution passes; shows a line for each exercise.

    Raises:
        UsageError: the set cannot be read.
    """
    wrong = 0
    limits = load_set(folder)
    for exercise in limits.exercises:
        begun, solved = (judge_file(exercise, file, limits, out)[0] for file in (exercise.starter, exercise.solution))
        faults = [f"the model solution fails: {solved.why}"] * (not solved.passed)
        faults += ["the starter passes already"] * begun.passed
        wrong += len(faults)
        for fault in faults:
            say(out, f"✗ {exercise.name}: {fault}", "error")
        if not faults:
            say(out, f"✓ {exercise.name}: the solution passes; the starter fails: {begun.why}")
    return not wrong
