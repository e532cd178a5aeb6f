"""The printed tables: Tables 1 to 5 and the turns of section 4.4 of The Complexity Trap, and the page on the hybrid.

The Complexity Trap: Lindenbauer, Slinko, Felder, Bogomolov, Zharov (2025). The hybrid page repeats its Table 1 and adds
a row; a third page, on summaries, repeats three rows of Table 2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

RAW, MASKING, SUMMARY = "Raw Agent", "Observation Masking", "LLM-Summary"
HYBRID, NAIVE_HYBRID = "Hybrid", "Hybrid, N = 21"
SOLVED, COST, COST_WITHOUT, TURNS = "solve rate, %", "cost, $", "cost without summaries, $", "turns"
MEDIAN, THINKING = "turns, median", "thinking tokens a turn"
AGAINST_RAW, AGAINST_MASKING = f"turns against {RAW}, %", f"turns against {MASKING}, %"
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Table:
    """A printed table. `rows`: a line for each model and strategy, with a cell, possibly empty, for each column."""

    title: str
    columns: tuple[str, ...]
    rows: str

    def cells(self) -> Mapping[tuple[str, str, str], str]:
        """The printed cells, by model, strategy and column."""
        lines = [[part.strip() for part in line.split("|")] for line in self.rows.strip().splitlines()]
        return {
            (model, strategy, column): cell
            for model, strategy, *cells in lines
            for column, cell in zip(self.columns, cells, strict=True)
            if cell
        }


def half_unit(printed: str) -> float:
    """Half a unit of the last decimal of a printed number."""
    return 0.5 * 0.1 ** len(printed.partition(".")[2])


TABLES: Mapping[str, Table] = {
    "1": Table(
        "Solve rate and cost with half the width of the 95 % interval, change against Raw Agent, † p < 0.05",
        (SOLVED, COST),
        """
        Qwen3-32B                   | Raw Agent           | 17.0 ± 3.3            | 1.12 ± 0.18
        Qwen3-32B                   | Observation Masking | 15.0 ± 3.1 (-11.8%)   | 0.55 ± 0.09 (-50.9%) †
        Qwen3-32B                   | LLM-Summary         | 16.0 ± 3.3 (-5.9%)    | 0.50 ± 0.07 (-55.4%) †
        Qwen3-32B (thinking)        | Raw Agent           | 23.0 ± 3.7            | 0.51 ± 0.07
        Qwen3-32B (thinking)        | Observation Masking | 24.6 ± 3.8 (+7.0%)    | 0.46 ± 0.05 (-9.8%)
        Qwen3-32B (thinking)        | LLM-Summary         | 24.8 ± 3.9 (+7.3%)    | 0.51 ± 0.06 (0.0%)
        Qwen3-Coder 480B            | Raw Agent           | 53.4 ± 4.3            | 1.29 ± 0.26
        Qwen3-Coder 480B            | Observation Masking | 54.8 ± 4.4 (+2.6%)    | 0.61 ± 0.06 (-52.7%) †
        Qwen3-Coder 480B            | LLM-Summary         | 53.8 ± 4.2 (+0.7%)    | 0.64 ± 0.06 (-50.4%) †
        Gemini 2.5 Flash            | Raw Agent           | 32.8 ± 4.1            | 0.41 ± 0.08
        Gemini 2.5 Flash            | Observation Masking | 35.6 ± 4.2 (+8.5%)    | 0.18 ± 0.03 (-56.1%) †
        Gemini 2.5 Flash            | LLM-Summary         | 36.0 ± 4.1 (+9.8%)    | 0.24 ± 0.04 (-41.5%) †
        Gemini 2.5 Flash (thinking) | Raw Agent           | 40.4 ± 4.3            | 0.56 ± 0.10
        Gemini 2.5 Flash (thinking) | Observation Masking | 36.4 ± 4.2 (-9.9%) †  | 0.24 ± 0.04 (-57.1%) †
        Gemini 2.5 Flash (thinking) | LLM-Summary         | 31.4 ± 4.0 (-22.3%) † | 0.25 ± 0.05 (-55.4%) †
        """,
    ),
    "2": Table(
        "Cost of the summaries, and its share of the cost",
        ("summaries, $", "share, %"),
        """
        Qwen3-32B                   | LLM-Summary | 0.0143 | 2.86
        Qwen3-32B (thinking)        | LLM-Summary | 0.0033 | 0.65
        Qwen3-Coder 480B            | LLM-Summary | 0.0439 | 7.20
        Gemini 2.5 Flash            | LLM-Summary | 0.0161 | 6.71
        Gemini 2.5 Flash (thinking) | LLM-Summary | 0.0131 | 5.24
        """,
    ),
    "3": Table(
        "Solve rate and cost with the 95 % interval above and below, change against Raw Agent, † p < 0.05",
        (SOLVED, COST),
        """
        Qwen3-32B                   | Raw Agent           | 17.0 +3.4 -3.2            | 1.12 +0.18 -0.17
        Qwen3-32B                   | Observation Masking | 15.0 +3.2 -3.0 (-11.8%)   | 0.55 +0.09 -0.08 (-50.9%) †
        Qwen3-32B                   | LLM-Summary         | 16.0 +3.4 -3.2 (-5.9%)    | 0.50 +0.07 -0.06 (-55.4%) †
        Qwen3-32B (thinking)        | Raw Agent           | 23.0 +3.8 -3.6            | 0.51 +0.07 -0.06
        Qwen3-32B (thinking)        | Observation Masking | 24.6 +3.8 -3.8 (+7.0%)    | 0.46 +0.05 -0.05 (-9.8%)
        Qwen3-32B (thinking)        | LLM-Summary         | 24.8 +4.0 -3.8 (+7.3%)    | 0.51 +0.06 -0.06 (0.0%)
        Qwen3-Coder 480B            | Raw Agent           | 53.4 +4.4 -4.2            | 1.29 +0.28 -0.24
        Qwen3-Coder 480B            | Observation Masking | 54.8 +4.4 -4.4 (+2.6%)    | 0.61 +0.06 -0.05 (-52.7%) †
        Qwen3-Coder 480B            | LLM-Summary         | 53.8 +4.2 -4.2 (+0.7%)    | 0.64 +0.06 -0.05 (-50.4%) †
        Gemini 2.5 Flash            | Raw Agent           | 32.8 +4.2 -4.0            | 0.41 +0.08 -0.07
        Gemini 2.5 Flash            | Observation Masking | 35.6 +4.2 -4.2 (+8.5%)    | 0.18 +0.03 -0.02 (-56.1%) †
        Gemini 2.5 Flash            | LLM-Summary         | 36.0 +4.2 -4.0 (+9.8%)    | 0.24 +0.04 -0.04 (-41.5%) †
        Gemini 2.5 Flash (thinking) | Raw Agent           | 40.4 +4.2 -4.4            | 0.56 +0.10 -0.10
        Gemini 2.5 Flash (thinking) | Observation Masking | 36.4 +4.2 -4.2 (-9.9%) †  | 0.24 +0.04 -0.03 (-57.1%) †
        Gemini 2.5 Flash (thinking) | LLM-Summary         | 31.4 +4.0 -4.0 (-22.3%) † | 0.25 +0.05 -0.04 (-55.4%) †
        """,
    ),
    "4": Table(
        "Paired difference from Raw Agent with its 95 % interval, and p; † p < 0.05",
        ("Δ solve rate, points", "Δ cost, $"),
        """
    Gemini 2.5 Flash | Observation Masking | 2.8 [-0.8, 6.4] 0.1504 | -0.2377 [-0.3202, -0.1614] 0.0000 †
    Gemini 2.5 Flash | LLM-Summary | 3.2 [-0.4, 7.0] 0.0948 | -0.1725 [-0.2579, -0.0936] 0.0000 †
    Gemini 2.5 Flash (thinking) | Observation Masking | -4.0 [-7.8, -0.2] 0.0406 † | -0.3143 [-0.4096, -0.2245] 0.0000 †
    Gemini 2.5 Flash (thinking) | LLM-Summary | -9.0 [-13.0, -5.2] 0.0000 † | -0.3046 [-0.4074, -0.2043] 0.0000 †
    Qwen3-Coder 480B | Observation Masking | 1.4 [-1.6, 4.4] 0.3856 | -0.6762 [-0.9320, -0.4518] 0.0000 †
    Qwen3-Coder 480B | LLM-Summary | 0.4 [-3.0, 3.8] 0.8736 | -0.6491 [-0.9048, -0.4263] 0.0000 †
    Qwen3-32B | Observation Masking | -2.0 [-5.0, 1.0] 0.2086 | -0.5632 [-0.7479, -0.3817] 0.0000 †
    Qwen3-32B | LLM-Summary | -1.0 [-4.6, 2.6] 0.6192 | -0.6174 [-0.7904, -0.4454] 0.0000 †
    Qwen3-32B (thinking) | Observation Masking | 1.6 [-2.0, 5.2] 0.3980 | -0.0510 [-0.1255, 0.0187] 0.1586
    Qwen3-32B (thinking) | LLM-Summary | 1.8 [-1.8, 5.4] 0.3420 | -0.0021 [-0.0785, 0.0741] 0.9370
        """,
    ),
    "turns": Table(
        "Section 4.4: mean turns, and the change against Raw Agent and Observation Masking",
        (TURNS, AGAINST_RAW, AGAINST_MASKING),
        """
        Gemini 2.5 Flash | Raw Agent           | 50 |     |
        Gemini 2.5 Flash | Observation Masking | 44 |     |
        Gemini 2.5 Flash | LLM-Summary         | 52 | +4  | +15
        Qwen3-Coder 480B | LLM-Summary         |    | +15 | +13
        Qwen3-32B        | Observation Masking |    | +13 |
        """,
    ),
    "5": Table(
        "OpenHands, 50 instances: solve rate and cost, change against Raw Agent",
        (SOLVED, COST),
        """
        Gemini 2.5 Flash, OpenHands | Raw Agent           | 40.0          | 2.39
        Gemini 2.5 Flash, OpenHands | Observation Masking | 30.0 (-25.0%) | 1.14 (-52.3%)
        Gemini 2.5 Flash, OpenHands | LLM-Summary         | 42.0 (+5.0%)  | 1.22 (-49.0%)
        """,
    ),
    "hybrid": Table(
        "The page on the hybrid strategy: Qwen3-Coder 480B on 50 instances",
        (SOLVED, COST),
        """
        Qwen3-Coder 480B, 50 instances | Raw Agent           | 53.4 | 1.29
        Qwen3-Coder 480B, 50 instances | Observation Masking | 54.8 | 0.61
        Qwen3-Coder 480B, 50 instances | LLM-Summary         | 53.8 | 0.64
        Qwen3-Coder 480B, 50 instances | Hybrid              | 57.4 | 0.57
        """,
    ),
}
