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
from thimble.lab.training.fine_tune import FineTuning, ended, train

GROUP = 8
"""Summaries of one prompt that are compared."""
LENGTH_WEIGHT = 0.1
"""Share of its reward that the longest summary loses. Without it, a model earned more by repeating itself."""
WINDOW = 20
"""The training stops when in more than half of so many groups in a row all summaries earn the same."""


def grpo(base: Path, prompts: Mapping[str, MemoryStep], agent: FrozenAgent, out: Path, how: FineTuning) -> Path:
    """Train the model, write its folder to `out`, and return that. `prompts`: the step of each, as the model reads it.

    It goes on from the newest checkpoint in `out`, and does nothing where the training has ended before. The loss is
    Eq. 4 but for a constant: advantages are not divided by their deviation, which would let length alone decide where
    summaries are equal.

    Raises:
        UsageError: a package is missing, there is no such model, or there are no prompts.
        ModelError: the agent cannot be asked.
    """
    if ended(out):
        return out
    return train(
        "GRPO",
        load_base(base),
        [{"prompt": text} for text in prompts],
        out,
        how,
        {"reward_funcs": Earned(prompts, agent).rewards},
        gradient_accumulation_steps=GROUP,
        num_generations=GROUP,
        max_completion_length=agent.task.most_tokens,
        loss_type="dr_grpo",
        scale_rewards="none",
        beta=0.0,
    )


@dataclass
class Earned:
    """What summaries earn; one that is cut earns 0.

    `flat`: whether all summaries of a group earned the same, before their length counted.
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
        """Those of whole groups, as trl asks for them. The training ends with this step where most groups are flat."""
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
