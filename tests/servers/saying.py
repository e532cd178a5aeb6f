"""A model for llama-server that says one text, whatever it is asked: `python -m tests.servers.saying OUT TEXT`.

llama-server takes no grammar beside tools, so this is how it is brought to stream two calls, or a broken one. Its one
layer is zeros, so that the last token alone chooses the next. The text is cut into pieces that all differ, each a token
with the one after it as its successor; every other token is followed by the first.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from tests.servers.tiny import template
from tests.support import gguf_writer

WIDTH = 128
"""One more than the pieces that a text may have."""
CERTAIN = 10.0

PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
OTHERS = [byte for byte in range(256) if byte not in PRINTABLE]
FATE_LETTERS = {byte: chr(byte) for byte in PRINTABLE} | {byte: chr(256 + n) for n, byte in enumerate(OTHERS)}
"""The characters that stand for bytes in a byte-level vocabulary, as GPT-2 chose them."""


def pieces(text: str) -> list[str]:
    """The text in pieces of two characters or more, all different."""
    cut: list[str] = []
    while text:
        length = next((n for n in range(2, len(text)) if text[:n] not in cut), len(text))
        cut.append(text[:length])
        text = text[length:]
    while len(cut) > 1 and (len(cut[-1]) < 2 or cut[-1] in cut[:-1]):
        cut[-2:] = ["".join(cut[-2:])]
    return cut


def write(out: Path, text: str, ends: bool = True) -> None:
    """Write the model as a GGUF file. One that does not end says the text again and again."""
    said = pieces(text)
    tokens = ["<|im_end|>", "<|im_start|>", *FATE_LETTERS.values()]
    first, end = len(tokens), 0
    tokens += ("".join(FATE_LETTERS[byte] for byte in piece.encode()) for piece in said)
    leads_to = np.zeros(len(tokens), dtype=int)
    leads_to[first:] = range(1, len(said) + 1)
    if not ends:
        leads_to[-1] = 0
    embedding = np.eye(WIDTH, dtype=np.float32)[leads_to]
    output = np.zeros_like(embedding)
    output[[*range(first, len(tokens)), end], range(len(said) + 1)] = CERTAIN

    tensors = {"token_embd.weight": embedding, "output.weight": output, **_layer()}
    gguf_writer.write(out, {**SHAPE, **_vocabulary(tokens, end)}, tensors)


SHAPE: dict[str, gguf_writer.Field] = {
    "general.architecture": "qwen2",
    "general.file_type": 0,
    "qwen2.context_length": 8192,
    "qwen2.embedding_length": WIDTH,
    "qwen2.block_count": 1,
    "qwen2.feed_forward_length": WIDTH,
    "qwen2.attention.head_count": 1,
    "qwen2.attention.head_count_kv": 1,
    "qwen2.attention.layer_norm_rms_epsilon": 1e-6,
    "qwen2.rope.freq_base": 1e6,
}


def _vocabulary(tokens: list[str], end: int) -> dict[str, gguf_writer.Field]:
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [gguf_writer.CONTROL] * 2 + [gguf_writer.NORMAL] * (len(tokens) - 2),
        "tokenizer.ggml.merges": [f"{FATE_LETTERS[254]} {FATE_LETTERS[255]}"],  # there must be one
        "tokenizer.ggml.eos_token_id": end,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": template(),
    }


def _layer() -> dict[str, np.ndarray]:
    """A layer that adds nothing."""
    matrices = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    layer = {f"blk.0.{name}.weight": np.zeros((WIDTH, WIDTH), np.float32) for name in matrices}
    layer |= {f"blk.0.{name}.bias": np.zeros(WIDTH, np.float32) for name in ("attn_q", "attn_k", "attn_v")}
    norms = ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm")
    return layer | {f"{name}.weight": np.ones(WIDTH, np.float32) for name in norms}


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2])
