"""Show the prompts and the cost of recorded trajectories under each strategy."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NoReturn

from agent.budget import UNLIMITED, Prices, read_limit
from agent.errors import UsageError
from agent.side import SideModel
from lab.forms import add_forms, console, print_csv, print_json
from lab.progress import progress
from lab.replay import plot, tables
from lab.replay.jobs import Job, work
from lab.replay.page import page
from lab.replay.rows import RAW, Found, Row, rows, table
from lab.replay.runs import Figures, Setting, counter_of
from lab.replay.server import StandIn
from lab.replay.trajectories import Trajectory, read
from lab.report.flag import add_report
from lab.whole import whole
from models.embeddings.static import static_embedder
from session.parser import Parser
from session.prices import MOST
from strategies import STRATEGIES, parse

CACHED = "1.0,0.4,0.25,0.1"
MODEL = "qwen2.5:7b"
LONGEST_SUMMARY = 100_000
MOST_JOBS = 256
MOST_LAG = 1_000
lag, processes = whole("--lag", 0, MOST_LAG), whole("--jobs", 1, MOST_JOBS)
"""How `--lag` and `--jobs` are read."""
EPILOG = """\
FILE is JSON or JSON Lines, gzipped or not: a list of chat-completions messages, an object with `messages` (and `id`,
`tools`), or several of either. An assistant message is a call. docs/how-to/replay-recorded-runs.md explains the counts.
"""


def main(arguments: Sequence[str], prog: str) -> None:
    """Replay, and print the rows or tables.

    Raises:
        UsageError: a flag, a price, a strategy, a file, or a strategy that fails.
    """
    options = _parser(prog).parse_args(arguments)
    if options.plot:
        plot.check(options.plot)
    prices = card(options.price)
    specs = list(dict.fromkeys(options.strategy or STRATEGIES))
    runs = read(options.files)
    if options.views and options.views.resolve() in (file.resolve() for file in options.files):
        raise UsageError(f"--views {options.views} is a file to be replayed", "give another path")
    to_do = jobs(len(runs), specs, prices, options)
    made = rows(replayed(runs, to_do, options.jobs, options.views), runs, prices)
    raw = next(row for row in made if row["strategy"] == RAW)
    shown = [row for row in made if row["strategy"] in specs]
    if options.report:
        page(shown, raw, shlex.join([*prog.split(), *arguments])).write(options.report)
    _show(shown, raw, options)


# --- flags ------------------------------------------------------------------------------------------------------------


class _Parser(Parser):
    """Raises a UsageError instead of exiting."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"write {self.prog} FILE… --strategy SPEC… --budget N; --help lists the flags")


def _parser(prog: str) -> _Parser:
    parser = _Parser(prog, description=__doc__, epilog=EPILOG, allow_abbrev=False)
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="FILE", help="recorded trajectories")
    add_prompts(parser, "all built-in ones", CACHED)
    add("--lag", default=0, type=lag, metavar="N", help="calls that pass before a summary in the background is there")
    add("--jobs", type=processes, metavar="N", help="processes that work at once; default: one for each core")
    add_forms(
        parser,
        json="the rows as a JSON list, `none` among them",
        csv="a line for each strategy, run and price, `none` among them",
        markdown="one table in Markdown",
    )
    add("--views", type=Path, metavar="FILE", help="write the view of each call as a line of JSON; .gz compresses")
    add("--plot", type=Path, metavar="FILE", help="draw the costs to a PNG")
    add_report(parser)
    return parser


def add_prompts(parser: argparse.ArgumentParser, strategies: str, cached: str) -> None:
    """Add the flags that say how prompts are prepared, counted and priced; `strategies` and `cached` are defaults."""
    add = parser.add_argument
    add("--strategy", nargs="+", action="extend", metavar="SPEC", help=f"default: {strategies}")
    add("--budget", default=UNLIMITED, type=read_limit, metavar="N", help="prompt tokens a call may use; default: none")
    add_costs(parser, cached)


def add_costs(parser: argparse.ArgumentParser, cached: str = CACHED) -> None:
    """Add those of them that say how prompts are counted and priced."""
    add = parser.add_argument
    add("--price", action="append", default=[], metavar="cached=C,…", help=f"default: cached={cached},output=4")
    add("--model", default=MODEL, metavar="NAME", help=f"the model whose tokens are counted; default: {MODEL}")
    add(
        "--summary-tokens",
        default=700,
        type=whole("--summary-tokens", 0, LONGEST_SUMMARY),
        metavar="N",
        help="length of each summary; default: 700",
    )
    add("--uncached-summaries", action="store_true", help="no cache holds the prompts of a strategy's own model calls")


def card(given: Sequence[str]) -> list[Prices]:
    """A price card for each cached price in `--price`: `cached=1.0,0.1,output=4`."""
    found: dict[str, list[float]] = {"cached": [], "output": []}
    name = ""
    for word in ",".join(given).split(",") if given else ():
        key, equals, text = word.rpartition("=")
        name = key.strip() if equals else name
        if name not in found:
            raise UsageError(f"--price: {word!r} names no price", "write --price cached=1.0,0.4,0.1,output=4")
        found[name].append(_price(name, text))
    if len(found["output"]) > 1:
        raise UsageError("--price names several prices of output", "give one: --price cached=1.0,0.1,output=4")
    cached = found["cached"] or [float(price) for price in CACHED.split(",")]
    return [Prices(price, *found["output"]) for price in dict.fromkeys(cached)]


def _price(name: str, text: str) -> float:
    try:
        price = float(text)
    except ValueError:
        price = math.nan
    if not 0 <= price <= MOST[name]:
        what = f"--price: {name}={text} is not possible"
        raise UsageError(what, f"{name} takes 0 to {MOST[name]:g}; a prompt token that is computed anew costs 1")
    return price


# --- work -------------------------------------------------------------------------------------------------------------


def jobs(runs: int, specs: Sequence[str], prices: Sequence[Prices], options: argparse.Namespace) -> list[Job]:
    """Every run under every strategy and `none`; once for each price if the strategy depends on the price."""
    made = []
    for spec in dict.fromkeys([*specs, RAW]):
        decides = len(prices) > 1 and decides_by_price(spec, options.model)
        for price in prices if decides else prices[:1]:
            setting = Setting(
                spec,
                options.budget,
                price,
                options.model,
                options.summary_tokens,
                not options.uncached_summaries,
                options.lag,
            )
            made.append(partial(Job, setting=setting, shown=spec in specs, price=price.cached if decides else None))
    return [job(run) for run in range(runs) for job in made]


def decides_by_price(spec: str, model: str) -> bool:
    """Whether a strategy depends on the price card.

    Raises:
        UsageError: there is no such strategy.
    """
    return bool(getattr(parse(spec, SideModel(StandIn(counter_of(model), 0), static_embedder())), "priced", False))


def replayed(
    runs: Sequence[Trajectory], jobs: Sequence[Job], processes: int | None = None, views: Path | None = None
) -> Found:
    """The figures of every job; Ctrl-C says how many were done."""
    found: dict[Setting, list[Figures]] = {job.setting: [] for job in jobs}
    done = 0
    total = sum(runs[job.run].size for job in jobs)
    try:
        with progress("replayed", len(jobs), total) as advance, closing(work(runs, jobs, views, processes)) as working:
            for job, figures in working:
                done += 1
                found[job.setting].append(figures)
                advance(runs[job.run].size)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped after {done:,} of {len(jobs):,} replays") from None
    return found


def _show(rows: Sequence[Row], raw: Row, options: argparse.Namespace) -> None:
    if options.plot:
        plot.plot(rows, raw, options.plot)
    every = rows if raw in rows else [raw, *rows]
    if options.json:
        print_json(every)
    elif options.csv:
        print_csv(list(table(every)))
    elif options.markdown:
        print("\n".join(tables.markdown(rows, raw)))
    else:
        tables.show(console(), rows, raw)
