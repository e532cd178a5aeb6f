"""The folder of the model, as vLLM and transformers load it: Qwen2ForCausalLM in half precision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from tests.servers.tiny.model import Model, Shape
from tests.servers.tiny.template import END, FOLDER, SOURCE


def save(model: Model, tokenizer: Any, folder: Path = FOLDER) -> None:
    """Write weights, sizes, tokenizer and chat template."""
    folder.mkdir(parents=True, exist_ok=True)
    end, pad = tokenizer.token_to_id(END), tokenizer.token_to_id("<|endoftext|>")
    tensors = {f"model.{name}": weight.detach().half().contiguous() for name, weight in model.named_parameters()}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    tokenizer.save(str(folder / "tokenizer.json"))
    ids = {"eos_token_id": end, "pad_token_id": pad}
    _write(folder / "config.json", {**_config(model.shape), **ids})
    _write(folder / "generation_config.json", {"do_sample": False, "eos_token_id": [end, pad], "pad_token_id": pad})
    described = {
        "tokenizer_class": "Qwen2TokenizerFast",
        "add_prefix_space": False,
        "bos_token": None,
        "eos_token": END,
        "pad_token": "<|endoftext|>",
        "unk_token": None,
        "model_max_length": model.shape.longest,
        "clean_up_tokenization_spaces": False,
        "chat_template": SOURCE,
    }
    _write(folder / "tokenizer_config.json", described)


def load(folder: Path = FOLDER) -> tuple[Model, Any]:
    """The model, in single precision, and its tokenizer."""
    from tokenizers import Tokenizer

    config = json.loads((folder / "config.json").read_text("utf-8"))
    shape = Shape(
        vocabulary=config["vocab_size"],
        width=config["hidden_size"],
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        inner=config["intermediate_size"],
        theta=config["rope_theta"],
        epsilon=config["rms_norm_eps"],
        longest=config["max_position_embeddings"],
    )
    model = Model(shape)
    tensors = load_file(folder / "model.safetensors")
    model.load_state_dict({name.removeprefix("model."): weight.float() for name, weight in tensors.items()})
    return model.eval(), Tokenizer.from_file(str(folder / "tokenizer.json"))


def _config(shape: Shape) -> dict[str, Any]:
    return {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.width,
        "intermediate_size": shape.inner,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads,
        "max_position_embeddings": shape.longest,
        "rope_theta": shape.theta,
        "rms_norm_eps": shape.epsilon,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "use_sliding_window": False,
        "torch_dtype": "float16",
    }


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
