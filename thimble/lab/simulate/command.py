"""Show tokens a turn, cache and cost of strategies over a long run, by the equations of a paper and by thimble's code.

Every turn of the run has the same size, as in Eq. 7 and Figure 8 of The Complexity Trap (Lindenbauer et al. 2025): the
sizes given, or the means of recorded runs (FILE).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from thimble.agent.budget import UNLIMITED
from thimble.lab.experiment_flags import add_output, add_prompts, price_cards, whole
from thimble.lab.findings import publish
from thimble.lab.replay.recorded_replay import ReplaySetting, counter_of
from thimble.lab.replay.trajectories import read
from thimble.lab.simulate.equal_turns import MeanTurn, means, run
from thimble.lab.simulate.growth import findings
from thimble.lab.simulate.simulated import simulated
from thimble.session.parser import Parser

SIMULATED_STRATEGIES = ("none", "observation-masking:paper", "llm-summary:paper", "hybrid:paper")
SIMULATED_PRICES = "1.0,0.4,0.1"
DEFAULT_TURN = MeanTurn(100, 60, 840)
"""84 % of a turn are observations (The Complexity Trap, Figure 1), and an agent's own words about 160 tokens."""
TURN_LIMIT, MOST_TURNS, MOST_TOKENS = 250, 2_000, 100_000
"""The turn limit of the paper; the most turns; the most tokens of a part of a turn."""


def main(arguments: Sequence[str], prog: str) -> None:
    """Simulate, and print charts and tables.

    Raises:
        UsageError: a flag, a price, a strategy, a file, or a strategy that fails.
    """
    options = _parser(prog).parse_args(arguments)
    prices = price_cards(options.price, SIMULATED_PRICES)
    turn = _turn(options)
    trajectory = run(turn, options.turns, counter_of(options.model))
    cache = not options.uncached_summaries
    found = [
        simulated(
            trajectory,
            ReplaySetting(spec, options.budget, prices[0], options.model, options.summary_tokens, cache),
            prices,
        )
        for spec in dict.fromkeys(options.strategy or SIMULATED_STRATEGIES)
    ]
    publish(findings(found, prices, _headline(turn, options)), options, prog, arguments)


def _parser(prog: str) -> Parser:
    parser = Parser(prog, description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add("files", nargs="*", type=Path, metavar="FILE", help="recorded trajectories, whose mean turn is taken")
    add("--turns", default=TURN_LIMIT, type=whole("--turns", 1, MOST_TURNS), metavar="N", help=f"default: {TURN_LIMIT}")
    for name, tokens in (
        ("reasoning", DEFAULT_TURN.reasoning),
        ("action", DEFAULT_TURN.action),
        ("observation", DEFAULT_TURN.observation),
    ):
        told = f"tokens of the {name} of a turn; default: {tokens}, or the mean of FILE"
        add(f"--{name}", type=whole(f"--{name}", 1, MOST_TOKENS), metavar="N", help=told)
    add_prompts(parser, " ".join(SIMULATED_STRATEGIES), SIMULATED_PRICES)
    add_output(parser)
    return parser


def _turn(options: argparse.Namespace) -> MeanTurn:
    """The sizes given; where none is, the mean of the files, or the default."""
    measured = (
        means(read(options.files, options.observations), counter_of(options.model)) if options.files else DEFAULT_TURN
    )
    given = (options.reasoning, options.action, options.observation)
    found = (measured.reasoning, measured.action, measured.observation)
    return MeanTurn(*(one if one is not None else other for one, other in zip(given, found, strict=True)))


def _headline(of: MeanTurn, options: argparse.Namespace) -> str:
    budget = "no budget" if options.budget == UNLIMITED else f"budget {options.budget:,}"
    whole = of.reasoning + of.action + of.observation
    return (
        f"{options.turns:,} turns of {whole:,} tokens: reasoning {of.reasoning:,}, action {of.action:,}, observation "
        f"{of.observation:,} ({of.observation / whole:.0%}); summaries of {options.summary_tokens:,}; {budget}."
    )
