"""Judge every strategy in a folder: the laws first, then one score, in a table with built-in strategies."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from secrets import randbelow

from thimble.agent.budget import read_limit
from thimble.agent.errors import UsageError, in_line
from thimble.commands.trajectories import read_trajectories
from thimble.lab.experiment import RAW_AGENT, Experiment, Row, Rows, hash_of, run_experiment
from thimble.lab.experiment_flags import price_cards, whole_number
from thimble.lab.findings import Findings, ResultTable
from thimble.lab.judge.dialogues import Dialogue, generate_runs, plant_facts
from thimble.lab.judge.entry import Entry, EntryServer
from thimble.lab.judge.measure import contest_score, cost_shares, measure_strategy
from thimble.lab.replay.recorded_replay import ReplaySetting
from thimble.session.jail import Jail
from thimble.tools.wording import count_noun

REFERENCE_STRATEGIES = (RAW_AGENT, "sliding-window", "observation-masking", "summary-buffer", "thrifty")
EVERYTHING = ""
"""Instead of a SPEC: send the whole history, without checking laws. The baseline of the costs."""
FORMULA = """\
Score = 30 · saved + 40 · facts + 30 · found. Saved: the share of the cost saved against sending everything, as the mean
over four prices of a cached token. Facts: the share of facts in earlier results that the views show.
Found: the share of repeated calls with their earlier result still in view."""
SHARES = {"facts": ("kept", "planted"), "lost": ("quoted_lost", "quoted"), "repeats": ("repeats", "again")}
"""Optional columns of the table: the keys of a count and of its total."""
MOST_JUDGE_SEED = 10**9
PRINTS = "it prints; a strategy must only return messages"
JOINS = "a + in a name joins two strategies: rename the file"


@dataclass(frozen=True, slots=True)
class JudgeCase:
    """A strategy on the dialogues, with a setting for each price: built-in, or a file in the folder with this text."""

    strategy: str
    dialogues: Sequence[Dialogue]
    settings: Sequence[ReplaySetting]
    folder: Path
    text: str
    seconds: int

    @property
    def key(self) -> str:
        """A hash of all fields except the path of the folder."""
        heard = [[run.digest, *facts] for run, facts in self.dialogues]
        return hash_of([self.strategy, heard, [*map(astuple, self.settings)], self.text, self.seconds])

    @property
    def size(self) -> int:
        """One strategy."""
        return 1


class Judge(Experiment[JudgeCase]):
    """Judge every strategy in a folder: the laws first, then one score, in a table with built-in strategies."""

    epilog = FORMULA
    verb = "judged"

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Add the folder, and the flags for dialogues and limits."""
        add = parser.add_argument
        add("folder", type=Path, metavar="FOLDER", help="each *.py in it is a strategy")
        add("--runs", type=Path, metavar="FILE", help="recorded dialogues, as for replay; default: made from the seed")
        add("--seed", type=whole_number("--seed", 0, MOST_JUDGE_SEED), default=randbelow(MOST_JUDGE_SEED), metavar="N",
            help="seed of the dialogues and of the facts planted in them; default: random, and printed")  # fmt: skip
        add("--budget", default=8_000, type=read_limit, metavar="N", help="prompt tokens a call may use; default: 8000")
        told = "time limit of a strategy; default: 60"
        add("--seconds", default=60, type=whole_number("--seconds", 1, 86_400), metavar="N", help=told)

    def cases(self, options: argparse.Namespace) -> list[JudgeCase]:
        """A case for sending everything, for each file, and for each built-in strategy of the table."""
        folder = options.folder
        paths = sorted(path for path in folder.glob("*.py") if path.is_file())
        files = {path.name: path.read_text(errors="replace") if os.access(path, os.R_OK) else "" for path in paths}
        if not files:
            raise UsageError(f"{folder} has no file that ends in .py", "name a folder with a strategy in each file")
        runs = read_trajectories([options.runs]) if options.runs else generate_runs(options.seed)
        dialogues = [plant_facts(run, options.seed) for run in runs]
        return [
            JudgeCase(
                strategy,
                dialogues,
                [ReplaySetting(strategy or RAW_AGENT, options.budget, price, "", 700) for price in price_cards([])],
                folder,
                files.get(strategy, ""),
                options.seconds,
            )
            for strategy in (EVERYTHING, *files, *REFERENCE_STRATEGIES)
        ]

    def measure(self, case: JudgeCase) -> list[Row]:
        """The sums of a strategy, or the `reason` why it has no score."""
        found = JOINS if "+" in case.strategy else judge_case(case)
        return [
            {
                "strategy": in_line(case.strategy),
                "dialogues": len(case.dialogues),
                "turns": sum(run.turns for run, _ in case.dialogues),
                **({"reason": found} if isinstance(found, str) else {"reason": "", **found}),
            }
        ]

    def report(self, rows: Rows, options: argparse.Namespace) -> Findings:
        """The dialogues and the formula; the strategies, the best first, with `score` and relative `cost`."""
        everything, *others = rows
        rows = [add_score(row, everything) for row in others]
        rows = sorted(rows, key=lambda row: -math.inf if row["score"] is None else row["score"], reverse=True)
        heard = f"{count_noun(everything['dialogues'], 'dialogue')}, {count_noun(everything['turns'], 'call')}"
        at = ", ".join(f"{price.cached:g}" for price in price_cards([]))
        shares = [name for name, (_, of) in SHARES.items() if any(row.get(of) for row in rows)]
        columns = ("strategy", "no score because", "score", "cost", *shares)
        told = f"Cost in percent of sending everything, if a cached token costs {at}."
        contest = ResultTable("The contest", columns, [_cells(row, shares) for row in rows], told, texts=2)
        lines = [f"{heard}, seed {options.seed}.", *FORMULA.splitlines()]
        return Findings("A contest of strategies", lines, [contest], rows)


def judge_case(case: JudgeCase) -> Row | str:
    """The sums of a strategy on the dialogues; or, in one line, the reason why it has no score.

    Raises:
        UsageError: no call fits the budget, even if everything is sent.
    """
    if case.strategy == EVERYTHING:
        found = measure_strategy(case.dialogues, case.settings, lawful=False)
        if not found["calls"]:
            raise UsageError("no call of the dialogues fits the budget", "raise it (--budget N), or give other --runs")
        return found
    try:
        if case.strategy in REFERENCE_STRATEGIES:
            return measure_strategy(case.dialogues, case.settings)
        server = EntryServer(case.strategy, case.settings[0].summary_tokens)
        with Jail(server, case.folder, case.seconds) as jail:
            found = measure_strategy(case.dialogues, case.settings, lambda spec, side: Entry(jail, side))
        return PRINTS if jail.printed else found
    except UsageError as error:
        return in_line(error.what.removeprefix(f"{case.strategy} failed on "))


def add_score(row: Row, everything: Row) -> Row:
    """The row with its score; None if it has a reason."""
    if not row["reason"] and row["calls"] < everything["calls"]:
        row = row | {"reason": f"no view fits the budget at {count_noun(everything['calls'] - row['calls'], 'call')}"}
    if row["reason"]:
        return row | {"score": None}
    return row | {"score": contest_score(row, everything), "cost": cost_shares(row, everything)}


def _cells(row: Row, shares: Sequence[str]) -> list[str]:
    if row["score"] is None:
        return [row["strategy"], row["reason"], "", "", *("" for _ in shares)]
    cost = " ".join(f"{100 * one:.0f}" for one in row["cost"])
    found = (" of ".join(str(row[count]) for count in SHARES[name]) for name in shares)
    return [row["strategy"], "", f"{row['score']:.1f}", cost, *found]


main = partial(run_experiment, Judge())
