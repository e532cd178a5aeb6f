"""The header of a GGUF file: read by ourselves, before llama.cpp is given a file that may be cut short or hostile."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.errors import ModelError

HEADER_BYTES = 32_000_000
"""The longest header. That of a vocabulary of 260,000 tokens with its merges has 16 million."""
STRING, ARRAY = 8, 9
NUMBERS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
"""The kinds of number of a field, as `struct` writes them."""
ANEW = "get the file anew, or name another: --model FILE.gguf"


@dataclass(frozen=True, slots=True)
class Header:
    """What a session needs to know of a model's file.

    `context`: the tokens that it was trained for. `file_bytes`: its size. `token_bytes`: what a token of prompt or
    reply takes in the KV cache, at 16 bits a number; 0 where the file does not tell.
    """

    architecture: str
    context: int
    file_bytes: int
    token_bytes: int

    def memory_bytes(self, context: int) -> int:
        """The memory that it takes with room for so many tokens, about: the weights and the KV cache."""
        return self.file_bytes + self.token_bytes * context


def read_header(path: Path) -> Header:
    """The header of a model's file. At most 32 MB are read.

    Raises:
        ModelError: there is no such file, it is no GGUF file, a damaged one, or not of a model that can chat.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe or a device would be read for ever
            raise ValueError("it is no file")
        with path.open("rb") as file:
            return _header(_Reader(file.read(HEADER_BYTES)), path.stat().st_size)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}", ANEW) from error
    except ValueError as error:
        raise ModelError(f"{path.name} cannot be used: {error}", ANEW) from error
    except (struct.error, KeyError, OverflowError) as error:
        raise ModelError(f"{path.name} cannot be used: it is cut short, or its header is damaged", ANEW) from error


class _Reader:
    """Reads from the beginning of a header. Raises struct.error at its end, and KeyError for a kind that is unknown."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def numbers(self, code: str) -> tuple[Any, ...]:
        """The next numbers, of kinds that `struct` knows."""
        found = struct.unpack_from(f"<{code}", self._data, self.at)
        self.at += struct.calcsize(f"<{code}")
        return found

    def text(self) -> str:
        """The next string; cut, where the header ends in it."""
        (length,) = self.numbers("Q")
        self.at += length
        return self._data[self.at - length : self.at].decode(errors="replace")

    def value(self) -> Any:
        """The next value of a field; None for an array of strings."""
        (kind,) = self.numbers("I")
        if kind == STRING:
            return self.text()
        if kind != ARRAY:
            return self.numbers(NUMBERS[kind])[0]
        kind, count = self.numbers("IQ")
        if kind != STRING:
            return self.numbers(f"{count}{NUMBERS[kind]}")
        for _ in range(count):
            self.text()
        return None


def _header(reader: _Reader, size: int) -> Header:
    if reader.numbers("4s") != (b"GGUF",):
        raise ValueError("it is no GGUF file")
    version, tensors, fields = reader.numbers("IQQ")
    if version not in (2, 3):
        raise ValueError(f"its version of GGUF is {version}, not 2 or 3")
    known = {reader.text(): reader.value() for _ in range(fields)}
    begins = [0]
    for _ in range(tensors):
        reader.text()
        reader.numbers(f"{reader.numbers('I')[0]}Q")
        begins.append(reader.numbers("IQ")[1])
    if reader.at + max(begins) > size:
        raise ValueError(f"it is cut short: of its weights, {size:,} bytes are here")
    kind = known.get("general.architecture")

    def told(name: str) -> int:
        found = known.get(f"{kind}.{name}")
        return found if isinstance(found, int) else sum(found) if isinstance(found, tuple) else 0

    if told("context_length") <= 0:
        raise ValueError("it is no model that can chat")
    each = known.get(f"{kind}.attention.head_count_kv")
    heads = told("attention.head_count_kv") * (1 if isinstance(each, tuple) else told("block_count"))
    usual = told("embedding_length") // (told("attention.head_count") or 1)
    numbers = sum(told(f"attention.{name}_length") or usual for name in ("key", "value"))
    return Header(str(kind), told("context_length"), size, 2 * heads * numbers)
