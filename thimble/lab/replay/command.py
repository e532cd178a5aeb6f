"""Show the prompts and the cost of recorded trajectories under each strategy."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from thimble.agent.budget import Prices
from thimble.agent.errors import UsageError
from thimble.lab.experiment_flags import MODEL_FORM, add_jobs, add_lag, add_output, add_prompts, model_name, price_cards
from thimble.lab.findings import publish
from thimble.lab.replay.cost_tables import findings
from thimble.lab.replay.costs import RAW_AGENT, rows
from thimble.lab.replay.recorded_replay import ReplaySetting, decides_by_price
from thimble.lab.replay.trajectories import read
from thimble.lab.replay.work import ReplayJob, replayed
from thimble.models.text_observations import recognised
from thimble.session.parser import Parser
from thimble.strategies.table import STRATEGIES

REPLAY_EPILOG = """\
FILE is JSON or JSON Lines, gzipped or not: a list of chat-completions messages, an object with `messages` (and `id`,
`tools`), or several of either. An assistant message is a call. docs/how-to/replay-recorded-runs.md explains the counts.
"""


def main(arguments: Sequence[str], prog: str) -> None:
    """Replay, and print the rows or tables.

    Raises:
        UsageError: a flag, a price, a strategy, a file, or a strategy that fails.
    """
    options = _parser(prog).parse_args(arguments)
    prices = price_cards(options.price)
    specs = list(dict.fromkeys(options.strategy or STRATEGIES))
    runs = read(options.files, options.observations)
    if told := recognised(*(run.messages for run in runs)):
        print(told, file=sys.stderr)
    if options.views and options.views.resolve() in (file.resolve() for file in options.files):
        raise UsageError(f"--views {options.views} is a file to be replayed", "give another path")
    jobs = replay_jobs(len(runs), specs, prices, options, options.budget, options.lag)
    made = rows(replayed(runs, jobs, options.jobs, options.views), runs, prices)
    raw = next(row for row in made if row["strategy"] == RAW_AGENT)
    publish(findings([row for row in made if row["strategy"] in specs], raw), options, prog, arguments)


def _parser(prog: str) -> Parser:
    parser = Parser(prog, description=__doc__, epilog=REPLAY_EPILOG, allow_abbrev=False)
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="FILE", help="recorded trajectories")
    add_prompts(parser, "all built-in ones")
    add_lag(parser, default=0)
    add_jobs(parser)
    add("--views", type=Path, metavar="FILE", help="write the view of each call as a line of JSON; .gz compresses")
    add("--act", type=model_name, metavar="MODEL",
        help=f"ask this model for the next action on each view: {MODEL_FORM}")  # fmt: skip
    add_output(parser)
    return parser


def replay_jobs(
    runs: int, specs: Sequence[str], prices: Sequence[Prices], options: argparse.Namespace, limit: int, lag: int
) -> list[ReplayJob]:
    """Every run under every strategy and `none`; once for each price if the strategy depends on the price.

    The options are those of `thimble.lab.experiment_flags.add_costs`.

    Raises:
        UsageError: there is no such strategy.
    """
    made = []
    for spec in dict.fromkeys([*specs, RAW_AGENT]):
        decides = len(prices) > 1 and decides_by_price(spec, options.model)
        for price in prices if decides else prices[:1]:
            cache = not options.uncached_summaries
            setting = ReplaySetting(
                spec, limit, price, options.model, options.summary_tokens, cache, lag, options.act or ""
            )
            at = price.cached if decides else None
            made.append(partial(ReplayJob, setting=setting, shown=spec in specs, price=at))
    return [job(run) for run in range(runs) for job in made]
