"""Replay many runs under many strategies, on every core; each view goes to a file when it is made."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing import active_children
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from agent.errors import UsageError
from agent.messages import Message
from lab.pool import deaf
from lab.replay.runs import Call, Figures, Setting, counter_of, figures, replay
from lab.replay.trajectories import Trajectory
from models import chat

_runs: Sequence[Trajectory] = ()
"""The runs, which a worker process gets once."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run, by its place, under one setting. `price` is written with each view unless it is None."""

    run: int
    setting: Setting
    shown: bool = True
    price: float | None = None


def work(
    runs: Sequence[Trajectory], jobs: Sequence[Job], views: Path | None = None, processes: int | None = None
) -> Generator[tuple[Job, Figures], None, None]:
    """Do the jobs and yield their figures in order; the lines of `views` (gzipped if it ends in .gz) are in order too.

    `processes` work at once; None: one for each core.

    Raises:
        UsageError: a strategy failed, or the file cannot be written.
    """
    with ExitStack() as open_:
        file = open_.enter_context(_writable(views)) if views else None
        folder = Path(open_.enter_context(TemporaryDirectory(prefix="views-")))
        parts = [folder / f"{number}{views.suffix}" if views and job.shown else None for number, job in enumerate(jobs)]
        for model in {job.setting.model for job in jobs}:
            counter_of(model).overhead(())  # reads its vocabulary, once for all processes
        workers = max(1, min(processes or os.cpu_count() or 1, len(jobs)))
        pool = open_.enter_context(ProcessPoolExecutor(workers, initializer=_begin, initargs=(runs,)))
        open_.push(partial(_end, pool))
        with deaf():
            done = [pool.submit(_do, job, part) for job, part in zip(jobs, parts, strict=True)]
        for job, part, future in zip(jobs, parts, done, strict=True):
            found = future.result()
            if file and part:
                _move(part, file)
            yield job, found


def _begin(runs: Sequence[Trajectory]) -> None:
    global _runs
    _runs = runs


def _end(pool: ProcessPoolExecutor, kind: object, error: BaseException | None, trace: object) -> None:
    """After an error or Ctrl-C, end at once without waiting for open jobs."""
    if error:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in active_children():
            process.terminate()
    if isinstance(error, BrokenProcessPool):
        raise UsageError("a worker was ended from outside", "free some memory, or replay fewer runs at once") from error


def _do(job: Job, part: Path | None) -> Figures:
    run = _runs[job.run]
    calls = list(replay(run, job.setting))
    if part:
        with _text(part) as file:
            file.writelines(line(run, job, call) for call in calls if call.view)
    return figures(run, calls, counter_of(job.setting.model))


# --- views ------------------------------------------------------------------------------------------------------------


def line(run: Trajectory, job: Job, call: Call) -> str:
    """The view of one call as a line of JSON; the calls of its strategy are under `asked`."""
    assert call.view
    head: dict[str, Any] = {"run": run.name, "strategy": job.setting.strategy, "turn": call.turn}
    head |= {} if job.price is None else {"price": job.price}
    fields = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    fields.append(f'"messages": {_list(call.view.messages)}')
    if call.asked:
        asked = (
            f'{{"messages": {_list(side.messages)}, "output_tokens": {side.output_tokens}}}' for side in call.asked
        )
        fields.append(f'"asked": [{", ".join(asked)}]')
    return f"{{{', '.join(fields)}}}\n"


def _list(messages: Sequence[Message]) -> str:
    return f"[{', '.join(map(_entry, messages))}]"


@lru_cache(maxsize=4096)
def _entry(message: Message) -> str:
    return json.dumps(chat.write(message))


def _text(part: Path) -> IO[str]:
    return gzip.open(part, "wt", compresslevel=1) if part.suffix == ".gz" else part.open("w")


def _writable(path: Path) -> IO[bytes]:
    try:
        return path.open("wb")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "give --views the path of a file") from error


def _move(path: Path, file: IO[bytes]) -> None:
    with path.open("rb") as part:
        shutil.copyfileobj(part, file, 1 << 20)
    path.unlink()
