"""Scores of runs: share of right answers, and the input that a run paid for.

A cached token costs a tenth of a fresh one, and a summary call is all fresh, so a run pays
`fresh + cached / 10 + summaries` units of input. `python src/scoring.py experiments/results.csv` prints the tables
of the README.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

CACHED_PRICE = 0.1
QUESTIONS_PER_RUN = 10
LONG_TASK = "census"
HEADINGS = ("strategy", "runs", "right", "turns", "prompt tokens", "cached", "paid units")


@dataclass(frozen=True)
class Run:
    """One row of experiments/results.csv."""

    id: str
    model: str
    strategy: str
    task: str
    seed: int
    valid: bool
    correct: int
    turns: int
    prompt_tokens: int
    cached_tokens: int
    summary_tokens: int
    output_tokens: int

    @property
    def paid_units(self) -> float:
        """Input in units of one fresh token; summary calls count since 0.3.3."""
        return self.prompt_tokens - self.cached_tokens * (1 - CACHED_PRICE) + self.summary_tokens

    def euros(self, fresh: float, output: float) -> float:
        """What the run cost, from prices in euros for a million tokens (config/prices.toml)."""
        return (self.paid_units * fresh + self.output_tokens * output) / 1_000_000


@dataclass(frozen=True)
class Score:
    """What a strategy reached over its valid runs; turns, tokens and units are means per run."""

    runs: int
    right: float
    turns: float
    prompt_tokens: float
    cached_share: float
    paid_units: float


def read(path: Path) -> list[Run]:
    """Every run in a results file, the invalid ones too."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Run(
                id=row["run"],
                model=row["model"],
                strategy=row["strategy"],
                task=row["task"],
                seed=int(row["seed"]),
                valid=row["valid"] == "yes",
                correct=int(row["correct"]),
                turns=int(row["turns"]),
                prompt_tokens=int(row["prompt_tokens"]),
                cached_tokens=int(row["cached_tokens"]),
                summary_tokens=int(row["summary_tokens"]),
                output_tokens=int(row["output_tokens"]),
            )
            for row in csv.DictReader(file)
        ]


def score(runs: Iterable[Run]) -> Score:
    """The score of one strategy's runs; an answer that is empty counts as wrong (since 0.2.0)."""
    counted = [run for run in runs if run.valid]
    if not counted:
        raise ValueError("no valid run to score")
    prompt = sum(run.prompt_tokens for run in counted)
    return Score(
        runs=len(counted),
        right=sum(run.correct for run in counted) / (QUESTIONS_PER_RUN * len(counted)),
        turns=sum(run.turns for run in counted) / len(counted),
        prompt_tokens=prompt / len(counted),
        cached_share=sum(run.cached_tokens for run in counted) / prompt,
        paid_units=sum(run.paid_units for run in counted) / len(counted),
    )


def table(runs: Iterable[Run]) -> list[str]:
    """A Markdown table of the valid runs, a line a strategy, in the order in which they were first tried."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        if run.valid:
            groups.setdefault(run.strategy, []).append(run)
    lines = [f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|"]
    for strategy, chosen in groups.items():
        of = score(chosen)
        cells = (
            strategy,
            str(of.runs),
            f"{100 * of.right:.0f} %",
            f"{of.turns:.1f}",
            f"{of.prompt_tokens:,.0f}",
            f"{100 * of.cached_share:.0f} %",
            f"{of.paid_units:,.0f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def tables(runs: Iterable[Run]) -> dict[str, list[str]]:
    """The tables of the README by their headings: per model the five short tasks, then the long one."""
    every = list(runs)
    found = {}
    for model in dict.fromkeys(run.model for run in every):
        mine = [run for run in every if run.model == model]
        found[f"{model}, five short tasks"] = table(run for run in mine if run.task != LONG_TASK)
        found[f"{model}, {LONG_TASK}"] = table(run for run in mine if run.task == LONG_TASK)
    return found


if __name__ == "__main__":
    for heading, lines in tables(read(Path(sys.argv[1]))).items():
        sys.stdout.write("\n".join([f"### {heading}", "", *lines, "", ""]))
