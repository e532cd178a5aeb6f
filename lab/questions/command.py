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
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

from thimble.corpus.questions import Kind, Question, load
from thimble.lab.experiment_flags import add_output
from thimble.lab.findings import ResultTable
from thimble.lab.pool import pooled
from thimble.lab.publish import publish
from thimble.lab.run.jobs import Job, model_name, plan
from thimble.lab.run.study import go_on
from thimble.lab.run.study_rows import StudyRow, study_rows
from thimble.lab.run.study_tables import findings
from thimble.lab.store import Store
from thimble.models import READER
from thimble.session.parser import Parser
from thimble.strategies import STRATEGIES

QUESTION_BUDGET, ROOM_ENOUGH = 8_000, 64_000


def main(arguments: Sequence[str], prog: str) -> None:
    """Print the shares of right answers, or the wrong answers.

    Raises:
        UsageError: a flag, or a server that cannot be used.
    """
    parser = Parser(prog, description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--strategy", action="extend", nargs="+", metavar="SPEC", help="ask under these; default: all built-in ones")
    add(
        "--budget",
        type=int,
        default=QUESTION_BUDGET,
        metavar="N",
        help=f"prompt tokens a call may use; default: {QUESTION_BUDGET:,}",
    )
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
    models = [options.model]
    if options.strategy:
        return plan(questions, options.strategy, [options.budget], models)
    dialogues = [one for one in questions if one.kind == "dialogue"][::5] or questions  # they are long
    rest = [spec for spec in STRATEGIES if spec != "none"]
    return [*plan(questions, ["none"], [ROOM_ENOUGH], models), *plan(dialogues, rest, [options.budget], models)]


def asked(jobs: Sequence[Job]) -> list[StudyRow]:
    """The rows of the jobs, in order; the reader runs on every core, a server is asked one question at a time."""
    processes = 1 if any(job.model != READER for job in jobs) else os.cpu_count() or 1
    with TemporaryDirectory() as folder, closing(Store(Path(folder, "answers.jsonl"), write=True)) as store:
        go_on(jobs, store, partial(pooled, processes=processes))
        rows = {row.key: row for row in study_rows(store)}
    return [rows[job.key] for job in jobs]


def _wrong(rows: Sequence[StudyRow]) -> ResultTable:
    """Every wrong answer, and the reason."""

    def lines() -> Iterator[list[str]]:
        for row in rows:
            for number, answer in enumerate(row.answers, 1):
                if answer.right is False:
                    said = " ".join(answer.text.split())
                    yield [f"{row.strategy} @{row.budget:,}", f"{row.question}.{number}", answer.why, said]

    return ResultTable("Wrong answers", ["strategy", "question", "why", "answer"], list(lines()), texts=4)
