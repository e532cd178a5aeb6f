"""Write trained weights as a GGUF file for llama.cpp and Ollama; the rest is copied from the base model's file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thimble.agent.errors import UsageError

INTERLEAVED = {"llama": True, "qwen2": False, "qwen3": False}
"""By architecture, whether llama.cpp orders the rotary halves of queries and keys differently from transformers."""
CONSTANTS = {"rope_freqs.weight"}
"""Tensors of Llama 3 that training does not change and transformers does not have."""
CONVERTER = "llama.cpp's convert_hf_to_gguf.py writes other models"
HALF_PRECISION = 1
"""The `general.file_type` of a file with 16-bit matrices."""


def write_gguf(folder: Path, base: Path, out: Path) -> None:
    """Convert the model of a folder: matrices in half precision, the rest in single.

    Args:
        folder: The Hugging Face folder of the trained model.
        base: The GGUF file of its base model, whose sizes, vocabulary and chat template are copied.
        out: The file to write.

    Raises:
        UsageError: the architecture is not one of `INTERLEAVED`, or the folder lacks a tensor of the base model.
    """
    from gguf import MODEL_ARCH_NAMES, GGUFReader, GGUFWriter, get_tensor_name_map

    from thimble.lab.training.base_model import load_base

    copied, kind, part = GGUFReader(base), architecture(base), out.with_suffix(".part")
    writer = GGUFWriter(part, kind)
    writer.add_file_type(HALF_PRECISION)
    for name, field in copied.fields.items():
        if not name.startswith(("GGUF.", "general.architecture", "general.file_type")) and field.contents() != []:
            inner = field.types[-1] if len(field.types) > 1 else None
            writer.add_key_value(name, field.contents(), field.types[0], inner)
    network = load_base(folder).network
    heads = {"q_proj": network.config.num_attention_heads, "k_proj": network.config.num_key_value_heads}
    key = next(key for key, value in MODEL_ARCH_NAMES.items() if value == kind)
    names = get_tensor_name_map(key, network.config.num_hidden_layers)
    wanted = {tensor.name: tensor for tensor in copied.tensors}
    for name, tensor in network.state_dict().items():
        called = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if wanted.pop(called, None):  # with tied embeddings, the output matrix is listed twice
            layer = name.split(".")[-2]
            numbers = tensor.float().numpy()
            numbers = _interleave_halves(numbers, heads[layer]) if INTERLEAVED[kind] and layer in heads else numbers
            writer.add_tensor(called, numbers.astype("float16") if numbers.ndim == 2 else numbers)
    for name in CONSTANTS & wanted.keys():
        writer.add_tensor(name, wanted.pop(name).data)
    if wanted:
        raise UsageError(f"{folder} lacks the tensors {', '.join(wanted)} of {base}", CONVERTER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    part.replace(out)


def architecture(base: Path) -> str:
    """The architecture of a GGUF file. Raises UsageError if it is not one of `INTERLEAVED`."""
    from gguf import GGUFReader

    kind = str(GGUFReader(base).fields["general.architecture"].contents())
    if kind not in INTERLEAVED:
        raise UsageError(f"{base} has the architecture {kind}, not one of {', '.join(INTERLEAVED)}", CONVERTER)
    return kind


def _interleave_halves(numbers: Any, heads: int) -> Any:
    """Interleave the rows of the two halves of each head, the order of llama.cpp's rotary embedding."""
    halves = numbers.reshape(heads, 2, numbers.shape[0] // heads // 2, *numbers.shape[1:])
    return halves.swapaxes(1, 2).reshape(numbers.shape)
