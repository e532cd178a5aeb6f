"""The commands of the workshop. A command returns False if a check did not pass."""

from __future__ import annotations

import json
import shutil
from argparse import Namespace
from pathlib import Path

from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.repl.screen.theme import console_for, is_plain, say
from thimble.workshop.exercise_set import OURS, TOML, load_set
from thimble.workshop.progress import create_workshop, find_workshop
from thimble.workshop.steps import check_file, hint, judge_file, reset, show_done, show_list, show_page

EXAMPLE = "02-window"
"""The exercise of ours that a new set starts with."""


def init_command(given: Namespace) -> None:
    """Make a workshop."""
    progress = create_workshop(given.folder, given.set)
    many, where = len(progress.set.exercises), given.folder.resolve()
    say(_console(), f"{many} exercises are in {where}\nGo there and start: thimble workshop next")


def next_command(given: Namespace) -> None:
    """Show a page."""
    progress = find_workshop(Path.cwd())
    if given.exercise:
        progress.at = progress.chosen = progress.set.find(given.exercise).name
        progress.save()
    elif progress.at in progress.done:
        progress.at = ""
    show_page(progress, _console())


def list_command(given: Namespace) -> None:
    """List the exercises."""
    show_list(find_workshop(Path.cwd()), _console())


def check_command(given: Namespace) -> bool:
    """Check an exercise, or a set."""
    if Path(TOML).is_file():
        return check_set(Path.cwd(), _console())
    progress = find_workshop(Path.cwd())
    if given.exercise == "all":
        passed = []
        for exercise in progress.set.exercises:
            progress.at = exercise.name
            passed.append(check_file(progress, _console(), line=True))
        show_done(progress, _console())
        return all(passed)
    if given.exercise:
        progress.at = progress.set.find(given.exercise).name
    return check_file(progress, _console())


def hint_command(given: Namespace) -> None:
    """Show a hint."""
    hint(find_workshop(Path.cwd()), _console())


def reset_command(given: Namespace) -> None:
    """Write the starter."""
    reset(find_workshop(Path.cwd()), _console())


def watch_command(given: Namespace) -> None:
    """Check at every save."""
    from thimble.workshop.watch import watch

    watch(find_workshop(Path.cwd()), _console())


def new_command(given: Namespace) -> None:
    """Write a set of one exercise, a copy of one of ours, to change.

    Raises:
        UsageError: there is a set already, or the folder cannot be written.
    """
    folder = given.folder
    if (folder / TOML).exists():
        raise UsageError(f"{folder} has a set already, in {TOML}", "give the name of a new folder")
    parts = (OURS / TOML).read_text(encoding="utf-8").split("[[exercise]]")
    example = next(part for part in parts if f'name = "{EXAMPLE}"' in part).rstrip()
    title = json.dumps(folder.resolve().name, ensure_ascii=False)
    try:
        shutil.copytree(OURS / EXAMPLE, folder / EXAMPLE)
        (folder / TOML).write_text(f"title = {title}\n\n[[exercise]]{example}\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}", "give the name of a new folder") from error
    say(_console(), f"A set with one exercise is in {folder.resolve()}\nGo there and check it: thimble workshop check")


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


def _console() -> Console:
    return console_for(is_plain(False))
