"""The model as one file for llama.cpp: what stands in the folder of the weights, under the names that GGUF has for it.

python -m tests.servers.tiny.gguf_file OUT.gguf
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.servers.tiny import FOLDER
from tests.support import gguf_writer
from tests.support.gguf_writer import Field

NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
OUTSIDE = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}


def write(out: Path, folder: Path = FOLDER) -> None:
    """Write the file; matrices in half precision, the rest in single."""
    fields = _sizes(_json(folder, "config.json"))
    fields |= _vocabulary(_json(folder, "tokenizer.json"), _json(folder, "tokenizer_config.json"))
    tensors = {named(name): tensor for name, tensor in _weights(folder / "model.safetensors")}
    gguf_writer.write(out, fields, {name: t if t.ndim == 2 else t.astype(np.float32) for name, t in tensors.items()})


def _weights(file: Path) -> Iterator[tuple[str, np.ndarray]]:
    """The tensors of a file of half-precision numbers: the length of its header, the header as JSON, the numbers."""
    data = file.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    for name, told in json.loads(data[8:begin]).items():
        if name != "__metadata__":
            first, end = told["data_offsets"]
            yield name, np.frombuffer(data[begin + first : begin + end], np.float16).reshape(told["shape"])


def named(name: str) -> str:
    """What a tensor of Qwen2ForCausalLM is called in a GGUF file."""
    if name in OUTSIDE:
        return OUTSIDE[name]
    _, _, layer, part = name.split(".", 3)
    part, _, kind = part.rpartition(".")
    return f"blk.{layer}.{NAMES[part]}.{kind}"


def _sizes(config: dict[str, Any]) -> dict[str, Field]:
    return {
        "general.architecture": "qwen2",
        "general.name": "qwen2-tiny",
        "general.file_type": 1,
        "qwen2.context_length": config["max_position_embeddings"],
        "qwen2.embedding_length": config["hidden_size"],
        "qwen2.block_count": config["num_hidden_layers"],
        "qwen2.feed_forward_length": config["intermediate_size"],
        "qwen2.attention.head_count": config["num_attention_heads"],
        "qwen2.attention.head_count_kv": config["num_key_value_heads"],
        "qwen2.attention.layer_norm_rms_epsilon": float(config["rms_norm_eps"]),
        "qwen2.rope.freq_base": float(config["rope_theta"]),
        "tokenizer.ggml.eos_token_id": config["eos_token_id"],
        "tokenizer.ggml.padding_token_id": config["pad_token_id"],
    }


def _vocabulary(tokenizer: dict[str, Any], described: dict[str, Any]) -> dict[str, Field]:
    tokens = dict(sorted((number, token) for token, number in tokenizer["model"]["vocab"].items()))
    kinds = dict.fromkeys(tokens, gguf_writer.NORMAL)
    for added in tokenizer["added_tokens"]:
        tokens[added["id"]] = added["content"]
        kinds[added["id"]] = gguf_writer.CONTROL if added["special"] else gguf_writer.USER_DEFINED
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": [tokens[number] for number in range(len(tokens))],
        "tokenizer.ggml.token_type": [kinds[number] for number in range(len(tokens))],
        "tokenizer.ggml.merges": [" ".join(merge) for merge in tokenizer["model"]["merges"]],
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": described["chat_template"],
    }


def _json(folder: Path, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / name).read_text("utf-8"))
    return content


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]) if sys.argv[2:] else FOLDER)
