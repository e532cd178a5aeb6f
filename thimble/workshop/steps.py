"""The steps of a participant in an exercise: read the page, check the file, get a hint, start over."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from random import randrange

from pydantic import TypeAdapter
from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.repl.screen.theme import in_use, is_drawn, say, show_progress
from thimble.session.jail import Jail
from thimble.workshop.exercise_set import SOLUTION, Exercise, ExerciseSet
from thimble.workshop.judge import WorkshopVerdict, judge_exercise
from thimble.workshop.progress import Progress
from thimble.workshop.trial import spec_of
from thimble.workshop.verdict_screen import show_verdict

VERDICT = TypeAdapter(WorkshopVerdict)


def show_page(progress: Progress, out: Console) -> None:
    """Show the page of the exercise, formatted if the terminal allows it."""
    page = progress.exercise.page.read_text(encoding="utf-8")
    if is_drawn(out):
        from thimble.repl.screen.markdown import Markdown

        out.print(Markdown(page, joins_lines=True))
    else:
        say(out, page)
    if progress.chosen or len(progress.done) < len(progress.set.exercises):
        number = progress.set.exercises.index(progress.exercise) + 1
        say(out, f"Write {progress.file}, then: thimble workshop check {number}", "bold")
    else:
        spec = spec_of(progress.file, progress.exercise.member)
        say(out, f"All are done. Use yours: thimble --strategy '{spec}'", "bold")
    show_done(progress, out)


def show_list(progress: Progress, out: Console) -> None:
    """Show each exercise with the title of its page, and a mark if it is done."""
    for one in progress.set.exercises:
        mark, title = "✓" if one.name in progress.done else "·", one.page.read_text(encoding="utf-8").partition("\n")[0]
        say(out, f"{mark} {title.lstrip('# ')} [{one.name}]{in_use(out, one == progress.exercise)}")


def check_file(progress: Progress, out: Console, line: bool = False) -> bool:
    """Check the participant's file and show the verdict, or only one `line` of it; return whether it passed.

    Raises:
        UsageError: there is no such file.
    """
    exercise, file = progress.exercise, progress.file
    if not file.is_file():
        raise UsageError(f"there is no file {file}", "thimble workshop reset writes the starter there")
    verdict, printed = judge_file(exercise, file, progress.set, out)
    if verdict.passed:
        progress.note_done()
    if verdict.passed and not line:
        say(out, f"A model solution is next to your file: {file.with_name(SOLUTION)}")
        show_done(progress, out)
    show_verdict(exercise.name, replace(verdict, rows=()) if line else verdict, () if line else printed, out)
    return verdict.passed


def judge_file(exercise: Exercise, file: Path, limits: ExerciseSet, out: Console) -> tuple[WorkshopVerdict, list[str]]:
    """The verdict on a file, and its printed lines. The file runs in a separate process, with limits."""
    answer = partial(_judged, exercise, Path(file.name))
    with (
        show_progress(out, f"checking {exercise.name}, at most {limits.seconds} seconds"),
        Jail(answer, file.parent, limits.seconds, limits.megabytes) as jail,
    ):
        try:
            verdict = VERDICT.validate_json(jail.ask())
        except UsageError as error:
            verdict = WorkshopVerdict(False, error.what, error.fix)
        except ValueError:
            verdict = WorkshopVerdict(False, "its process sent something other than a verdict", "do not write to pipes")
    return verdict, jail.printed


def _judged(exercise: Exercise, file: Path, _: None) -> bytes:
    return VERDICT.dump_json(judge_exercise(exercise, file, randrange(2**32)))


def show_hint(progress: Progress, out: Console) -> None:
    """Show the next hint; after the last one, the first again."""
    exercise = progress.exercise
    progress.reload()
    shown = progress.hints.get(exercise.name, 0) % len(exercise.hints)
    say(out, f"{exercise.name}, hint {shown + 1} of {len(exercise.hints)}: {exercise.hints[shown]}")
    progress.hints[exercise.name] = shown + 1
    progress.save()


def reset_exercise(progress: Progress, out: Console) -> None:
    """Put the starter back, and say where the participant's file is now."""
    kept = progress.reset()
    say(out, f"{progress.file} is the starter again" + (f"; yours is {kept.name}" if kept else ""))


def show_done(progress: Progress, out: Console) -> None:
    """Show how many exercises are done, and which."""
    marks = " ".join(f"{'✓' if one.name in progress.done else '·'}{one.name[:2]}" for one in progress.set.exercises)
    say(out, f"{progress.set.title}: {len(progress.done)} of {len(progress.set.exercises)}  {marks}", "quiet")
