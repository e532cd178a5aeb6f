"""Jobs and results of a study, for tests: questions that nobody asks, and what might come of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

from thimble.corpus.questions import Exchange, Fact, Proof, Question
from thimble.lab.run.ask import JobResult, ScoredAnswer
from thimble.lab.run.jobs import Job
from thimble.lab.run.study_rows import StudyRow

SHARE = "In SWE-agent runs, observation tokens make up about 84 % of an average turn"
ASKED = "What share of an average turn do observation tokens make up in SWE-agent runs?"
UNANSWERED = """\
reader: none
questions:
""" + "".join(
    f"  - {{id: q{number}, kind: offtopic, question: What is {number} times two?, absent: [times]}}\n"
    for number in range(4)
)
"""Four questions that the library does not answer, as a file."""


def question(name: str, exchanges: int = 1) -> Question:
    """A question that the library answers, asked so many times in one session."""
    fact = Fact(("84 %",), (Proof(SHARE, article="observation-masking"),))
    asked = tuple(Exchange(ASKED, (fact,)) for _ in range(exchanges))
    return Question(name, "single" if exchanges == 1 else "dialogue", asked)


def job(number: int = 0, strategy: str = "none", **settings: Any) -> Job:
    """A job of its own for each number."""
    return Job(question(f"q{number}"), strategy, **settings)


def serial(do: Callable[[Job], JobResult], jobs: Iterator[Job]) -> Generator[tuple[Job, JobResult], None, None]:
    """A pool without processes: one job after the other."""
    return ((one, do(one)) for one in jobs)


def slowly(one: Job) -> JobResult:
    """What comes of a job after a while."""
    time.sleep(0.1)
    return JobResult((answer(),), seconds=0.1, spent=1.0)


def answer(right: bool | None = True, **figures: Any) -> ScoredAnswer:
    """An answer of one turn."""
    return ScoredAnswer(right, ending="answered", **{"turns": 1, **figures})


def row(number: int, *answers: ScoredAnswer, strategy: str = "none", **values: Any) -> StudyRow:
    """A row of the store."""
    usual: dict[str, Any] = {
        "key": f"{strategy} {number} {values}", "question": f"q{number}", "digest": f"d{number}", "kind": "single",
        "model": "reader", "strategy": strategy, "budget": 8000, "seed": None, "temperature": None, "summariser": "",
        "memory": "", "price": "cached=0.1,output=4", "code": "", "made_by": "this", "finished": 0.0, "seconds": 0.0,
        "tries": 1, "spent": 0.0, "error": "", "answers": answers,
    }  # fmt: skip
    return StudyRow(**{**usual, **values})
