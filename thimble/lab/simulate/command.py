"""Simulate the growth of the prompts of a long run under each strategy."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path

from thimble.agent.budget import UNLIMITED
from thimble.commands.trajectories import Trajectory, read_trajectories
from thimble.lab.experiment import Experiment, Row, Rows, group_rows, run_experiment
from thimble.lab.experiment_flags import add_prompts, whole_number
from thimble.lab.findings import Findings, ResultTable, svg_of_lines
from thimble.lab.replay.command import ReplayCase, replay_cases
from thimble.lab.replay.recorded_replay import counter_of, run_cost, run_figures
from thimble.lab.simulate.equal_turns import MeanTurn, make_run, mean_of_turns
from thimble.session import figures as shown

SIMULATED_STRATEGIES = ("none", "observation-masking:paper", "llm-summary:paper", "hybrid:paper")
SIMULATED_PRICES = "1.0,0.4,0.1"
DEFAULT_TURN = MeanTurn(100, 60, 840)
"""84 % of a turn is its observation (The Complexity Trap, Figure 1); the agent writes about 160 tokens."""
TURN_LIMIT, MOST_TURNS, MOST_TOKENS = 250, 2_000, 100_000
"""The paper's turn limit, and the maximum values of --turns and of a size."""
COLUMN_BLOCKS = " ▁▂▃▄▅▆▇█"


class Simulate(Experiment[ReplayCase]):
    """Show tokens per turn, cache and cost of strategies over a long run.

    Every turn of the run has the same size, as in Eq. 7 and Figure 8 of The Complexity Trap (Lindenbauer et al. 2025):
    given by flags, or the mean of recorded runs (FILE).
    """

    verb = "simulated"

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Add the flags for the sizes and the number of turns, strategies and prices."""
        add = parser.add_argument
        add("files", nargs="*", type=Path, metavar="FILE", help="recorded trajectories; their mean turn is used")
        turns = whole_number("--turns", 1, MOST_TURNS)
        add("--turns", default=TURN_LIMIT, type=turns, metavar="N", help=f"default: {TURN_LIMIT}")
        for name in ("reasoning", "action", "observation"):
            told = f"tokens of the {name} of a turn; default: {getattr(DEFAULT_TURN, name)}, or the mean of FILE"
            add(f"--{name}", type=whole_number(f"--{name}", 1, MOST_TOKENS), metavar="N", help=told)
        add_prompts(parser, " ".join(SIMULATED_STRATEGIES), SIMULATED_PRICES)

    def cases(self, options: argparse.Namespace) -> list[ReplayCase]:
        """A case for each strategy."""
        options.turn = mean_turn(options)
        made = make_run(options.turn, options.turns, counter_of(options.model))
        specs = options.strategy or SIMULATED_STRATEGIES
        return replay_cases([made], specs, options, [options.budget], cached=SIMULATED_PRICES)

    def measure(self, case: ReplayCase) -> list[Row]:
        """A row for each turn; costs are cumulative, and prompts those at the first price."""
        rows: list[Row] = []
        for price, calls in case.played():
            rows = rows or [
                {
                    "strategy": case.setting.strategy,
                    "turn": call.turn,
                    "prompt_tokens": call.view.tokens if call.view else None,
                    "prefill_tokens": call.view.prefill if call.view else None,
                    "side_calls": len(call.asked),
                }
                for call in calls
            ]
            counter = counter_of(case.setting.model)
            costs = (run_cost(run_figures(Trajectory("", ()), [call], counter), price) for call in calls)
            for row, so_far in zip(rows, accumulate(costs), strict=True):
                row[f"cost_{price.cached}"] = so_far
        return rows

    def report(self, rows: Rows, options: argparse.Namespace) -> Findings:
        """The size of a turn and the growth of the prompts; sizes, sums, and the turns at which costs cross."""
        of: MeanTurn = options.turn
        budget = "no budget" if options.budget == UNLIMITED else f"budget {options.budget:,}"
        size = of.reasoning + of.action + of.observation
        turn = (
            f"{options.turns:,} turns of {size:,} tokens: reasoning {of.reasoning:,}, action {of.action:,}, "
            f"observation {of.observation:,} ({of.observation / size:.0%}); summaries of {options.summary_tokens:,}; "
            f"{budget}."
        )
        prompts = {
            spec: [row["prompt_tokens"] or 0 for row in found]
            for (spec,), found in group_rows(rows, "strategy").items()
        }
        return Findings(
            "A run of equal turns under each strategy",
            [turn, *_charts(rows)],
            [_prompt_sizes(rows), _sums(rows), _crossings(rows)],
            rows,
            pictures={"The tokens of each prompt": svg_of_lines(prompts)},
        )


def mean_turn(options: argparse.Namespace) -> MeanTurn:
    """The sizes from the flags; the others from the mean of the files, or the default."""
    measured = DEFAULT_TURN
    if options.files:
        runs = read_trajectories(options.files, options.observations, options.keep_secrets)
        measured = mean_of_turns(runs, counter_of(options.model))
    given = (options.reasoning, options.action, options.observation)
    return MeanTurn(*(one if one is not None else other for one, other in zip(given, astuple(measured), strict=True)))


def _charts(rows: Rows) -> Iterator[str]:
    """A block chart of each strategy's prompts."""
    for (strategy,), turns in group_rows(rows, "strategy").items():
        yield from ("", f"{strategy}: {_range(turns)}", *block_chart([turn["prompt_tokens"] for turn in turns]))


def _prompt_sizes(rows: Rows) -> ResultTable:
    """The prompt tokens at some turns."""
    found = group_rows(rows, "strategy")
    last = max(row["turn"] for row in rows)
    at = [number for number in (10, 50, 100, 250) if number < last] + [last]
    sizes = [
        [strategy, *(shown.format_tokens(turns[number - 1]["prompt_tokens"]) for number in at)]
        for (strategy,), turns in found.items()
    ]
    return ResultTable("Prompt tokens at a turn", ["strategy", *(f"{number:,}" for number in at)], sizes)


def _sums(rows: Rows) -> ResultTable:
    """The total tokens and costs."""
    costs = _costs(rows)

    def cells(strategy: str, turns: Rows) -> list[str]:
        prompt, prefill = (sum(turn[name] or 0 for turn in turns) for name in ("prompt_tokens", "prefill_tokens"))
        return [
            strategy,
            shown.format_short(prompt),
            shown.format_short(prefill),
            f"{1 - prefill / prompt:.1%}" if prompt else "?",
            f"{sum(turn['side_calls'] for turn in turns)}",
            *(shown.format_short(round(turns[-1][name])) for name in costs),
        ]

    columns = ["strategy", "prompt", "prefill", "cached", "side", *costs.values()]
    return ResultTable(
        "All turns", columns, [cells(strategy, turns) for (strategy,), turns in group_rows(rows, "strategy").items()]
    )


def _crossings(rows: Rows) -> ResultTable:
    """For pairs of strategies, and each price, the turn from which on the first one's total cost stays lower."""
    costs, found = _costs(rows), group_rows(rows, "strategy")
    crossed = []
    for (one,), ours in found.items():
        for (other,), theirs in found.items():
            turns = [
                _first_lasting_turn([a[name] < b[name] for a, b in zip(ours, theirs, strict=True)]) for name in costs
            ]
            if any(turns):
                crossed.append([f"{one} than {other}", *(f"{turn or '–'}" for turn in turns)])
    return ResultTable("The turn from which all calls together cost less", ["strategy", *costs.values()], crossed)


def _costs(rows: Rows) -> dict[str, str]:
    """The cost columns, with their titles."""
    return {name: f"@{float(name[5:]):g}" for name in rows[0] if name.startswith("cost_")}


def block_chart(values: Sequence[int | None]) -> list[str]:
    """A block chart of the values, from 0; a column shows the maximum of its turns, so that every peak is visible."""
    columns = min(76, len(values))
    cuts = [len(values) * column // columns for column in range(columns + 1)]
    tops = [max((value or 0 for value in values[a:b]), default=0) for a, b in pairwise(cuts)]
    heights = [round(8 * 3 * top / max(1, *tops)) for top in tops]
    rows = range(3 - 1, -1, -1)
    return ["".join(COLUMN_BLOCKS[min(8, max(0, height - 8 * row))] for height in heights) for row in rows]


def _first_lasting_turn(holds: Sequence[bool]) -> int | None:
    """The turn from which on all values are true; None if the last one is false."""
    last = next((number for number in range(len(holds), 0, -1) if not holds[number - 1]), 0)
    return last + 1 if last < len(holds) else None


def _range(turns: Rows) -> str:
    sent = [(turn["prompt_tokens"], turn["turn"]) for turn in turns if turn["prompt_tokens"] is not None]
    if not sent:
        return "no prompt fits the budget"
    most, turn = max(sent, key=lambda one: one[0])
    told = f"at most {most:,} tokens, first at turn {turn:,}"
    falls = [(before, after, at) for (before, _), (after, at) in pairwise(sent) if after < before]
    if len(falls) < 2:
        return told
    (_, _, first), (high, low, last) = falls[-2:]
    return f"{told}; at turn {last} it falls from {high:,} to {low:,}, {last - first} turns after the previous fall"


main = partial(run_experiment, Simulate())
