"""The child: a participant's file is tried in a process of its own, with limits of time and memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import deque
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from random import randrange
from threading import Thread

from thimble.workshop.exercise_set import Exercise, ExerciseSet, load_set
from thimble.workshop.judge import WorkshopVerdict, judge

MEGABYTE = 1_000_000
GRACE_SECONDS = 60
"""By the clock, beside the seconds of computing: a machine may be busy, and a file may sleep."""
MOST_PRINTED = 10
"""Lines that are shown of what the file prints."""
LONGEST_PRINTED = 10_000
"""Bytes that count as a line; of one that is longer, its end is shown."""
READ_SECONDS = 5
"""How long the last lines may take; a process that the file has left behind may hold the pipe for ever."""


def tried(exercises: ExerciseSet, exercise: Exercise, file: Path) -> tuple[WorkshopVerdict, list[str]]:
    """The verdict on a file, which a child finds, and the last lines that the file printed."""
    job = [str(exercises.folder), exercise.name, file.name]
    kept = deque[bytes](maxlen=MOST_PRINTED)
    here, there = os.pipe()
    reader = Thread(target=_read, args=(here, kept), daemon=True)
    reader.start()
    with os.fdopen(there, "wb") as printed:
        try:
            run = subprocess.run(
                [sys.executable, "-P", "-u", "-m", "thimble.workshop.child", *job],
                cwd=file.parent,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=printed,
                timeout=exercises.seconds + GRACE_SECONDS,
            )
            verdict = _verdict(run, exercises)
        except subprocess.TimeoutExpired:
            verdict = _endless(file, exercises)
    reader.join(READ_SECONDS)
    return verdict, b"".join(kept).decode(errors="replace").splitlines()[-MOST_PRINTED:]


def _read(pipe: int, kept: deque[bytes]) -> None:
    """Read to the end, so that no print waits or fails."""
    with os.fdopen(pipe, "rb") as printed:
        kept.extend(iter(lambda: printed.readline(LONGEST_PRINTED), b""))


def _verdict(run: subprocess.CompletedProcess[bytes], exercises: ExerciseSet) -> WorkshopVerdict:
    if run.returncode == 0 and run.stdout:
        return WorkshopVerdict(**json.loads(run.stdout))
    return WorkshopVerdict(
        False,
        f"the check ended before its time (exit code {run.returncode})",
        f"a file may use {exercises.megabytes:,} MB, and must not end the program",
    )


def _endless(file: Path, exercises: ExerciseSet) -> WorkshopVerdict:
    return WorkshopVerdict(
        False, f"{file.name} did not end within {exercises.seconds} seconds", "look for a loop without an end"
    )


def _limit(exercises: ExerciseSet) -> None:
    """Limit this process, where the system can: Ctrl-C after so many seconds of computing, MemoryError, short files."""
    try:
        import resource
    except ImportError:  # Windows: only the parent's clock is left
        return
    signal.signal(signal.SIGPROF, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_PROF, exercises.seconds)
    for kind, most in ((resource.RLIMIT_AS, exercises.megabytes * MEGABYTE), (resource.RLIMIT_FSIZE, MEGABYTE)):
        with suppress(OSError, ValueError):  # where the system refuses one, the others hold
            resource.setrlimit(kind, (most, most))


def main(folder: str, name: str, file: str) -> None:
    """Judge, and write the verdict as JSON to standard output. What the file itself prints goes to standard error."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    exercises = load_set(Path(folder))
    exercise = exercises.find(name)
    _limit(exercises)
    try:
        verdict = judge(exercise, Path(file), randrange(2**32))
    except KeyboardInterrupt as stopped:
        verdict = WorkshopVerdict(
            False,
            f"no end within {exercises.seconds} seconds of computing: {stopped}",
            "look for a loop without an end",
        )
    with out:
        json.dump(asdict(verdict), out)


if __name__ == "__main__":
    main(*sys.argv[1:])
