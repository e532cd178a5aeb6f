"""The prompts and the cost of recorded trajectories under each strategy."""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from thimble.agent.budget import UNLIMITED, Prices
from thimble.agent.errors import UsageError
from thimble.commands.replay import AS_RECORDED
from thimble.commands.trajectories import Trajectory, read_trajectories
from thimble.lab.experiment import RAW_AGENT, Experiment, Row, Rows, code_of, hash_of, run_experiment
from thimble.lab.experiment_flags import CACHED_PRICES, MODEL_FORM, add_lag, add_prompts, model_name, price_cards
from thimble.lab.findings import Findings, svg_of_lines, svg_of_points
from thimble.lab.replay import cost_tables
from thimble.lab.replay.calibration import measure_calibration
from thimble.lab.replay.recorded_replay import (
    RecordedCall,
    ReplaySetting,
    counter_of,
    decides_by_price,
    replay_run,
    run_cost,
    run_figures,
)
from thimble.models import chat
from thimble.models.text_observations import describe_recognised
from thimble.strategies.table import STRATEGIES

COST_CHANGES = "The change of the cost of each run, in percent, from the least to the most, at the last price"
COST_AND_LOSS = "Lost, from the left, and the change of the cost, from below, in percent, at the last price"
"""Captions of the page's pictures."""


@dataclass(frozen=True, slots=True)
class ReplayCase:
    """A run under one setting, at each of these prices.

    `priced`: there are several prices, and the strategy depends on them. `part`: the file to write its views to.
    """

    run: Trajectory
    setting: ReplaySetting
    prices: Sequence[Prices]
    priced: bool = False
    part: Path | None = None

    @property
    def key(self) -> str:
        """A hash of all fields except `part`."""
        setting = [*astuple(self.setting), code_of(self.setting.strategy)]
        return hash_of([self.run.digest, setting, [astuple(price) for price in self.prices]])

    @property
    def size(self) -> int:
        """The messages of all prompts, if everything is sent."""
        return self.run.size

    def played(self) -> Iterator[tuple[Prices, Sequence[RecordedCall]]]:
        """The calls at each price; if the strategy does not depend on it, those at the first price."""
        for number, price in enumerate(self.prices):
            if self.priced or not number:
                calls = [*replay_run(self.run, replace(self.setting, prices=price))]
            yield price, calls


class Replay(Experiment[ReplayCase]):
    """Show the prompts and the cost of recorded trajectories under each strategy."""

    epilog = """\
FILE is JSON or JSON Lines, gzipped or not: a list of chat-completions messages, an object with `messages` (and `id`,
`tools`), or several of either. An assistant message is a call. docs/how-to/replay-recorded-runs.md explains the counts.
"""
    verb = "replayed"

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Add the runs, and the flags for the replay and its extra output."""
        add = parser.add_argument
        add("files", nargs="+", type=Path, metavar="FILE", help="recorded trajectories")
        add_prompts(parser, "all built-in ones")
        add_lag(parser, default=0)
        add("--views", type=Path, metavar="FILE", help="write the view of each call as a line of JSON; .gz compresses")
        add("--act", type=model_name, metavar="MODEL",
            help=f"ask this model for the next action on each view: {MODEL_FORM}")  # fmt: skip

    def cases(self, options: argparse.Namespace) -> list[ReplayCase]:
        """Every run under every strategy."""
        runs = read_trajectories(options.files, options.observations, options.keep_secrets)
        if told := describe_recognised(*(run.messages for run in runs)):
            print(told, file=sys.stderr)
        for run in runs:
            for remark in run.remarks:
                print(f"{run.name}: {remark}", file=sys.stderr)
        specs = options.strategy or [*STRATEGIES]
        specs = [*([AS_RECORDED] if any(run.sent for run in runs) else []), *specs]
        made = replay_cases(runs, [RAW_AGENT, *specs], options, [options.budget], [options.lag], options.act or "")
        if not options.views:
            return made
        _check_views(options)
        options.parts = TemporaryDirectory(prefix="views-")
        return [
            replace(case, part=Path(options.parts.name, f"{at:09}{options.views.suffix}"))
            if case.setting.strategy in specs
            else case
            for at, case in enumerate(made)
        ]

    def measure(self, case: ReplayCase) -> list[Row]:
        """A row for each price: the sums of the run; counts are in tokens unless the name says otherwise."""
        run, setting, rows, lines = case.run, case.setting, list[Row](), list[str]()
        for price, calls in case.played():
            if case.priced or not rows:
                found = run_figures(run, calls, counter_of(setting.model))
            rows.append(
                {
                    "strategy": setting.strategy,
                    "run": run.name,
                    "turns": run.turns,
                    "budget": None if setting.limit == UNLIMITED else setting.limit,
                    "lag": setting.lag,
                    "cached_price": price.cached,
                    **found,
                    "repairs": len(run.repaired.notes),
                    "characters_mended": run.repaired.touched,
                    "characters_left_out": run.repaired.lost,
                    "cost": run_cost(found, price),
                }
                | _calibration_columns(run, setting.strategy, calls)
            )
            if case.part and (case.priced or len(rows) == 1):
                lines += (view_line(case, call, price) for call in calls if call.view)
        if case.part:
            with (
                gzip.open(case.part, "wt", compresslevel=1) if case.part.suffix == ".gz" else case.part.open("w") as to
            ):
                to.writelines(lines)
        return rows

    def report(self, rows: Rows, options: argparse.Namespace) -> Findings:
        """The runs, sums, spreads, and medians by length; and the file of the views, joined from those of the cases."""
        if options.views:
            with options.views.open("wb") as file, options.parts:
                for part in sorted(Path(options.parts.name).iterdir()):
                    with part.open("rb") as views:
                        shutil.copyfileobj(views, file)
        rows = cost_tables.add_changes(rows)
        own = [AS_RECORDED] if any(row["strategy"] == AS_RECORDED for row in rows) else []
        prices = [f"{price:.4g}" for price in dict.fromkeys(row["cached_price"] for row in rows)]
        cost = f"Cost against sending everything, in percent, if a cached token costs {', '.join(prices)}."
        points = cost_tables.cost_and_loss(rows)
        return Findings(
            "What recorded runs would have cost under each strategy",
            [*cost_tables.describe_calibration(rows), cost_tables.describe_runs(rows), cost],
            [*cost_tables.make_tables(rows, [*own, *(options.strategy or STRATEGIES)])],
            rows,
            [*_describe_unbeaten(points, prices[-1])],
            {
                COST_CHANGES: svg_of_lines(cost_tables.changes(rows)),
                COST_AND_LOSS: svg_of_points({"": points}),
            },
        )


def _describe_unbeaten(points: Mapping[str, tuple[float, float]], price: str) -> Iterator[str]:
    """The strategies that no other one beats in both cost and loss, at this price."""
    best = [spec for spec, point in points.items() if not any(map(partial(dominates, point), points.values()))]
    if len(points) > 1:
        named = ", ".join(best)
        yield f"No other strategy both costs less and loses less, where a cached token costs {price}: {named}."


def dominates(point: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether the other strategy costs and loses no more than this one, and less of at least one."""
    return other != point and all(theirs <= ours for theirs, ours in zip(other, point, strict=True))


def replay_cases(
    runs: Sequence[Trajectory],
    specs: Sequence[str],
    options: argparse.Namespace,
    limits: Sequence[int],
    lags: Sequence[int] = (0,),
    actor: str = "",
    cached: str = CACHED_PRICES,
) -> list[ReplayCase]:
    """A case for every run under each strategy, budget and lag; `cached`: the default prices of a cached token.

    The options are those of `thimble.lab.experiment_flags.add_costs`.

    Raises:
        UsageError: there is no such strategy.
    """
    prices, model, tokens = price_cards(options.price, cached), options.model, options.summary_tokens
    counter_of(model).overhead(())  # loads the vocabulary once, before the worker processes start
    priced = {spec: decides_by_price(spec, model) and len(prices) > 1 for spec in specs}
    cache = not options.uncached_summaries
    return [
        ReplayCase(run, ReplaySetting(spec, limit, prices[0], model, tokens, cache, lag, actor), prices, priced[spec])
        for limit, lag in product(dict.fromkeys(limits), dict.fromkeys(lags))
        for spec in priced
        for run in runs
    ]


def view_line(case: ReplayCase, call: RecordedCall, price: Prices) -> str:
    """The view of one call as a line of JSON; the strategy's own model calls are under `asked`."""
    assert call.view
    record: dict[str, Any] = {"run": case.run.name, "strategy": case.setting.strategy, "turn": call.turn}
    if case.priced:
        record["price"] = price.cached
    record["messages"] = [*map(chat.write_message, call.view.messages)]
    if call.prompts:
        record["asked"] = [
            {"messages": [*map(chat.write_message, messages)], "output_tokens": output}
            for messages, output in call.prompts
        ]
    return f"{json.dumps(record)}\n"


def _calibration_columns(run: Trajectory, strategy: str, calls: Sequence[RecordedCall]) -> Row:
    """The calibration columns, for the recorded views only."""
    if strategy != AS_RECORDED:
        return {}
    missing = sum(bool(side.error) for call in calls for side in call.asked)
    sizes = [(call.view.tokens, call.view.cached) for call in calls if call.view]
    return {"summaries_missing": missing, **measure_calibration(run, sizes)}


def _check_views(options: argparse.Namespace) -> None:
    """Raise UsageError if the views cannot be written."""
    path = options.views
    if path.resolve() in (file.resolve() for file in options.files):
        raise UsageError(f"--views {path} is one of the input files", "give another path")
    if options.store:
        raise UsageError("--views needs every view, but --store does not keep views", "leave out one of them")
    try:
        path.open("wb").close()
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "give --views the path of a file") from error


main = partial(run_experiment, Replay())
