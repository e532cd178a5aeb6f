"""`thimble lab replay`: recorded trajectories, a strategy at a time, at several prices of a cached token."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from agent.budget import UNLIMITED, Prices
from agent.errors import ThimbleError, UsageError
from agent.side import SideModel
from lab.replay.jobs import Job, work
from lab.replay.rows import Found, rows
from lab.replay.runs import Figures, Setting, counter_of
from lab.replay.server import StandIn
from lab.replay.trajectories import Trajectory, read
from strategies import STRATEGIES, parse

CACHED = "1.0,0.4,0.25,0.1"
MODEL = "qwen2.5:7b"
EPILOG = """\
FILE holds recorded trajectories, JSON or JSON Lines, gzipped or not: a list of chat-completions messages, an object
with `messages` (and `id`, `tools`), or several of either. docs/replay.md says what is counted, and how.
"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong as a UsageError instead of leaving by itself."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"{self.prog} --help shows how it is written")


def main(arguments: Sequence[str], prog: str = "python -m lab replay") -> int:
    """Replay, and print the rows or a table; 1 when it is stopped.

    Raises:
        UsageError: a flag, a price, a strategy, a file, or a strategy that fails.
    """
    options = _parser(prog).parse_args(arguments)
    prices = card(options.price)
    specs = list(dict.fromkeys(options.strategy or STRATEGIES))
    runs = read(options.files)
    settings = [
        Setting(spec, budget(options.budget), price, options.model, options.summary_tokens)
        for spec in specs
        for price in (prices if decides_by_price(spec, options.model) else prices[:1])
    ]
    found = _replayed(runs, settings, options.views)
    made = rows(found, [run.turns for run in runs], prices)
    print(json.dumps(made, indent=1))
    return 0


def _parser(prog: str) -> _Parser:
    parser = _Parser(prog, description=__doc__, epilog=EPILOG, allow_abbrev=False)
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="FILE")
    add("--strategy", nargs="+", action="extend", metavar="SPEC", help="default: all built-in ones")
    add("--budget", default="none", metavar="N|none", help="prompt tokens that a call may use; default: none")
    add("--price", action="append", default=[], metavar="cached=C,…", help=f"default: cached={CACHED},output=4")
    add("--model", default=MODEL, metavar="NAME", help=f"whose tokens are counted; default: {MODEL}")
    add("--summary-tokens", default=700, type=int, metavar="N", help="length of each summary; default: 700")
    add("--json", action="store_true", help="the rows as a JSON list")
    add("--views", type=Path, metavar="FILE", help="write what each call is sent, a line of JSON a call; .gz gzips")
    return parser


def budget(text: str) -> int:
    """The limit that `--budget` names, in tokens."""
    if text == "none":
        return UNLIMITED
    if not text.isdecimal() or not 0 < int(text) < UNLIMITED:
        raise UsageError(f"--budget {text} is not possible", "write --budget 8000, or --budget none")
    return int(text)


def card(given: Sequence[str]) -> list[Prices]:
    """A price card for each cached price that `--price` names."""
    values: dict[str, list[float]] = {"cached": [], "output": []}
    key = ""
    for word in ",".join(given).split(","):
        name, equals, text = (part.strip() for part in word.rpartition("="))
        key = name if equals else key
        if not (word or key):
            continue
        values[_key(key, word)].append(_price(key, text))
    cached = values["cached"] or [float(price) for price in CACHED.split(",")]
    if len(values["output"]) > 1:
        raise UsageError("--price has several prices of output", "give one: --price cached=1.0,0.1,output=4")
    output = values["output"] or [Prices().output]
    return [Prices(price, output[0]) for price in dict.fromkeys(cached)]


def _key(key: str, word: str) -> str:
    if key not in ("cached", "output"):
        raise UsageError(f"--price: {word!r} names no price", "write --price cached=1.0,0.4,0.1 or cached=0.1,output=4")
    return key


def _price(key: str, text: str) -> float:
    most = 1.0 if key == "cached" else 1000.0
    try:
        price = float(text)
    except ValueError:
        price = math.nan
    if not 0 <= price <= most:
        what = f"--price {key}={text} is not possible"
        raise UsageError(what, f"{key} takes 0 to {most:g}, where a prompt token that is computed anew costs 1")
    return price


def decides_by_price(spec: str, model: str) -> bool:
    """Whether a strategy says that what it does may depend on the price card.

    Raises:
        UsageError: there is no such strategy.
    """
    return bool(getattr(parse(spec, SideModel(StandIn(counter_of(model), 0))), "priced", False))


def _replayed(runs: Sequence[Trajectory], settings: Sequence[Setting], views: Path | None) -> Found:
    several = {setting.strategy for setting in settings if setting.prices != settings[0].prices}
    jobs = [
        Job(run, setting, price=setting.prices.cached if setting.strategy in several else None)
        for run in range(len(runs))
        for setting in settings
    ]
    found: dict[Setting, list[Figures]] = {setting: [] for setting in settings}
    for job, figures in work(runs, jobs, views):
        found[job.setting].append(figures)
    return found
