"""Ask questions with known answers under strategies, budgets, seeds and models."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, get_args

from thimble.agent.errors import UsageError
from thimble.corpus.questions import QUESTIONS_FILE, Kind, load_questions
from thimble.lab.experiment import RAW_AGENT, Experiment, Row, Rows, code_of, group_rows, made_by, run_experiment
from thimble.lab.experiment_flags import MODEL_FORM, model_name
from thimble.lab.findings import Findings
from thimble.lab.run.answer_tables import JOB, answer_tables, wrong_answers
from thimble.lab.run.ask import CARD, STUDY_BUDGET, Job, run_job
from thimble.models import READER
from thimble.models.prices import read_prices
from thimble.session.session import Session
from thimble.session.settings_table import SETTINGS, Given
from thimble.strategies.spec import parse_spec
from thimble.strategies.table import STRATEGIES
from thimble.tools.wording import count_noun

PAPER_TEMPERATURE = 0.8
"""The agent's temperature in The Complexity Trap."""


class Study(Experiment[Job]):
    """Ask questions under strategies, budgets, seeds and models: do the answers stay right?"""

    epilog = """\
With --store every answer is kept; the same command continues where it stopped, and retries failed jobs. With --store
but without --strategy, only the tables of the store are printed; without both, the strategy is `none`. A server gets
one job at a time, unless --jobs says otherwise. docs/how-to/run-a-study.md explains the tables.
"""
    verb = "asked"

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Add the flags for questions, settings and output."""
        add, many = parser.add_argument, partial(parser.add_argument, nargs="+", action="extend")
        many("--strategy", metavar="SPEC", help="the strategies to ask under; all: every built-in one")
        many("--budget", type=_setting("budget"), metavar="N", help=f"prompt tokens of a call; default: {STUDY_BUDGET}")
        many("--model", type=model_name, metavar="MODEL", help=f"{MODEL_FORM}; default: {READER}")
        many("--seed", type=_setting("seed"), metavar="N", help="ask each question with each seed; reader: only once")
        add("--questions", default="shipped", metavar="FILE", help="a file of questions; default: shipped")
        many("--kind", choices=get_args(Kind), metavar="KIND", help=f"only these: {', '.join(get_args(Kind))}")
        add("--temperature", type=_setting("temperature"), default=PAPER_TEMPERATURE, metavar="T",
            help=f"of the agent on a server; default: {PAPER_TEMPERATURE}, as in The Complexity Trap")  # fmt: skip
        add("--summariser", default="", metavar="NAME", help="the model that writes summaries; default: the agent's")
        add("--memory", default="", metavar="NAME", help="comem's background model; default: the summariser")
        add("--price", type=_setting("price"), default=CARD, metavar="CARD", help=f"default: {CARD}")
        add("--ceiling", type=_parse_ceiling, default=math.inf, metavar="COST",
            help="start no job after this cost: computed prompt tokens, or dollars if the card has them")  # fmt: skip
        add("--baseline", default=RAW_AGENT, metavar="SPEC", help=f"the strategy to compare with; default: {RAW_AGENT}")
        add("--wrong", action="store_true", help="show the wrong answers instead of the tables")

    def cases(self, options: argparse.Namespace) -> list[Job]:
        """The jobs of the flags; a ceiling in dollars becomes one in tokens.

        Each question is asked under every setting before the next one, so that an unfinished study still compares the
        same questions. The reader is deterministic: it is asked once, whatever the seeds.
        """
        if options.store and not options.strategy:
            return []
        path = QUESTIONS_FILE if options.questions == "shipped" else Path(options.questions)
        questions = [one for one in load_questions(path).questions if not options.kind or one.kind in options.kind]
        if not questions:
            raise UsageError(f"{path} has no questions of this kind", "leave out --kind, or give another one")
        card = read_prices(options.price)
        if card.dollars:
            options.ceiling *= 1_000_000 / card.dollars
        specs = [name for spec in options.strategy or [RAW_AGENT] for name in (STRATEGIES if spec == "all" else [spec])]
        code = {spec: code_of(spec) for spec in specs}
        models, budgets = options.model or [READER], options.budget or [STUDY_BUDGET]
        options.jobs = options.jobs or (None if models == [READER] else 1)
        seeds = options.seed or [None]
        return [
            Job(
                question,
                spec,
                budget,
                model,
                seed=None if model == READER else seed,
                temperature=None if model == READER else options.temperature,
                summariser=options.summariser,
                memory=options.memory,
                price=f"cached={card.cached:g},output={card.output:g}",
                code=code[spec],
            )
            for question, seed, model, budget, spec in product(questions, seeds, models, budgets, specs)
        ]

    def check(self, cases: Sequence[Job]) -> None:
        """Open a session for each strategy and each model, so that a mistake is found before the first question."""
        for job in {**{job.strategy: job for job in cases}, **{job.model: job for job in cases}}.values():
            Session(job.settings).agent  # noqa: B018

    def measure(self, case: Job) -> list[Row]:
        """A row for each exchange: `thimble.lab.run.ask.ask_in_session` has its columns."""
        return run_job(case)

    def report(self, rows: Rows, options: argparse.Namespace) -> Findings:
        """Answers and costs, kinds, places and differences for each model; or the wrong answers."""
        rows = _sorted(rows)
        tables = [wrong_answers(rows)] if options.wrong else [*answer_tables(rows, options.baseline)]
        return Findings("A study of strategies", [*_describe_jobs(rows)], tables, rows)


def _sorted(rows: Rows) -> list[Row]:
    """Sort the rows by model, budget and strategy, built-in strategies in the order of their table."""
    order = {name: at for at, name in enumerate(STRATEGIES)}

    def place(setting: tuple[Any, ...]) -> tuple[Any, ...]:
        model, budget, strategy = setting
        return model, budget, order.get(parse_spec(strategy)[0].name, len(order)), strategy

    found = group_rows(rows, "model", "budget", "strategy")
    return [row for setting in sorted(found, key=place) for row in found[setting]]


def _describe_jobs(rows: Rows) -> Iterator[str]:
    """The number of jobs, of failed ones, and of those that other code made."""
    jobs = [found[0] for found in group_rows(rows, *JOB).values()]
    failed = [job for job in jobs if job["error"]]
    yield f"{count_noun(len(jobs), 'finished job')}, {len(failed):,} of them failed, code {made_by()}."
    if failed:
        first = failed[0]
        yield f"The first failure: {first['question']} under {first['strategy']}: {first['error']}."
    others = [job["made_by"] for job in jobs if job["made_by"] != made_by()]
    if others:
        told = ", ".join(sorted({*others}))
        yield f"{len(others):,} of them were made by other code or articles ({told}): do not compare them."


def _setting(name: str) -> Callable[[str], Any]:
    """Make the parser of a flag that is also a setting of a session."""

    def read(text: str) -> Any:
        try:
            return SETTINGS[name].read(Given(text, f"flag --{name}", Path()))
        except ValueError as error:
            raise UsageError(f"--{name} cannot be {text[:80]!r}", f"it takes {SETTINGS[name].legal}") from error

    return read


def _parse_ceiling(text: str) -> float:
    try:
        cost = float(text)
    except ValueError:
        cost = math.nan
    if not cost > 0:
        raise UsageError(f"--ceiling cannot be {text[:80]!r}", "it takes a cost above 0")
    return cost


main = partial(run_experiment, Study())
