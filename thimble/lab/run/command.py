"""Ask questions under strategies, budgets, seeds and models, and keep every answer in a store."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

from thimble.agent.errors import Stopped, UsageError
from thimble.corpus.questions import QUESTIONS_FILE, Kind, Question, load
from thimble.lab.experiment import RAW_AGENT
from thimble.lab.experiment_flags import MODEL_FORM, add_output, model_name, whole
from thimble.lab.findings import publish
from thimble.lab.pool import pooled
from thimble.lab.run.jobs import CARD, Job, plan
from thimble.lab.run.study import go_on, missing
from thimble.lab.run.study_rows import study_rows
from thimble.lab.run.study_tables import findings, wrong_answers
from thimble.lab.store import Store
from thimble.models import READER
from thimble.session.parser import Parser
from thimble.session.prices import read_prices
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.session.settings_table import SETTINGS, Given
from thimble.strategies.table import STRATEGIES

PAPER_TEMPERATURE = 0.8
"""The agent's, as in The Complexity Trap."""
RUN_EPILOG = """\
Without --strategy nothing is asked: the tables of the store are printed. The same command again goes on where it
stopped, and tries failed jobs again. docs/how-to/run-a-study.md explains the tables.
"""


def main(arguments: Sequence[str], prog: str, store_path: Path | None = None) -> None:
    """Do the jobs that are missing, and print the tables or the wrong answers.

    `store_path` is a store for this command alone: then there is no flag for one, and `none` is asked by default.

    Raises:
        ThimbleError: a flag, a question, a strategy, the store, or a server that cannot be used.
        Stopped: Ctrl-C; finished jobs are kept.
    """
    options = _parser(prog, store_path).parse_args(arguments)
    if store_path and not options.strategy:
        options.strategy = [RAW_AGENT]
    jobs = _jobs(options) if options.strategy else []
    store = Store(options.store, write=bool(jobs))
    try:
        if jobs:
            _ask(jobs, store, options)
        keys = {job.key for job in jobs}
        rows = [row for row in study_rows(store) if not jobs or row.key in keys]
    finally:
        store.close()
    found = findings(rows, options.baseline)
    publish(replace(found, tables=[wrong_answers(rows)]) if options.wrong else found, options, prog, arguments)


def _ask(jobs: Sequence[Job], store: Store, options: argparse.Namespace) -> None:
    """Do the missing jobs, as far as the ceiling lets."""
    left = missing(jobs, store)
    _check(left)
    alone = any(job.model != READER for job in left)
    pool = partial(pooled, processes=options.jobs or (1 if alone else os.cpu_count() or 1))
    try:
        go_on(jobs, store, pool, options.ceiling)
    except KeyboardInterrupt:
        done = len(jobs) - len(missing(jobs, store))
        raise Stopped(f"stopped: {done:,} of {len(jobs):,} jobs are kept; the same command goes on") from None
    left = missing(jobs, store)
    if left and options.ceiling < math.inf:
        told = f"{len(left):,} of {len(jobs):,} jobs are left: the same command with a higher --ceiling goes on"
        print(told, file=sys.stderr)


def _check(jobs: Sequence[Job]) -> None:
    """Open a session for each strategy and each model. Raises ThimbleError before anything is asked."""
    for job in {**{job.strategy: job for job in jobs}, **{job.model: job for job in jobs}}.values():
        Session(job.settings).agent  # noqa: B018


# --- flags ------------------------------------------------------------------------------------------------------------


def _parser(prog: str, store_path: Path | None = None) -> Parser:
    parser = Parser(prog, description=__doc__, epilog=None if store_path else RUN_EPILOG, allow_abbrev=False)
    add, many = parser.add_argument, partial(parser.add_argument, nargs="+", action="extend")
    usual = Settings().budget
    if store_path:
        parser.set_defaults(store=store_path)
    else:
        add("--store", type=Path, required=True, metavar="FILE.jsonl", help="the file that keeps every finished job")
    many("--strategy", metavar="SPEC", help="ask under these; all: the built-in ones")
    many("--budget", type=_setting("budget"), metavar="N", help=f"prompt tokens a call may use; default: {usual}")
    many("--model", type=model_name, metavar="MODEL", help=f"{MODEL_FORM}; default: {READER}")
    many("--seed", type=_setting("seed"), metavar="N", help="ask each question once for each; not for the reader")
    add("--questions", default="shipped", metavar="FILE", help="a file of questions; default: shipped")
    many("--kind", choices=get_args(Kind), metavar="KIND", help=f"only these: {', '.join(get_args(Kind))}")
    add("--temperature", type=_setting("temperature"), default=PAPER_TEMPERATURE, metavar="T",
        help=f"of the agent on a server; default: {PAPER_TEMPERATURE}, as in The Complexity Trap")  # fmt: skip
    add("--summariser", default="", metavar="NAME", help="the model that strategies ask; default: the agent's")
    add("--memory", default="", metavar="NAME", help="the one that they ask in the background")
    add("--price", type=_setting("price"), default=CARD, metavar="CARD", help=f"default: {CARD}")
    add("--ceiling", type=_ceiling, default=math.inf, metavar="COST",
        help="begin no job after so many computed prompt tokens, or dollars if the card has them")  # fmt: skip
    told = "jobs at once; default: one a core, with a server 1"
    add("--jobs", type=whole("--jobs", 1, 256), metavar="N", help=told)
    add("--baseline", default=RAW_AGENT, metavar="SPEC", help=f"the strategy to compare with; default: {RAW_AGENT}")
    add("--wrong", action="store_true", help="show the wrong answers instead of the tables")
    add_output(parser)
    return parser


def _setting(name: str) -> Callable[[str], Any]:
    """How a flag is read that is a setting of a session, too."""

    def read(text: str) -> Any:
        try:
            return SETTINGS[name].read(Given(text, f"flag --{name}", Path()))
        except ValueError as error:
            raise UsageError(f"--{name} cannot be {text[:80]!r}", f"it takes {SETTINGS[name].legal}") from error

    return read


def _ceiling(text: str) -> float:
    try:
        cost = float(text)
    except ValueError:
        cost = math.nan
    if not cost > 0:
        raise UsageError(f"--ceiling cannot be {text[:80]!r}", "it takes a cost above 0")
    return cost


def _jobs(options: argparse.Namespace) -> list[Job]:
    """The jobs of the flags."""
    questions = _questions(options)
    card = read_prices(options.price)
    if card.dollars:
        options.ceiling *= 1_000_000 / card.dollars
    specs = [name for spec in options.strategy for name in (STRATEGIES if spec == "all" else [spec])]
    like = Job(
        questions[0],
        RAW_AGENT,
        temperature=options.temperature,
        summariser=options.summariser,
        memory=options.memory,
        price=f"cached={card.cached:g},output={card.output:g}",
    )
    models, seeds = options.model or [READER], options.seed or [None]
    return plan(questions, specs, options.budget or [like.budget], models, seeds, like)


def _questions(options: argparse.Namespace) -> list[Question]:
    path = QUESTIONS_FILE if options.questions == "shipped" else Path(options.questions)
    questions = [one for one in load(path).questions if not options.kind or one.kind in options.kind]
    if not questions:
        raise UsageError(f"{path} has no question of this kind", "leave out --kind, or name another one")
    return questions
