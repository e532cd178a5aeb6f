"""Ask questions under strategies, budgets, seeds and models, and keep every answer in a store."""

from __future__ import annotations

import argparse
import math
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from agent.errors import Stopped, UsageError
from corpus.questions import QUESTIONS, Question, load
from lab.pool import pooled
from lab.questions import KINDS
from lab.replay.command import processes
from lab.report.flag import add_report
from lab.run import tables
from lab.run.analysis import RAW
from lab.run.cluster import HERE, SCHEME, on_ray
from lab.run.jobs import CARD, Job, plan
from lab.run.page import page
from lab.run.store import Store
from lab.run.study import Pool, go_on, missing
from models import READER
from session.parser import Parser
from session.prices import read_prices
from session.session import Session
from session.settings import Settings
from session.settings_table import SETTINGS, Given, served_embeddings
from strategies import STRATEGIES

SHIPPED, ALL = "shipped", "all"
TEMPERATURE = 0.8
"""The agent's, as in The Complexity Trap."""
EPILOG = """\
Without --strategy nothing is asked: the tables of the store are printed. The same command again goes on where it
stopped, and tries failed jobs again. docs/how-to/run-a-study.md explains the tables.
"""


def main(arguments: Sequence[str], prog: str) -> None:
    """Do the jobs that are missing, and print the tables.

    Raises:
        ThimbleError: a flag, a question, a strategy, the store, or a server that cannot be used.
        Stopped: Ctrl-C; finished jobs are kept.
    """
    options = _parser(prog).parse_args(arguments)
    jobs = _jobs(options) if options.strategy else []
    store = Store(options.store, write=bool(jobs))
    try:
        if jobs:
            _ask(jobs, store, options)
        keys = {job.key for job in jobs}
        rows = [row for row in store.rows() if not jobs or row.key in keys]
    finally:
        store.close()
    if options.report:
        page(rows, options.baseline, shlex.join([*prog.split(), *arguments])).write(options.report)
    tables.show(rows, options.baseline, markdown=options.markdown)


def _ask(jobs: Sequence[Job], store: Store, options: argparse.Namespace) -> None:
    """Do the missing jobs, as far as the ceiling lets."""
    left = missing(jobs, store)
    _check([replace(job, model=READER) for job in left] if options.on else left)  # a server may answer there alone
    alone = any(job.model != READER for job in left)
    pool: Pool = partial(pooled, processes=options.jobs or (1 if alone else os.cpu_count() or 1))
    if options.on:
        pool = partial(on_ray, where=options.on, processes=options.jobs)
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


def _parser(prog: str) -> Parser:
    parser = Parser(prog, description=__doc__, epilog=EPILOG, allow_abbrev=False)
    add, many = parser.add_argument, partial(parser.add_argument, nargs="+", action="extend")
    usual = Settings().budget
    add("--store", type=Path, required=True, metavar="FILE.db", help="the file that keeps every finished job")
    many("--strategy", metavar="SPEC", help=f"ask under these; {ALL}: the built-in ones")
    many("--budget", type=_setting("budget"), metavar="N", help=f"prompt tokens a call may use; default: {usual}")
    many("--model", type=_model, metavar="MODEL", help=f"KIND:NAME or KIND:NAME@URL of a server; default: {READER}")
    many("--seed", type=_setting("seed"), metavar="N", help="ask each question once for each; not for the reader")
    add("--questions", default=SHIPPED, metavar="FILE", help=f"a file of questions; default: {SHIPPED}")
    many("--kind", choices=[*KINDS], metavar="KIND", help=f"only these: {', '.join(KINDS)}")
    add("--temperature", type=_setting("temperature"), default=TEMPERATURE, metavar="T",
        help=f"of the agent on a server; default: {TEMPERATURE}, as in The Complexity Trap")  # fmt: skip
    add("--summariser", default="", metavar="NAME", help="the model that strategies ask; default: the agent's")
    add("--memory", default="", metavar="NAME", help="the one that they ask in the background")
    add("--price", type=_setting("price"), default=CARD, metavar="CARD", help=f"default: {CARD}")
    add("--ceiling", type=_ceiling, default=math.inf, metavar="COST",
        help="begin no job after so many computed prompt tokens, or dollars if the card has them")  # fmt: skip
    add(
        "--jobs",
        type=processes,
        metavar="N",
        help="jobs at once; default: one a core, with a server 1; one a CPU of a cluster",
    )
    add("--on", type=_cluster, metavar="ray://HOST:PORT", help="a Ray cluster; ray: one on this machine")
    add("--baseline", default=RAW, metavar="SPEC", help=f"the strategy to compare with; default: {RAW}")
    add("--markdown", action="store_true", help="print the tables in Markdown")
    add_report(parser)
    return parser


def _setting(name: str) -> Callable[[str], Any]:
    """How a flag is read that is a setting of a session, too."""

    def read(text: str) -> Any:
        try:
            return SETTINGS[name].read(Given(text, f"flag --{name}", Path()))
        except ValueError as error:
            raise UsageError(f"--{name} cannot be {text[:80]!r}", f"it takes {SETTINGS[name].legal}") from error

    return read


def _model(text: str) -> str:
    if text != READER and not served_embeddings(text):
        raise UsageError(f"--model cannot be {text[:80]!r}", f"write {READER}, ollama:NAME or openai:NAME@URL")
    return text


def _cluster(text: str) -> str:
    if text != HERE and not text.startswith(SCHEME):
        raise UsageError(f"--on cannot be {text[:80]!r}", f"write {HERE} or {SCHEME}HOST:PORT")
    return text


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
    specs = [name for spec in options.strategy for name in (STRATEGIES if spec == ALL else [spec])]
    like = Job(
        questions[0],
        RAW,
        temperature=options.temperature,
        summariser=options.summariser,
        memory=options.memory,
        price=f"cached={card.cached:g},output={card.output:g}",
    )
    models, seeds = options.model or [READER], options.seed or [None]
    return plan(questions, specs, options.budget or [like.budget], models, seeds, like)


def _questions(options: argparse.Namespace) -> list[Question]:
    path = QUESTIONS if options.questions == SHIPPED else Path(options.questions)
    questions = [one for one in load(path).questions if not options.kind or one.kind in options.kind]
    if not questions:
        raise UsageError(f"{path} has no question of this kind", "leave out --kind, or name another one")
    return questions
