"""Which strategy keeps the answers? Asks the questions with known answers under each, and scores the replies.

Every question is asked in its own session; the exchanges of a dialogue share one. `thimble lab run` does the same with
more flags, and keeps what is finished.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import product
from typing import get_args

from agent.errors import UsageError
from corpus.questions import Kind, Question, load
from lab.findings import Table
from lab.flags import add_output
from lab.pool import pooled
from lab.progress import progress
from lab.publish import publish
from lab.run.ask import ask
from lab.run.jobs import Job, model_name
from lab.run.results import StudyRow, study_row
from lab.run.study_tables import findings
from models import READER
from session.parser import Parser
from strategies import STRATEGIES

BUDGET, ROOM_ENOUGH = 8_000, 64_000


def main(arguments: Sequence[str], prog: str) -> None:
    """Print the shares of right answers, or the wrong answers.

    Raises:
        UsageError: a flag, or a server that cannot be used.
    """
    parser = Parser(prog, description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--strategy", action="extend", nargs="+", metavar="SPEC", help="ask under these; default: all built-in ones")
    add("--budget", type=int, default=BUDGET, metavar="N", help=f"prompt tokens a call may use; default: {BUDGET:,}")
    told = f"KIND:NAME or KIND:NAME@URL of a server; default: {READER}"
    add("--model", default=READER, type=model_name, metavar="MODEL", help=told)
    add("--kind", choices=get_args(Kind), help="ask only this kind of question")
    add("--wrong", action="store_true", help="show the wrong answers instead of the tables")
    add_output(parser)
    options = parser.parse_args(arguments)
    questions = [one for one in load().questions if options.kind in (None, one.kind)]
    rows = asked(question_jobs(questions, options))
    found = findings(rows, (options.strategy or ["none"])[0])
    publish(replace(found, tables=[_wrong(rows)]) if options.wrong else found, options, prog, arguments)


def question_jobs(questions: Sequence[Question], options: argparse.Namespace) -> list[Job]:
    """The questions for each strategy: all for the named ones; by default all for none, and dialogues for the rest."""
    if options.strategy:
        return [Job(one, spec, options.budget, options.model) for spec, one in product(options.strategy, questions)]
    dialogues = [one for one in questions if one.kind == "dialogue"][::5] or questions  # they are long
    rest = [spec for spec in STRATEGIES if spec != "none"]
    return [
        *(Job(one, "none", ROOM_ENOUGH, options.model) for one in questions),
        *(Job(one, spec, options.budget, options.model) for spec, one in product(rest, dialogues)),
    ]


def asked(jobs: Sequence[Job]) -> list[StudyRow]:
    """The rows of the jobs, in order; the reader runs on every core, a server is asked one question at a time.

    Raises:
        UsageError: a job failed.
    """
    processes = 1 if any(job.model != READER for job in jobs) else os.cpu_count() or 1
    rows: dict[Job, StudyRow] = {}
    with progress("asked", len(jobs), len(jobs)) as advance, closing(pooled(ask, iter(jobs), processes)) as results:
        for job, result in results:
            if result.error:
                raise UsageError(f"{job.question.id} under {job.strategy}: {result.error}", "mend it, and ask again")
            rows[job] = study_row(job, result)
            advance(1)
    return [rows[job] for job in jobs]


def _wrong(rows: Sequence[StudyRow]) -> Table:
    """Every wrong answer, and the reason."""

    def lines() -> Iterator[list[str]]:
        for row in rows:
            for number, answer in enumerate(row.answers, 1):
                if answer.right is False:
                    said = " ".join(answer.text.split())
                    yield [f"{row.strategy} @{row.budget:,}", f"{row.question}.{number}", answer.why, said]

    return Table("Wrong answers", ["strategy", "question", "why", "answer"], list(lines()), texts=4)
