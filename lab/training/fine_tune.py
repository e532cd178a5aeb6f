"""Supervised fine-tuning: a model learns to complete prompts. What it is given counts for nothing in the loss."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thimble.agent.errors import UsageError
from thimble.lab.training.base_model import BaseModel, load_base
from thimble.lab.training.curve import write_curve

CHECKPOINTS = "checkpoints"
CURVE = "curve.svg"
ADAPTER = "adapter"
"""The folder of the weights of LoRA, beside the whole model."""


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt as the model reads it, special tokens included, and what it should write."""

    prompt: str
    completion: str


@dataclass(frozen=True, slots=True)
class FineTuning:
    """How a model is fine-tuned.

    Attributes:
        steps: Steps of the optimiser.
        batch: Examples of a step.
        rate: The learning rate at the start; it falls in a line to 0.
        longest: Tokens of an example; longer ones are left out.
        rank: That of LoRA on all linear layers; 0 trains all weights.
        save_every: Steps between two checkpoints.
        seed: Of the order of the examples, and of LoRA.
    """

    steps: int = 200
    batch: int = 4
    rate: float = 2e-4
    longest: int = 1024
    rank: int = 0
    save_every: int = 25
    seed: int = 0


def fine_tune(base: Path, examples: Sequence[Example], out: Path, how: FineTuning | None = None) -> Path:
    """Fine-tune the model, write its folder to `out`, and return that.

    It goes on from the newest checkpoint in `out`, and does nothing where the training has ended before.

    Raises:
        UsageError: a package is missing, there is no such model, or no example is short enough.
    """
    how = how or FineTuning()
    if (out / "config.json").exists():
        return out
    model = load_base(base)
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    rows = [row for row in (_row(model.tokenizer, one) for one in examples) if len(row["input_ids"]) <= how.longest]
    if len(rows) < len(examples):
        print(f"left out {len(examples) - len(rows)} examples of more than {how.longest} tokens", file=sys.stderr)
    if not rows:
        raise UsageError(f"no example has at most {how.longest} tokens", "allow longer ones, or give more examples")
    asked = SFTConfig(
        per_device_train_batch_size=1,
        gradient_accumulation_steps=how.batch,
        learning_rate=how.rate,
        max_length=None,
        **trainer_flags(out, how),
    )
    lora = adapter(how.rank) if how.rank else None
    trainer = SFTTrainer(
        model.network, asked, train_dataset=Dataset.from_list(rows), processing_class=model.tokenizer, peft_config=lora
    )
    train(trainer, out)
    finish(trainer.model, model.tokenizer, out)
    return out


def _row(tokenizer: Any, one: Example) -> dict[str, list[int]]:
    """The tokens of an example, and which of them are to be learnt: its completion and the end of the reply."""
    given = tokenizer(one.prompt, add_special_tokens=False)["input_ids"]
    learnt = [*tokenizer(one.completion, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    return {"input_ids": given + learnt, "completion_mask": [0] * len(given) + [1] * len(learnt)}


def trainer_flags(out: Path, how: FineTuning) -> dict[str, Any]:
    """What every trainer is told: one device, checkpoints in `out`, nothing sent anywhere."""
    import torch

    gpu = torch.cuda.is_available()
    return {
        "output_dir": str(out / CHECKPOINTS),
        "max_steps": how.steps,
        "save_steps": how.save_every,
        "save_total_limit": 1,
        "logging_steps": 1,
        "seed": how.seed,
        "use_cpu": not gpu,
        "bf16": gpu,
        "report_to": "none",
    }


def adapter(rank: int) -> Any:
    """LoRA on all linear layers."""
    from peft import LoraConfig

    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")


def train(trainer: Any, out: Path) -> None:
    """Train to the end, from the newest checkpoint if there is one, and draw the curve. It shows how far it is."""
    from transformers.trainer_utils import get_last_checkpoint

    folder = out / CHECKPOINTS
    with redirect_stdout(sys.stderr):
        trainer.train(resume_from_checkpoint=get_last_checkpoint(folder) if folder.is_dir() else None)
    out.mkdir(parents=True, exist_ok=True)
    write_curve(out / CURVE, trainer.state.log_history)


def finish(network: Any, tokenizer: Any, out: Path) -> None:
    """Write the trained model; with LoRA its weights alone as well, in a folder `adapter`."""
    if hasattr(network, "merge_and_unload"):
        network.save_pretrained(out / ADAPTER)
        network = network.merge_and_unload()
    BaseModel(network, tokenizer).save(out)
