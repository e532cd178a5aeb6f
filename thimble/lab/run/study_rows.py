"""The rows of a study's store: a finished job, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from thimble.lab.action_similarity import Action
from thimble.lab.experiment_flags import named
from thimble.lab.run.ask import JobResult, ScoredAnswer
from thimble.lab.run.jobs import JOB_FIGURES, Job, fingerprint
from thimble.lab.store import Store

ANSWERING_CODE = (
    *(f"{room}/**/*.py" for room in ("agent", "corpus", "models", "session", "strategies", "tools")),
    "corpus/articles/*.md",
    "corpus/files/**/*.*",
)
"""All that an answer comes from, but for the questions, which are in the keys."""


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A finished job.

    `made_by` is the fingerprint of the code that answered. `finished` is in seconds since 1970. `tries` counts how
    often it was done, and `spent` is the cost of all tries. The rest is as in Job and JobResult.
    """

    key: str
    question: str
    digest: str
    kind: str
    model: str
    strategy: str
    budget: int
    seed: int | None
    temperature: float | None
    summariser: str
    memory: str
    price: str
    code: str
    made_by: str
    finished: float
    seconds: float
    tries: int
    spent: float
    error: str
    answers: Sequence[ScoredAnswer]


@cache
def made_by() -> str:
    """The fingerprint of the code and the articles that are asked now."""
    return fingerprint(*ANSWERING_CODE)


def study_row(job: Job, result: JobResult, before: StudyRow | None = None) -> StudyRow:
    """The row of a job that has just been finished; `before` is that of an earlier try, which failed."""
    figures: dict[str, Any] = {name: getattr(job, name) for name in JOB_FIGURES}
    return StudyRow(
        key=job.key,
        question=job.question.id,
        digest=job.digest,
        kind=job.question.kind,
        model=named(job.model),
        made_by=made_by(),
        finished=time.time(),
        seconds=result.seconds,
        tries=1 + (before.tries if before else 0),
        spent=result.spent + (before.spent if before else 0),
        error=result.error,
        answers=result.answers,
        **figures,
    )


def study_rows(store: Store) -> list[StudyRow]:
    """All rows of a store, by their keys."""
    return [_row(record) for record in store.records()]


def _row(record: dict[str, Any]) -> StudyRow:
    return StudyRow(**record | {"answers": tuple(_answer(**answer) for answer in record["answers"])})


def _answer(places: Sequence[float | None], actions: Sequence[dict[str, Any]] = (), **rest: Any) -> ScoredAnswer:
    """An answer from JSON; one of an older thimble has no actions."""
    taken = (Action(one["text"], tuple(map(tuple, one["calls"]))) for one in actions)
    return ScoredAnswer(places=tuple(places), actions=tuple(taken), **rest)


def keep(store: Store, row: StudyRow) -> None:
    """Keep a row in a store. Raises UsageError if it cannot be written."""
    store.add(asdict(row))
