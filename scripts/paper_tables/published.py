"""The per-instance rows that were published with The Complexity Trap, by model, strategy and instance.

The table is in the repository the-complexity-trap, auxiliary-data at commit 1b07decf (MIT): 10,137 rows of 32
experiments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.paper_tables.printed import HYBRID, MASKING, RAW, SUMMARY
from thimble.agent.errors import UsageError
from thimble.lab.csv_records import Record, require

COLUMNS = ("experiment", "instance_id", "cost", "summary_cost", "outcome", "strategy", "scaffold")
CODER, FIFTY = "Qwen3-Coder 480B", "Qwen3-Coder 480B, 50 instances"
EXPERIMENTS: Mapping[str, str] = {
    "Qwen3-32B": "local-qwen3-32b-",
    "Qwen3-32B (thinking)": "local-Qwen3-32B_thinking-",
    CODER: "local-Qwen3-Coder_480B_A35B_",
    "Gemini 2.5 Flash": r"gemini_2\.5_flash-",
    "Gemini 2.5 Flash (thinking)": r"gemini_2\.5_flash_thinking-",
    "Gemini 2.5 Flash, OpenHands": r".*(raw_agent|masking-M_10|summary_N_21_M_10)-verified_50-",
    FIFTY: ".*summary_N_43_M_10_obs_masking_M_10",
}
"""How the names of a model's experiments begin: one experiment for each strategy, or only that of the hybrid."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One instance under one strategy, in dollars. The cost of the summaries is a part of the cost."""

    solved: bool
    cost: float
    summaries: float


Runs = Mapping[str, Mapping[str, Outcome]]
"""By strategy and instance."""


def runs(path: Path, columns: Sequence[str], records: Sequence[Record]) -> dict[str, Runs]:
    """The runs of each model in the tables. For the hybrid's 50 instances, those of the other strategies are repeated.

    Raises:
        UsageError: a column or an experiment is missing, an instance is there twice, or a value is wrong.
    """
    require(path, columns, COLUMNS)
    found: dict[str, dict[str, dict[str, Outcome]]] = {
        model: {strategy: {} for strategy in ([HYBRID] if model == FIFTY else [RAW, MASKING, SUMMARY])}
        for model in EXPERIMENTS
    }
    for record in records:
        experiment = record.name("experiment")
        for model in (model for model, pattern in EXPERIMENTS.items() if re.match(pattern, experiment)):
            run = found[model].get(HYBRID if model == FIFTY else record.name("strategy"), {})
            if record.name("instance_id") in run:
                raise UsageError(f"{record.place}: this instance is there twice", "give the published table as it is")
            run[record.name("instance_id")] = _outcome(record)
    for model, strategy in ((model, strategy) for model, of in found.items() for strategy in of if not of[strategy]):
        raise UsageError(f"{path} has no rows of {model}, {strategy}", "give the published table as it is")
    fifty = found[FIFTY][HYBRID]
    for strategy, run in found[CODER].items():
        found[FIFTY][strategy] = {name: run[name] for name in fifty if name in run}
    return dict(found)


def _outcome(record: Record) -> Outcome:
    """SWE-agent counts the summaries apart, OpenHands in the cost."""
    summaries = record.number("summary_cost")
    apart = summaries if record.name("scaffold") == "sweagent" else 0
    return Outcome(record.truth("outcome"), record.number("cost") + apart, summaries)
