"""Judge every strategy in a folder: the laws first, then one score, in a table with strategies that ship.

Score = 30 · saved + 40 · facts + 30 · found. Saved: the part of the cost of sending everything that is saved, in the
mean of four prices of a cached token. Facts: the part of the planted facts that is in the last view of its dialogue.
Found: the part of the repeated calls whose earlier result was still in view.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from secrets import randbelow
from statistics import mean
from typing import Any

from thimble.agent.budget import read_limit
from thimble.agent.errors import UsageError
from thimble.lab.experiment_flags import COUNTED_MODEL, add_output, price_cards, whole
from thimble.lab.findings import Findings, ResultTable
from thimble.lab.job_progress import progress
from thimble.lab.judge.child import Entry, judged
from thimble.lab.judge.dialogues import Dialogue, generated, planted
from thimble.lab.judge.measure import Measured, measured
from thimble.lab.publish import publish
from thimble.lab.replay.costs import RAW_AGENT
from thimble.lab.replay.recorded_replay import ReplaySetting
from thimble.lab.replay.trajectories import read
from thimble.session.figures import several
from thimble.session.parser import Parser
from thimble.strategies.own_code import in_line

SHIPPED = (RAW_AGENT, "sliding-window", "observation-masking", "summary-buffer", "thrifty")
WEIGHTS: Mapping[str, int] = {"saved": 30, "facts": 40, "found": 30}
"""The points of each part of the score."""
COLUMNS = ("strategy", "reason", "score", "cost", "kept", "planted", "faults", "again")
MOST_SEED = 10**9
SUMMARY_TOKENS = 700


def main(arguments: Sequence[str], prog: str) -> None:
    """Judge, and print the table.

    Raises:
        UsageError: a flag, the folder, or the file of runs.
    """
    options = _parser(prog).parse_args(arguments)
    entries = _entries(options.folder)
    seed = randbelow(MOST_SEED) if options.seed is None else options.seed
    runs = read([options.runs]) if options.runs else generated(seed)
    dialogues = [planted(run, seed) for run in runs]
    prices = price_cards([])
    settings = [ReplaySetting(RAW_AGENT, options.budget, price, COUNTED_MODEL, SUMMARY_TOKENS) for price in prices]
    everything = measured(dialogues, settings, lawful=False)
    rows = []
    with progress("judged", len(entries), len(entries)) as advance:
        for entry in entries:
            rows.append(row(entry.name, judged(entry, dialogues, settings, options.seconds), everything))
            advance(1)
    rows.sort(key=lambda row: -1e9 if row["score"] is None else row["score"], reverse=True)
    publish(_findings(rows, dialogues, [price.cached for price in prices], seed), options, prog, arguments)


def _parser(prog: str) -> Parser:
    about, _, formula = (__doc__ or "").partition("\n\n")
    parser = Parser(prog, description=about, epilog=formula, allow_abbrev=False)
    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help="each *.py in it is a strategy")
    add("--runs", type=Path, metavar="FILE", help="recorded dialogues, as for replay; default: made with the seed")
    told = "for the dialogues and for the facts planted in them; default: a new one, which is told"
    add("--seed", type=whole("--seed", 0, MOST_SEED), metavar="N", help=told)
    add("--budget", default=8_000, type=read_limit, metavar="N", help="prompt tokens a call may use; default: 8000")
    seconds = whole("--seconds", 1, 86_400)
    add("--seconds", default=60, type=seconds, metavar="N", help="most seconds of a strategy; default: 60")
    add_output(parser)
    return parser


def _entries(folder: Path) -> list[Entry]:
    """The strategies in a folder, and those that ship."""
    files = sorted(folder.glob("*.py"))
    if not files:
        raise UsageError(f"{folder} has no file that ends in .py", "name a folder with a strategy in each file")
    theirs = [Entry(in_line(file.name), file.name, folder) for file in files]
    return theirs + [Entry(name, name, folder) for name in SHIPPED]


def row(name: str, found: Measured | str, everything: Measured) -> dict[str, Any]:
    """The record of a strategy, as in `--json`; with a reason instead of figures for one that has no score."""
    if isinstance(found, str):
        return dict.fromkeys(COLUMNS) | {"strategy": name, "reason": found}
    cost = [one / of for one, of in zip(found.costs, everything.costs, strict=True)]
    parts = {
        "saved": 1 - mean(cost),
        "facts": found.kept / found.planted if found.planted else 1.0,
        "found": 1 - found.faults / found.again if found.again else 1.0,
    }
    score = sum(points * parts[name] for name, points in WEIGHTS.items())
    values = (name, "", score, cost, found.kept, found.planted, found.faults, found.again)
    return dict(zip(COLUMNS, values, strict=True))


def _findings(
    rows: Sequence[Mapping[str, Any]], dialogues: Sequence[Dialogue], prices: Sequence[float], seed: int
) -> Findings:
    at = ", ".join(f"{price:g}" for price in prices)
    table = ResultTable(
        "The contest",
        ["strategy", "no score because", "score", "cost", "facts", "faults"],
        [[*_cells(row)] for row in rows],
        f"Cost in percent of sending everything, where a cached token costs {at}.",
        texts=2,
    )
    turns = sum(one.run.turns for one in dialogues)
    headline = f"{several(len(dialogues), 'dialogue')}, {several(turns, 'call')}, seed {seed}."
    formula = (__doc__ or "").partition("\n\n")[2].splitlines()
    return Findings("A contest of strategies", [headline, *formula], [table], rows)


def _cells(row: Mapping[str, Any]) -> Iterator[str]:
    yield row["strategy"]
    yield row["reason"]
    if row["score"] is None:
        yield from [""] * 4
        return
    yield f"{row['score']:.1f}"
    yield " ".join(f"{100 * cost:.0f}" for cost in row["cost"])
    yield f"{row['kept']} of {row['planted']}"
    yield f"{row['faults']} of {row['again']}"
