"""Show tokens a turn, cache and cost of strategies over a long run, by the equations of a paper and by thimble's code.

Every turn of the run has the same size, as in Eq. 7 and Figure 8 of The Complexity Trap (Lindenbauer et al. 2025): the
sizes given, or the means of recorded runs (FILE).
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from agent.budget import UNLIMITED
from lab.findings import print_csv, print_json
from lab.flags import whole
from lab.replay.command import add_prompts, card
from lab.replay.runs import Setting, counter_of
from lab.replay.trajectories import read
from lab.report.flag import add_report
from lab.simulate import growth as show
from lab.simulate.rows import document, simulated, table
from lab.simulate.synthetic import Means, means, run
from session.parser import Parser

STRATEGIES = ("none", "observation-masking:paper", "llm-summary:paper", "hybrid:paper")
CACHED = "1.0,0.4,0.1"
DEFAULT = Means(100, 60, 840)
"""84 % of a turn are observations (The Complexity Trap, Figure 1), and an agent's own words about 160 tokens."""
TURNS, MOST_TURNS, MOST_TOKENS = 250, 2_000, 100_000
"""The turn limit of the paper; the most turns; the most tokens of a part of a turn."""


def main(arguments: Sequence[str], prog: str) -> None:
    """Simulate, and print charts and tables.

    Raises:
        UsageError: a flag, a price, a strategy, a file, or a strategy that fails.
    """
    options = _parser(prog).parse_args(arguments)
    prices = card(options.price or [f"cached={CACHED}"])
    counter = counter_of(options.model)
    of = _means(options)
    trajectory = run(of, options.turns, counter)
    found = []
    for spec in dict.fromkeys(options.strategy or STRATEGIES):
        setting = Setting(spec, options.budget, prices[0], options.model, options.summary_tokens,
                          not options.uncached_summaries)  # fmt: skip
        found.append(simulated(trajectory, setting, prices))
    headline = _headline(of, options)
    if options.report:
        command = shlex.join([*prog.split(), *arguments])
        show.page(found, prices, headline, command).write(options.report)
    if options.json:
        print_json(document(found, prices))
    elif options.csv:
        print_csv(list(table(found, prices)))
    else:
        from rich.console import Console

        show.show(Console(width=None if sys.stdout.isatty() else 100), found, prices, headline)


def _parser(prog: str) -> Parser:
    parser = Parser(prog, description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add("files", nargs="*", type=Path, metavar="FILE", help="recorded trajectories, whose mean turn is taken")
    add("--turns", default=TURNS, type=whole("--turns", 1, MOST_TURNS), metavar="N", help=f"default: {TURNS}")
    for name, tokens in (
        ("reasoning", DEFAULT.reasoning),
        ("action", DEFAULT.action),
        ("observation", DEFAULT.observation),
    ):
        told = f"tokens of the {name} of a turn; default: {tokens}, or the mean of FILE"
        add(f"--{name}", type=whole(f"--{name}", 1, MOST_TOKENS), metavar="N", help=told)
    add_prompts(parser, " ".join(STRATEGIES), CACHED)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="a JSON list, an object for each strategy, with its turns")
    shown.add_argument("--csv", action="store_true", help="a line for each strategy and turn")
    add_report(parser)
    return parser


def _means(options: argparse.Namespace) -> Means:
    """The sizes given; where none is, the mean of the files, or the default."""
    measured = means(read(options.files), counter_of(options.model)) if options.files else DEFAULT
    given = (options.reasoning, options.action, options.observation)
    found = (measured.reasoning, measured.action, measured.observation)
    return Means(*(one if one is not None else other for one, other in zip(given, found, strict=True)))


def _headline(of: Means, options: argparse.Namespace) -> str:
    budget = "no budget" if options.budget == UNLIMITED else f"budget {options.budget:,}"
    whole = of.reasoning + of.action + of.observation
    return (
        f"{options.turns:,} turns of {whole:,} tokens: reasoning {of.reasoning:,}, action {of.action:,}, observation "
        f"{of.observation:,} ({of.observation / whole:.0%}); summaries of {options.summary_tokens:,}; {budget}."
    )
