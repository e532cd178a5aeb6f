"""Load the base model of a training: a Hugging Face folder or a GGUF file."""

from __future__ import annotations

import os
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from thimble.agent.errors import UsageError

TRAIN_PACKAGES = ("torch", "transformers", "trl", "peft", "gguf")
TRAIN_INSTALL = "pip install 'thimble-agent[train]'"


class BaseModel(NamedTuple):
    """A causal language model of transformers, and its tokenizer."""

    network: Any
    tokenizer: Any


def check_packages() -> None:
    """Raise UsageError if a package is missing."""
    if missing := [name for name in TRAIN_PACKAGES if not find_spec(name)]:
        raise UsageError(f"training needs {', '.join(missing)}", TRAIN_INSTALL)


def load_base(path: Path) -> BaseModel:
    """Load the model in single precision. A CPU computes on one thread: two are slower.

    Raises:
        UsageError: a package is missing, or there is no such model.
    """
    check_packages()
    os.environ.setdefault("TQDM_DISABLE", "1")  # we print our own progress
    warnings.filterwarnings("ignore", module=r"(peft|torch|transformers|trl)\b")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, logging

    logging.set_verbosity_error()
    torch.set_num_threads(1)
    place = {"gguf_file": path.name} if path.is_file() else {}
    folder = path.parent if place else path
    try:
        network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True, **place)
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, **place)
    except (OSError, ValueError) as error:
        fix = "give a Hugging Face folder or a GGUF file"
        raise UsageError(f"transformers cannot load a model from {path}", fix) from error
    if place:  # the file may be quantized; the loaded network is not
        network.hf_quantizer, network.is_quantized = None, False
        del network.config.quantization_config
    return BaseModel(network, tokenizer)
