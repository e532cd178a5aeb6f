"""Read the per-instance rows published with The Complexity Trap, by model, strategy and instance.

The table is in the repository the-complexity-trap, auxiliary-data at commit 1b07decf (MIT): 10,137 rows of 32
experiments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.paper_tables.printed import HYBRID, MASKING, NAIVE_HYBRID, RAW, SUMMARY
from thimble.agent.errors import UsageError
from thimble.lab.csv_records import Record, read_csv

COLUMNS = (
    "experiment",
    "instance_id",
    "cost",
    "summary_cost",
    "turn_count",
    "outcome",
    "scaffold",
    "mean_reasoning_tokens",
)
CODER, FIFTY = "Qwen3-Coder 480B", "Qwen3-Coder 480B, 50 instances"
OPENHANDS, OPENHANDS_500 = "Gemini 2.5 Flash, OpenHands", "Gemini 2.5 Flash, OpenHands, 500 instances"


def _swe_agent(model: str, summariser: str = "", end: str = ".0-verified-500") -> Mapping[str, str]:
    """The three experiments of a model in Table 1."""
    return {
        RAW: f"{model}-baseline_raw{end}",
        MASKING: f"{model}-baseline_N_1_M_10{end}",
        SUMMARY: f"{model}{summariser}-turn-summaries-t_0-N_21_M_10_openhands{end}",
    }


_GEMINI = "gemini-2.5-flash_maxiter_250_N_v0.43.0-no-hint-"
_MASKED = "observation_masking_for_eval-run_1"
EXPERIMENTS: Mapping[str, Mapping[str, str]] = {
    "Qwen3-32B": _swe_agent("local-qwen3-32b", "-t_0.8"),
    "Qwen3-32B (thinking)": _swe_agent("local-Qwen3-32B_thinking", "-t_0.8", "-collect_reasoning.0-verified-500"),
    CODER: _swe_agent("local-Qwen3-Coder_480B_A35B_Instruct_FP8", "-t_0.8"),
    "Gemini 2.5 Flash": _swe_agent("gemini_2.5_flash-agent-t_0.8"),
    "Gemini 2.5 Flash (thinking)": _swe_agent("gemini_2.5_flash_thinking-agent-t_0.8"),
    OPENHANDS: {
        RAW: f"{_GEMINI}raw_agent-verified_50-run_1",
        **{
            f"{MASKING}, M = {m}" if m > 10 else MASKING: f"{_GEMINI}observation_masking-M_{m}-verified_50-{_MASKED}"
            for m in (10, 20, 29, 43, 50, 54, 58, 72, 86)
        },
        SUMMARY: f"{_GEMINI}llm_summary_N_21_M_10-verified_50-summarizer_for_eval-run_1",
    },
    OPENHANDS_500: {
        RAW: f"{_GEMINI}raw_agent-run_1",
        f"{MASKING}, M not named": f"{_GEMINI}observation_masking-{_MASKED}",
        f"{MASKING}, M = 72": f"{_GEMINI}observation_masking-M_72-{_MASKED}",
        SUMMARY: f"{_GEMINI}llm_summary_N_21_M_10-summarizer_for_eval-run_1",
    },
    FIFTY: {
        hybrid: "local-Qwen3-Coder_480B-agent-t_0.8-turn-summaries-t_0-"
        f"summary_N_{n}_M_10_obs_masking_M_10_combined.0-verified-50"
        for hybrid, n in ((HYBRID, 43), (NAIVE_HYBRID, 21))
    },
}
"""The name of each experiment, by model and strategy."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One instance under one strategy. The cost, in dollars, includes that of the summaries.

    `thinking`: thinking tokens per turn, if they were recorded.
    """

    solved: bool
    cost: float
    summaries: float
    turns: float
    thinking: float

    @property
    def cost_without_summaries(self) -> float:
        """The cost of the agent's own calls."""
        return self.cost - self.summaries


Runs = Mapping[str, Mapping[str, Outcome]]
"""By strategy and instance."""


def runs(path: Path) -> dict[str, Runs]:
    """The runs of each model. For the hybrid's 50 instances, the runs of the other strategies are repeated.

    Raises:
        UsageError: a column or an experiment is missing, an experiment is in no table, an instance occurs twice, or a
            value is invalid.
    """
    fix = "give the published table, unchanged"
    by_experiment: dict[str, dict[str, Outcome]] = {name: {} for of in EXPERIMENTS.values() for name in of.values()}
    found = {
        model: {strategy: by_experiment[name] for strategy, name in of.items()} for model, of in EXPERIMENTS.items()
    }
    for record in read_csv(path, COLUMNS):
        experiment, instance = record.name("experiment"), record.name("instance_id")
        if experiment not in by_experiment:
            raise UsageError(f"{record.place}: no table has the experiment {experiment}", fix)
        if instance in by_experiment[experiment]:
            raise UsageError(f"{record.place}: this instance is there twice", fix)
        by_experiment[experiment][instance] = _outcome(record)
    for model, strategy in ((model, strategy) for model, of in found.items() for strategy in of if not of[strategy]):
        raise UsageError(f"{path} has no rows of {model}, {strategy}", fix)
    fifty = found[FIFTY][HYBRID]
    repeated = {strategy: {name: run[name] for name in fifty if name in run} for strategy, run in found[CODER].items()}
    return {**found, FIFTY: {**repeated, **found[FIFTY]}}


def _outcome(record: Record) -> Outcome:
    """Make an outcome of a record. SWE-agent lists the cost of summaries separately, OpenHands within the cost."""
    summaries = record.number("summary_cost")
    apart = summaries if record.name("scaffold") == "sweagent" else 0
    turns, thinking = record.number("turn_count"), record.number("mean_reasoning_tokens")
    return Outcome(record.truth("outcome"), record.number("cost") + apart, summaries, turns, thinking)
