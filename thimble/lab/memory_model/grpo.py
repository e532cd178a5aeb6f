"""GRPO: a memory model learns which of its own summaries let the frozen agent act as recorded (CoMem, Eq. 4 and 9)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thimble.lab.memory_model.frozen_agent import FrozenAgent
from thimble.lab.memory_model.memory_steps import MemoryStep
from thimble.lab.training.base_model import load_base
from thimble.lab.training.fine_tune import FineTuning, has_ended, train_model

GROUP = 8
"""The summaries of one prompt that are compared."""
LENGTH_WEIGHT = 0.1
"""The share of its reward that the longest summary loses. Without it, a model learned to repeat itself."""
WINDOW = 20
"""Training stops if, in more than half of the last WINDOW groups, all summaries of a group have the same reward."""


def train_grpo(base: Path, prompts: Mapping[str, MemoryStep], agent: FrozenAgent, out: Path, how: FineTuning) -> Path:
    """Train the model, write it to the folder `out`, and return that. `prompts`: rendered prompts and their steps.

    Resumes from the newest checkpoint in `out`, and does nothing if the training is complete. The loss is Eq. 4 up to a
    constant: advantages are not divided by their deviation, or length alone would decide between equal summaries.

    Raises:
        UsageError: a package is missing, there is no such model, or there are no prompts.
        ModelError: the agent does not answer.
    """
    if has_ended(out):
        return out
    return train_model(
        "GRPO",
        load_base(base),
        [{"prompt": text} for text in prompts],
        out,
        how,
        {"reward_funcs": SummaryRewards(prompts, agent).rewards},
        gradient_accumulation_steps=GROUP,
        num_generations=GROUP,
        max_completion_length=agent.task.most_tokens,
        loss_type="dr_grpo",
        scale_rewards="none",
        beta=0.0,
    )


@dataclass
class SummaryRewards:
    """The rewards of summaries; a truncated one earns 0.

    `flat`: whether all summaries of a group earned the same, before the length penalty.
    """

    prompts: Mapping[str, MemoryStep]
    agent: FrozenAgent
    flat: deque[bool] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def rewards(
        self,
        prompts: Sequence[str],
        completions: Sequence[str],
        completion_ids: Sequence[Sequence[int]],
        trainer_state: Any,
        **rest: Any,
    ) -> list[float]:
        """The rewards of whole groups, for trl. If most groups are flat, training ends with this step."""
        most = self.agent.task.most_tokens
        alike = [
            self.agent.reward(self.prompts[prompt], text) if len(tokens) < most else 0.0
            for prompt, text, tokens in zip(prompts, completions, completion_ids, strict=True)
        ]
        self.flat.extend(len({*alike[at : at + GROUP]}) == 1 for at in range(0, len(alike), GROUP))
        if len(self.flat) == WINDOW and sum(self.flat) > WINDOW / 2:
            trainer_state.max_steps = trainer_state.global_step
        return [
            reward * (1 - LENGTH_WEIGHT * len(tokens) / most)
            for reward, tokens in zip(alike, completion_ids, strict=True)
        ]
