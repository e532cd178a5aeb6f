"""GRPO: a memory model learns which of its own summaries let the frozen agent act as recorded (CoMem, Eq. 4 and 9)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thimble.agent.errors import UsageError
from thimble.lab.memory_model.frozen_agent import FrozenAgent
from thimble.lab.memory_model.memory_steps import MemoryStep
from thimble.lab.training.base_model import load_base
from thimble.lab.training.fine_tune import FineTuning, adapter, finish, train, trainer_flags

GROUP = 8
"""Summaries of one prompt that are compared."""
LENGTH_WEIGHT = 0.1
"""Share of its reward that the longest summary loses. Without it, a model earned more by repeating itself."""
WINDOW = 20
"""The training stops when more than half of so many groups in a row have summaries that all earn the same."""


def grpo(base: Path, prompts: Mapping[str, MemoryStep], agent: FrozenAgent, out: Path, how: FineTuning) -> Path:
    """Train the model, write its folder to `out`, and return that. `prompts`: the step of each, as the model reads it.

    It goes on from the newest checkpoint in `out`, and does nothing where the training has ended before.

    Raises:
        UsageError: a package is missing, there is no such model, or no prompt is short enough.
        ModelError: the agent cannot be asked.
    """
    if (out / "config.json").exists():
        return out
    model = load_base(base)
    import torch
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    room = how.longest - agent.task.most_tokens
    short = [text for text in prompts if len(model.tokenizer(text)["input_ids"]) <= room]
    if not short:
        raise UsageError(f"no prompt has at most {room} tokens", "allow longer ones, or give more runs")
    earned = Earned(prompts, agent, model.tokenizer.eos_token_id)
    at_once = GROUP if torch.cuda.is_available() else 1
    asked = GRPOConfig(
        per_device_train_batch_size=at_once,
        gradient_accumulation_steps=GROUP * how.batch // at_once,
        num_generations=GROUP,
        max_completion_length=agent.task.most_tokens,
        learning_rate=how.rate,
        beta=0.0,
        **trainer_flags(out, how),
    )
    trainer = GRPOTrainer(
        model.network,
        earned.rewards,
        asked,
        train_dataset=Dataset.from_dict({"prompt": short}),
        processing_class=model.tokenizer,
        peft_config=adapter(how.rank) if how.rank else None,
    )
    earned.stop = lambda: setattr(trainer.control, "should_training_stop", True)
    train(trainer, out)
    finish(trainer.model, model.tokenizer, out)
    return out


@dataclass
class Earned:
    """What summaries earn. `end` is the token that ends one: one that is cut earns 0 (trl counts it as any other)."""

    prompts: Mapping[str, MemoryStep]
    agent: FrozenAgent
    end: int
    stop: Callable[[], None] = lambda: None
    flat: deque[bool] = field(default_factory=lambda: deque(maxlen=WINDOW))
    """Whether all summaries of a group earned the same, before their length counted."""

    def rewards(
        self, prompts: Sequence[str], completions: Sequence[str], completion_ids: Sequence[Sequence[int]], **rest: Any
    ) -> list[float]:
        """As trl asks for it: those of one or more groups."""
        found = [self._reward(*one) for one in zip(prompts, completions, completion_ids, strict=True)]
        for at in range(0, len(found), GROUP):
            self.flat.append(len({round(alike, 6) for alike, _ in found[at : at + GROUP]}) == 1)
        if len(self.flat) == WINDOW and sum(self.flat) > WINDOW / 2:
            self.stop()
        return [reward for _, reward in found]

    def _reward(self, prompt: str, text: str, tokens: Sequence[int]) -> tuple[float, float]:
        """Eq. 9, and the same with the penalty for its length."""
        whole = bool(tokens) and tokens[-1] == self.end
        alike = self.agent.reward(self.prompts[prompt], text) if whole else 0.0
        return alike, alike * (1 - LENGTH_WEIGHT * len(tokens) / self.agent.task.most_tokens)
