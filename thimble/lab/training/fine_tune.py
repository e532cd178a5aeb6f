"""Supervised fine-tuning: a model learns to complete prompts. Only completions count in the loss."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from thimble.agent.errors import UsageError
from thimble.lab.job_progress import progress
from thimble.lab.training.base_model import BaseModel, load_base
from thimble.lab.training.curve import write_curve

ADAPTER, CURVE = "adapter", "curve.svg"
"""The folder of the LoRA weights, beside the merged model; and the picture, which is written last."""
LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""The linear layers of a block, as Llama and Qwen name them."""


@dataclass(frozen=True, slots=True)
class Example:
    """A rendered prompt, special tokens included, and the completion to learn.

    `then`: the following turns of the same conversation, learnt in the same step.
    """

    prompt: str
    completion: str
    then: Sequence[Example] = ()


@dataclass(frozen=True, slots=True)
class FineTuning:
    """The settings of a training.

    Attributes:
        steps: Steps of the optimiser, with one example each.
        rate: The initial learning rate; it decays linearly to 0.
        longest: The maximum tokens of an example; longer ones are left out.
        rank: The rank of LoRA on all linear layers; 0 trains all weights.
        lowest: The lowest block that LoRA changes; the blocks below need no gradients.
        save_every: Steps between two checkpoints.
    """

    steps: int = 200
    rate: float = 2e-4
    longest: int = 1024
    rank: int = 0
    lowest: int = 0
    save_every: int = 25


def has_ended(out: Path) -> bool:
    """Whether the training in this folder is complete."""
    return (out / CURVE).exists()


def fine_tune(base: Path, examples: Sequence[Example], out: Path, how: FineTuning) -> Path:
    """Fine-tune the model, write it to the folder `out`, and return that.

    Resumes from the newest checkpoint in `out`, and does nothing if the training is complete.

    Raises:
        UsageError: a package is missing, there is no such model, or no example is short enough.
    """
    if has_ended(out):
        return out
    model = load_base(base)
    rows = [row for row in (_row(model.tokenizer, one) for one in examples) if len(row["input_ids"]) <= how.longest]
    if len(rows) < len(examples):
        print(f"left out {len(examples) - len(rows)} examples of more than {how.longest} tokens", file=sys.stderr)
    return train_model("SFT", model, rows, out, how, max_length=None, completion_only_loss=True)


def _row(tokenizer: Any, one: Example) -> dict[str, list[int]]:
    """The tokens of an example, and a mask of those to learn: each completion and the end of the reply."""
    row: dict[str, list[int]] = {"input_ids": [], "completion_mask": []}
    for each in (one, *one.then):
        given = tokenizer(each.prompt, add_special_tokens=each is one)["input_ids"]
        learnt = [*tokenizer(each.completion, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
        row["input_ids"] += given + learnt
        row["completion_mask"] += [0] * len(given) + [1] * len(learnt)
    return row


def train_model(
    kind: Literal["SFT", "GRPO"],
    model: BaseModel,
    rows: Sequence[Mapping[str, Any]],
    out: Path,
    how: FineTuning,
    parts: Mapping[str, Any] | None = None,
    **flags: Any,
) -> Path:
    """Train with a trainer of trl, on one device, with progress on standard error and without telemetry.

    Writes the model to the folder `out`, with LoRA also the adapter alone (`adapter`), and a picture of the curve.

    Args:
        kind: The trainer.
        model: The model to train.
        rows: The data.
        out: The folder. An interrupted training resumes from its newest checkpoint there.
        how: The settings.
        parts: More arguments of the trainer.
        flags: More arguments of its config.

    Raises:
        UsageError: there are no data, or LoRA would change no block.
    """
    if not rows:
        raise UsageError(f"no example has at most {how.longest} tokens", "allow more (--longest), or give more runs")
    import torch
    import trl
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import PrinterCallback, TrainerCallback

    gpu, checkpoints, blocks = torch.cuda.is_available(), out / "checkpoints", model.network.config.num_hidden_layers
    if how.rank and how.lowest >= blocks:
        raise UsageError(f"the model only has the blocks 0 to {blocks - 1}", f"give a --lowest below {blocks}")
    lora = (
        LoraConfig(
            r=how.rank,
            lora_alpha=2 * how.rank,
            target_modules=[*LINEAR],
            layers_to_transform=[*range(how.lowest, blocks)],
            task_type="CAUSAL_LM",
        )
        if how.rank
        else None
    )
    asked = getattr(trl, f"{kind}Config")(
        output_dir=str(checkpoints),
        max_steps=how.steps,
        learning_rate=how.rate,
        save_steps=how.save_every,
        save_total_limit=1,
        logging_steps=1,
        seed=0,
        use_cpu=not gpu,
        bf16=gpu,
        gradient_checkpointing=gpu,  # without it a step is a third faster and takes more memory
        report_to="none",
        disable_tqdm=True,
        **{"per_device_train_batch_size": 1, **flags},
    )
    trainer = getattr(trl, f"{kind}Trainer")(
        model.network,
        args=asked,
        train_dataset=Dataset.from_list(rows),
        processing_class=model.tokenizer,
        peft_config=lora,
        **(parts or {}),
    )
    trainer.remove_callback(PrinterCallback)
    whole = {
        int(state.parent.name.rpartition("-")[2]): state.parent for state in checkpoints.glob("*/trainer_state.json")
    }
    newest = max(whole, default=0)
    left = how.steps - newest
    told = TrainerCallback()
    with redirect_stdout(sys.stderr), progress(f"{kind} steps:", left, left) as advance:
        told.on_step_end = lambda *_, **__: advance(1)
        trainer.add_callback(told)
        trainer.train(resume_from_checkpoint=str(whole[newest]) if newest else None)
    network = trainer.model
    if lora:
        network.save_pretrained(out / ADAPTER)
        network = network.merge_and_unload()
    model.tokenizer.save_pretrained(out)
    network.save_pretrained(out)
    write_curve(out / CURVE, trainer.state.log_history)
    return out
