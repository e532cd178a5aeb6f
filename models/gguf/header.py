"""The header of a GGUF file: read by ourselves, before llama.cpp is given a file that may be cut short or hostile."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

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
        if not path.is_file() and path.exists():  # a pipe or a device would be read for ever
            raise ModelError(f"{path} is no file", ANEW)
        with path.open("rb") as file:
            return _header(_Reader(file, path))
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}", ANEW) from error


class _Reader:
    """Reads a header from its beginning. Raises ModelError where the file ends, or the header is too long."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path
        self.size, self.at = path.stat().st_size, 0
        self._most = min(HEADER_BYTES, self.size)

    def bad(self, why: str) -> ModelError:
        """The error for a file that is no model."""
        return ModelError(f"{self._path.name} cannot be used: {why}", ANEW)

    def take(self, count: int) -> bytes:
        """The next bytes."""
        self.at += count
        if self.at > self._most:
            raise self.bad("it is cut short, or its header is damaged")
        return self._file.read(count)

    def numbers(self, code: str | None, count: int = 1) -> tuple[Any, ...]:
        """The next numbers of this kind."""
        if code is None:
            raise self.bad("its header has a value of an unknown kind")
        return struct.unpack(f"<{count}{code}", self.take(struct.calcsize(f"<{code}") * count))

    def number(self, code: str) -> int:
        """The next whole number of this kind."""
        return int(self.numbers(code)[0])

    def text(self) -> bytes:
        """The next string."""
        return self.take(int.from_bytes(self.take(8), "little"))

    def value(self) -> Any:
        """The next value of a field; None for an array of strings."""
        kind = self.number("I")
        if kind == STRING:
            return self.text().decode(errors="replace")
        if kind != ARRAY:
            return self.numbers(NUMBERS.get(kind))[0]
        kind, count = self.number("I"), self.number("Q")
        if kind != STRING:
            return self.numbers(NUMBERS.get(kind), count)
        for _ in range(count):
            self.text()
        return None


def _header(reader: _Reader) -> Header:
    if reader.take(4) != b"GGUF":
        raise reader.bad("it is no GGUF file")
    (version,), (tensors, fields) = reader.numbers("I"), reader.numbers("Q", 2)
    if version not in (2, 3):
        raise reader.bad(f"its version of GGUF is {version}, not 2 or 3")
    known = {reader.text().decode(errors="replace"): reader.value() for _ in range(fields)}
    begins = [_begin_of_tensor(reader) for _ in range(tensors)]
    if reader.at + max(begins, default=0) > reader.size:
        raise reader.bad(f"it is cut short: of its weights, {reader.size:,} bytes are here")
    kind = str(known.get("general.architecture"))
    told = {name.removeprefix(f"{kind}."): value for name, value in known.items()}
    context = _whole(told.get("context_length"))
    if not context:
        raise reader.bad("it is no model that can chat")
    return Header(kind, context, reader.size, _token_bytes(told))


def _begin_of_tensor(reader: _Reader) -> int:
    """Where the weights of the next tensor begin, from where all weights do."""
    reader.text()
    reader.numbers("Q", reader.number("I"))
    return int(reader.numbers("IQ")[1])


def _token_bytes(told: dict[str, Any]) -> int:
    each = told.get("attention.head_count_kv")
    heads = sum(each) if isinstance(each, tuple) else _whole(told.get("block_count")) * _whole(each)
    usual = _whole(told.get("embedding_length")) // (_whole(told.get("attention.head_count")) or 1)
    return 2 * heads * sum(_whole(told.get(f"attention.{name}_length")) or usual for name in ("key", "value"))


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
