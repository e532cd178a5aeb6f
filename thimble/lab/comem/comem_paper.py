"""The latencies printed in the CoMem paper: Table 1, and those of Figure 5 that the text gives as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from thimble.lab.comem.hosts import A100, GLM_4_7, H200, QWEN3_32B, QWEN3_CODER, Gpu, Model
from thimble.lab.comem.pipeline import Strategy


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A row of Table 1: mean calls, and seconds for 128 issues without and with CPU offload; None: not printed."""

    memory: str
    strategy: Strategy
    calls: float
    printed: tuple[float | None, float | None] = (None, None)


@dataclass(frozen=True, slots=True)
class PaperAgent:
    """An agent of Table 1: model, GPU, the k of its pipeline, and rows, of which the first has the full context."""

    model: Model
    gpu: Gpu
    k: int
    rows: Sequence[PaperRow]


def _agent(model: Model, gpu: Gpu, k: int, *rows: PaperRow) -> PaperAgent:
    """An agent with one row that the paper lacks: the last row's calls, each waiting for its summary."""
    return PaperAgent(model, gpu, k, [*rows, PaperRow("awaited at once", "synchronous", rows[-1].calls)])


PAPER_TABLE = (
    _agent(
        QWEN3_32B, A100, 2,
        PaperRow("Full-Context", "full context", 34.39, (9457.78, 6390.62)),
        PaperRow("Qwen3-4B (base)", "k-step-off", 24.74, (4360.72, 3649.61)),
        PaperRow("Qwen3-4B (SFT)", "k-step-off", 35.61, (5232.64, 4168.85)),
        PaperRow("GRPO", "k-step-off", 40.69, (5622.33, 4400.89)),
    ),
    _agent(
        QWEN3_CODER, H200, 2,
        PaperRow("Full-Context", "full context", 36.68, (6291.11, 5129.90)),
        PaperRow("No Summary", "no summary", 25.20, (3780.74, 3421.78)),
        PaperRow("Qwen3-4B (base)", "k-step-off", 39.40, (3421.63, 3138.97)),
        PaperRow("Qwen3-4B (SFT)", "k-step-off", 43.39, (3819.70, 3337.58)),
        PaperRow("GRPO", "k-step-off", 44.55, (3917.68, 3594.51)),
    ),
    _agent(
        GLM_4_7, H200, 4,
        PaperRow("Full-Context", "full context", 55.11, (6361.49, 5869.42)),
        PaperRow("No Summary", "no summary", 46.82, (4216.83, 3842.17)),
        PaperRow("Qwen3-4B (base)", "k-step-off", 49.32, (3928.44, 3526.91)),
        PaperRow("Qwen3-4B (SFT)", "k-step-off", 52.74, (4087.92, 3668.53)),
        PaperRow("GRPO", "k-step-off", 51.21, (3318.42, 2821.38)),
    ),
)  # fmt: skip
PAPER_BATCH = 128
"""The issues in a batch of Table 1."""


def _batch(*printed: float | None) -> list[PaperRow]:
    full, ours = PAPER_TABLE[-1].rows[0], PAPER_TABLE[-1].rows[4]
    return [replace(row, printed=(None, seconds)) for row, seconds in zip((full, ours), printed, strict=True)]


FIGURE_5: Mapping[int, Sequence[PaperRow]] = {
    32: _batch(1206.60, None),
    64: _batch(None, None),
    128: _batch(5869.42, 2821.38),
    256: _batch(9684.24, 9684.24 / 2.52),
}
"""GLM-4.7 by batch size: Full-Context and GRPO, in seconds. 128 is from Table 1 with CPU offload: the same speedup."""
