"""Writes GGUF files, sound ones and others: fields and tensors in a row, as llama.cpp reads them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

Field = str | bool | int | float | Sequence[str] | Sequence[int]
ALIGNED = 32
STRING, ARRAY, UINT32, INT32, FLOAT32, BOOL = 8, 9, 4, 5, 6, 7
TYPES = {np.dtype(np.float32): 0, np.dtype(np.float16): 1}
VERSION = 3
NORMAL, CONTROL, USER_DEFINED = 1, 3, 4
"""Types of tokens."""


def write(out: Path, fields: Mapping[str, Field], tensors: Mapping[str, np.ndarray] | None = None) -> None:
    """Write a file; an array of numbers is one of 32 bits."""
    out.write_bytes(
        header(fields, tensors or {}) + b"".join(_aligned(data.tobytes()) for data in (tensors or {}).values())
    )


def header(fields: Mapping[str, Field], tensors: Mapping[str, np.ndarray]) -> bytes:
    """All that comes before the weights, up to the border where they begin."""
    parts = [b"GGUF", struct.pack("<IQQ", VERSION, len(tensors), len(fields))]
    parts += [_text(name) + value(field) for name, field in fields.items()]
    at = 0
    for name, tensor in tensors.items():
        parts += [_text(name), struct.pack(f"<I{tensor.ndim}Q", tensor.ndim, *reversed(tensor.shape))]
        parts += [struct.pack("<IQ", TYPES[tensor.dtype], at)]
        at += len(_aligned(tensor.tobytes()))
    return _aligned(b"".join(parts))


def value(field: Field) -> bytes:
    """A value with its kind before it."""
    match field:
        case bool():
            return struct.pack("<I?", BOOL, field)
        case int():
            return struct.pack("<II", UINT32, field)
        case float():
            return struct.pack("<If", FLOAT32, field)
        case str():
            return struct.pack("<I", STRING) + _text(field)
    if field and isinstance(field[0], str):
        return struct.pack("<IIQ", ARRAY, STRING, len(field)) + b"".join(map(_text, map(str, field)))
    return struct.pack(f"<IIQ{len(field)}i", ARRAY, INT32, len(field), *field)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _aligned(data: bytes) -> bytes:
    return data + bytes(-len(data) % ALIGNED)
