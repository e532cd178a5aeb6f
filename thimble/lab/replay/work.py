"""Replay runs under strategies, on every core; each view goes to a file when it is made."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from thimble.agent.errors import UsageError
from thimble.lab.job_progress import progress
from thimble.lab.pool import pooled
from thimble.lab.replay.recorded_replay import Figures, RecordedCall, ReplaySetting, counter_of, figures, replay
from thimble.lab.replay.trajectories import Trajectory
from thimble.models import chat


@dataclass(frozen=True, slots=True)
class ReplayJob:
    """One run, by its place, under one setting. `price` is written with each view unless it is None."""

    run: int
    setting: ReplaySetting
    shown: bool = True
    price: float | None = None


Work = tuple[ReplayJob, Trajectory, Path | None]
"""A job with its run, and the file for its views."""


def replayed(
    runs: Sequence[Trajectory], jobs: Sequence[ReplayJob], processes: int | None = None, views: Path | None = None
) -> dict[ReplaySetting, list[Figures]]:
    """The figures of every run, in order, under each setting; Ctrl-C says how many replays were done.

    `processes` work at once; None: one for each core. The views of the jobs that are shown go to the file `views`, in
    order; it is gzipped if it ends in .gz.

    Raises:
        UsageError: a strategy failed, or the file cannot be written.
    """
    for model in {job.setting.model for job in jobs}:
        counter_of(model).overhead(())  # reads its vocabulary, once for all processes
    done: dict[ReplayJob, Figures] = {}
    with _writable(views) as file, TemporaryDirectory(prefix="views-") as folder:
        parts = {job: Path(folder, f"{at}{views.suffix}") for at, job in enumerate(jobs) if job.shown} if views else {}
        work = ((job, runs[job.run], parts.get(job)) for job in jobs)
        workers = max(1, min(processes or os.cpu_count() or 1, len(jobs)))
        total = sum(runs[job.run].size for job in jobs)
        try:
            with progress("replayed", len(jobs), total) as advance, closing(pooled(_do, work, workers)) as pool:
                for (job, run, _), found in pool:
                    done[job] = found
                    advance(run.size)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"stopped after {len(done):,} of {len(jobs):,} replays") from None
        if file:
            _join(parts.values(), file)
    found_by: dict[ReplaySetting, list[Figures]] = {}
    for job in jobs:
        found_by.setdefault(job.setting, []).append(done[job])
    return found_by


def _do(work: Work) -> Figures:
    job, run, part = work
    calls = list(replay(run, job.setting))
    if part:
        with gzip.open(part, "wt", compresslevel=1) if part.suffix == ".gz" else part.open("w") as file:
            file.writelines(line(run, job, call) for call in calls if call.view)
    return figures(run, calls, counter_of(job.setting.model))


# --- views ------------------------------------------------------------------------------------------------------------


def line(run: Trajectory, job: ReplayJob, call: RecordedCall) -> str:
    """The view of one call as a line of JSON; the calls of its strategy are under `asked`."""
    assert call.view
    record: dict[str, Any] = {"run": run.name, "strategy": job.setting.strategy, "turn": call.turn}
    if job.price is not None:
        record["price"] = job.price
    record["messages"] = [*map(chat.write, call.view.messages)]
    if call.prompts:
        record["asked"] = [
            {"messages": [*map(chat.write, messages)], "output_tokens": output} for messages, output in call.prompts
        ]
    return f"{json.dumps(record)}\n"


def _writable(path: Path | None) -> AbstractContextManager[IO[bytes] | None]:
    try:
        return path.open("wb") if path else nullcontext()
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "give --views the path of a file") from error


def _join(parts: Iterable[Path], file: IO[bytes]) -> None:
    for part in parts:
        with part.open("rb") as views:
            shutil.copyfileobj(views, file)
