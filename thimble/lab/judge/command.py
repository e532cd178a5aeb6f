"""Judge every strategy in a folder: the laws first, then one score, in a table with strategies that ship."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from secrets import randbelow
from typing import Any

from thimble.agent.budget import read_limit
from thimble.agent.errors import UsageError, in_line
from thimble.lab.experiment import RAW_AGENT
from thimble.lab.experiment_flags import add_output, price_cards, whole
from thimble.lab.findings import Findings, ResultTable, publish
from thimble.lab.job_progress import progress
from thimble.lab.judge.dialogues import Dialogue, generated, planted
from thimble.lab.judge.entry import Entry, EntryServer
from thimble.lab.judge.measure import Measured, measured
from thimble.lab.replay.recorded_replay import ReplaySetting
from thimble.lab.replay.trajectories import read
from thimble.session.figures import several
from thimble.session.jail import Jail
from thimble.session.parser import Parser

JUDGED_BESIDE = (RAW_AGENT, "sliding-window", "observation-masking", "summary-buffer", "thrifty")
FORMULA = """\
Score = 30 · saved + 40 · facts + 30 · found. Saved: the part of the cost of sending everything that is saved, in the
mean of four prices of a cached token. Facts: the part of the facts of earlier results that the views show.
Found: the part of the repeated calls whose earlier result was still in view."""
MOST_JUDGE_SEED = 10**9
PRINTS = "it prints; a strategy returns messages and prints nothing"
JOINS = "a + in a name joins two strategies: rename the file"


def main(arguments: Sequence[str], prog: str) -> None:
    """Judge, and print the table.

    Raises:
        UsageError: a flag, the folder, or the file of runs.
    """
    options = _parser(prog).parse_args(arguments)
    files = sorted(file.name for file in options.folder.glob("*.py"))
    if not files:
        raise UsageError(f"{options.folder} has no file that ends in .py", "name a folder with a strategy in each file")
    seed = randbelow(MOST_JUDGE_SEED) if options.seed is None else options.seed
    runs = read([options.runs]) if options.runs else generated(seed)
    dialogues = [planted(run, seed) for run in runs]
    prices = price_cards([])
    settings = [ReplaySetting(RAW_AGENT, options.budget, price, "", 700) for price in prices]
    everything = measured(dialogues, settings, lawful=False)
    if not everything.calls:
        raise UsageError("no call of the dialogues fits the budget", "raise it (--budget N), or give other --runs")
    rows = []
    specs = [*files, *JUDGED_BESIDE]
    with progress("judged", len(specs), len(specs)) as advance:
        for spec in specs:
            found = JOINS if "+" in spec else judged(spec, options.folder, dialogues, settings, options.seconds)
            rows.append(row(in_line(spec), found, everything))
            advance(1)
    rows.sort(key=lambda row: -math.inf if row["score"] is None else row["score"], reverse=True)
    told = [f"{several(len(runs), 'dialogue')}, {several(sum(run.turns for run in runs), 'call')}, seed {seed}."]
    told += FORMULA.splitlines()
    at = ", ".join(f"{price.cached:g}" for price in prices)
    table = ResultTable(
        "The contest",
        ["strategy", "no score because", "score", "cost", "facts", "faults"],
        [_cells(row) for row in rows],
        f"Cost in percent of sending everything, where a cached token costs {at}.",
        texts=2,
    )
    publish(Findings("A contest of strategies", told, [table], rows), options, prog, arguments)


def judged(
    spec: str, folder: Path, dialogues: Sequence[Dialogue], settings: Sequence[ReplaySetting], seconds: int
) -> Measured | str:
    """What a strategy, of a file in the folder, does on the dialogues; or, in one line, why it has no score."""
    own = [replace(one, strategy=spec) for one in settings]
    try:
        if spec in JUDGED_BESIDE:
            return measured(dialogues, own)
        with Jail(EntryServer(spec, own[0].summary_tokens), folder, seconds) as jail:
            found = measured(dialogues, own, lambda spec, side: Entry(jail, side))
        return PRINTS if jail.printed else found
    except UsageError as error:
        return in_line(error.what.removeprefix(f"{spec} failed on "))


def _parser(prog: str) -> Parser:
    parser = Parser(prog, description=__doc__, epilog=FORMULA, allow_abbrev=False)
    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help="each *.py in it is a strategy")
    add("--runs", type=Path, metavar="FILE", help="recorded dialogues, as for replay; default: made with the seed")
    told = "for the dialogues and for the facts planted in them; default: a new one, which is told"
    add("--seed", type=whole("--seed", 0, MOST_JUDGE_SEED), metavar="N", help=told)
    add("--budget", default=8_000, type=read_limit, metavar="N", help="prompt tokens a call may use; default: 8000")
    seconds = whole("--seconds", 1, 86_400)
    add("--seconds", default=60, type=seconds, metavar="N", help="most seconds of computing of a strategy; default: 60")
    add_output(parser)
    return parser


def row(name: str, found: Measured | str, everything: Measured) -> dict[str, Any]:
    """The record of a strategy, as in `--json`; one that has no score has a reason instead of figures."""
    if isinstance(found, Measured) and found.calls < everything.calls:
        found = f"no view fits the budget at {several(everything.calls - found.calls, 'call')}"
    if isinstance(found, str):
        return {"strategy": name, "score": None, "reason": found}
    score, cost = found.score(everything), found.cost(everything)
    return {"strategy": name, "score": score, "reason": "", "cost": cost, **asdict(found)}


def _cells(row: Mapping[str, Any]) -> list[str]:
    if row["score"] is None:
        return [row["strategy"], row["reason"], *[""] * 4]
    cost = " ".join(f"{100 * one:.0f}" for one in row["cost"])
    facts, faults = f"{row['kept']} of {row['planted']}", f"{row['faults']} of {row['again']}"
    return [row["strategy"], "", f"{row['score']:.1f}", cost, facts, faults]
