"""The header of a GGUF file: read by ourselves, before llama.cpp is given a file that may be cut short or hostile."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

from agent.errors import ModelError

HEADER_BYTES = 64_000_000
"""What is read of a file at most. A vocabulary of 260,000 tokens with its merges takes 16 million."""
MOST_ENTRIES = 100_000
"""Fields or tensors of a file: a model with an expert a tensor has 40,000."""
LONGEST_KEPT = 4_096
"""Numbers of an array that is kept: one a layer. Of a vocabulary nothing is."""
STRING, ARRAY = 8, 9
NUMBERS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
"""The kinds of number of a field, as `struct` writes them."""
# fmt: off
BYTES_OF_256 = {
    0: 1024, 1: 512, 2: 144, 3: 160, 6: 176, 7: 192, 8: 272, 9: 288, 10: 84, 11: 110, 12: 144, 13: 176, 14: 210,
    15: 292, 16: 66, 17: 74, 18: 98, 19: 50, 20: 144, 21: 110, 22: 82, 23: 136, 24: 256, 25: 512, 26: 1024, 27: 2048,
    28: 2048, 29: 56, 30: 512, 34: 54, 35: 66, 39: 136, 40: 144,
}
# fmt: on
"""The bytes of 256 weights, by the number of their type; another type is left to llama.cpp."""
ANEW = "get the file anew, or name another: --model FILE.gguf"


@dataclass(frozen=True, slots=True)
class Header:
    """What a session needs to know of a model's file.

    `context`: the tokens that it was trained for. `file_bytes`: its size. `token_bytes`: what a token of prompt or
    reply takes in the KV cache, at 16 bits a number; 0 where the file does not tell. `has_template`: whether it brings
    the template of its conversations.
    """

    architecture: str
    context: int
    file_bytes: int
    token_bytes: int
    has_template: bool

    def memory_bytes(self, context: int) -> int:
        """The memory that it takes with a context of so many tokens, about: the weights and the KV cache."""
        return self.file_bytes + self.token_bytes * context


def read_header(path: Path) -> Header:
    """The header of a model's file. At most 64 MB are read.

    Raises:
        ModelError: there is no such file, it is no GGUF file, a damaged one, or not of a model that can chat.
    """
    try:
        status = path.stat()
        if not S_ISREG(status.st_mode):
            kind = "a folder" if path.is_dir() else "no file"
            raise ModelError(f"{path} is {kind}", "name a model's file: --model FILE.gguf")
        with path.open("rb") as file:
            return _header(_Reader(file, path.name), status.st_size)
    except FileNotFoundError as error:
        raise ModelError(f"there is no file {path}", "see how it is spelt; /model lists what is here") from error
    except (OSError, ValueError) as error:  # ValueError for a path with a null byte
        raise ModelError(f"{path} cannot be read: {getattr(error, 'strerror', error)}", ANEW) from error


class _Reader:
    """Reads a header from its beginning. Raises ModelError where the file ends, or the header is too long."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name = file, name
        self.at = 0

    def bad(self, why: str) -> ModelError:
        """The error for a file that is no model."""
        return ModelError(f"{self._name} cannot be used: {why}", ANEW)

    def take(self, count: int) -> bytes:
        """The next bytes."""
        self.at += count
        if self.at > HEADER_BYTES:
            raise self.bad(f"its header says that it is longer than {HEADER_BYTES // 1_000_000} MB")
        data = self._file.read(count)
        if len(data) < count:
            raise self.bad("it is cut short, in its header")
        return data

    def number(self, code: str) -> Any:
        """The next number, of a kind that `struct` knows."""
        return struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))[0]

    def text(self) -> str:
        """The next string."""
        return self.take(self.number("Q")).decode(errors="replace")

    def many(self) -> range:
        """As many as the next number says."""
        count = self.number("Q")
        if count > MOST_ENTRIES:
            raise self.bad(f"its header says that it has {count:,} entries")
        return range(count)

    def value(self, kind: int) -> Any:
        """The next value of this kind; None for a long array."""
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            return self._array(self.number("I"), self.number("Q"))
        if kind not in NUMBERS:
            raise self.bad(f"its header has a value of an unknown kind, {kind}")
        return self.number(NUMBERS[kind])

    def _array(self, kind: int, count: int) -> list[Any] | None:
        if kind in NUMBERS and count <= LONGEST_KEPT:
            return [self.value(kind) for _ in range(count)]
        if kind in NUMBERS:
            self.take(struct.calcsize(NUMBERS[kind]) * count)
        elif kind == STRING:
            for _ in range(count):
                self.take(self.number("Q"))
        else:
            raise self.bad("its header has an array in an array")
        return None


def _header(reader: _Reader, size: int) -> Header:
    if reader.take(4) != b"GGUF":
        raise reader.bad("it is no GGUF file")
    version = reader.number("I")
    if version not in (2, 3):
        raise reader.bad(f"its version of GGUF is {version}, and 2 and 3 are known")
    tensors, fields = reader.many(), reader.many()
    known = {reader.text(): reader.value(reader.number("I")) for _ in fields}
    ends = [_end_of_tensor(reader) for _ in tensors]
    alignment = _figure(known.get("general.alignment")) or 32
    whole = -(-reader.at // alignment) * alignment + max(ends, default=0)
    if whole > size:
        raise reader.bad(f"it is cut short: it has {size:,} bytes of {whole:,}")
    kind = known.get("general.architecture")
    context = _figure(known.get(f"{kind}.context_length"))
    if not (isinstance(kind, str) and context and ends):
        raise reader.bad("it is no model that can chat")
    return Header(kind, context, size, _token_bytes(known, kind), bool(known.get("tokenizer.chat_template")))


def _end_of_tensor(reader: _Reader) -> int:
    """Where the data of the next tensor ends, from where all data begins."""
    reader.text()
    dimensions = reader.number("I")
    if dimensions > 4:
        raise reader.bad(f"its header has a tensor of {dimensions:,} dimensions")
    weights = prod(reader.number("Q") for _ in range(dimensions))
    kind, offset = reader.number("I"), reader.number("Q")
    return int(offset + weights * BYTES_OF_256.get(kind, 0) // 256)


def _token_bytes(known: dict[str, Any], kind: str) -> int:
    def told(name: str) -> int:
        return _figure(known.get(f"{kind}.{name}"))

    each = known.get(f"{kind}.attention.head_count_kv")
    heads = sum(map(_figure, each)) if isinstance(each, list) else told("block_count") * _figure(each)
    usual = told("embedding_length") // (told("attention.head_count") or 1)
    key, value = (told(f"attention.{name}_length") or usual for name in ("key", "value"))
    return 2 * heads * (key + value)


def _figure(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
