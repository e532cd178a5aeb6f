"""Scores of runs: share of right answers, and the input that a run paid for.

A cached token costs a tenth of a fresh one, so a run pays `fresh + cached / 10` units of input.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

CACHED_PRICE = 0.1
QUESTIONS_PER_RUN = 10


@dataclass(frozen=True)
class Run:
    """One row of experiments/results.csv."""

    id: str
    strategy: str
    valid: bool
    correct: int
    turns: int
    prompt_tokens: int
    cached_tokens: int

    @property
    def paid_units(self) -> float:
        """Input in units of one fresh token."""
        return self.prompt_tokens - self.cached_tokens * (1 - CACHED_PRICE)


@dataclass(frozen=True)
class Score:
    """What a strategy reached over its valid runs; tokens and units are means per run."""

    runs: int
    right: float
    prompt_tokens: float
    cached_share: float
    paid_units: float


def read(path: Path) -> list[Run]:
    """Every run in a results file, the invalid ones too."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Run(
                id=row["run"],
                strategy=row["strategy"],
                valid=row["valid"] == "yes",
                correct=int(row["correct"]),
                turns=int(row["turns"]),
                prompt_tokens=int(row["prompt_tokens"]),
                cached_tokens=int(row["cached_tokens"]),
            )
            for row in csv.DictReader(file)
        ]


def score(runs: Iterable[Run]) -> Score:
    """The score of one strategy's runs; an answer that is empty counts as wrong (since 0.2.0)."""
    counted = [run for run in runs if run.valid]
    prompt = sum(run.prompt_tokens for run in counted)
    return Score(
        runs=len(counted),
        right=sum(run.correct for run in counted) / (QUESTIONS_PER_RUN * len(counted)),
        prompt_tokens=prompt / len(counted),
        cached_share=sum(run.cached_tokens for run in counted) / prompt,
        paid_units=sum(run.paid_units for run in counted) / len(counted),
    )
