"""The model as one file for llama.cpp: what stands in the folder of the weights, under the names that GGUF has for it.

python -m tests.servers.tiny.gguf_file OUT.gguf
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from gguf import GGMLQuantizationType, GGUFWriter, TokenType
from safetensors.numpy import load_file

from tests.servers.tiny.template import FOLDER

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
    writer = GGUFWriter(out, "qwen2")
    _sizes(writer, _json(folder, "config.json"))
    _vocabulary(writer, _json(folder, "tokenizer.json"), _json(folder, "tokenizer_config.json"))
    for name, tensor in load_file(folder / "model.safetensors").items():
        writer.add_tensor(named(name), tensor if tensor.ndim == 2 else tensor.astype("float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def named(name: str) -> str:
    """What a tensor of Qwen2ForCausalLM is called in a GGUF file."""
    if name in OUTSIDE:
        return OUTSIDE[name]
    _, _, layer, part = name.split(".", 3)
    part, _, kind = part.rpartition(".")
    return f"blk.{layer}.{NAMES[part]}.{kind}"


def _sizes(writer: Any, config: dict[str, Any]) -> None:
    writer.add_name("qwen2-tiny")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_file_type(int(GGMLQuantizationType.F16))
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])


def _vocabulary(writer: Any, tokenizer: dict[str, Any], described: dict[str, Any]) -> None:
    tokens = dict(sorted((number, token) for token, number in tokenizer["model"]["vocab"].items()))
    kinds = {number: TokenType.NORMAL for number in tokens}
    for added in tokenizer["added_tokens"]:
        tokens[added["id"]] = added["content"]
        kinds[added["id"]] = TokenType.CONTROL if added["special"] else TokenType.USER_DEFINED
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([tokens[number] for number in range(len(tokens))])
    writer.add_token_types([kinds[number] for number in range(len(tokens))])
    writer.add_token_merges([" ".join(merge) for merge in tokenizer["model"]["merges"]])
    writer.add_add_bos_token(False)
    writer.add_chat_template(described["chat_template"])


def _json(folder: Path, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / name).read_text("utf-8"))
    return content


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]) if sys.argv[2:] else FOLDER)
