"""The header of a GGUF file, checked before llama.cpp reads the file."""

from __future__ import annotations

import struct
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from thimble.agent.errors import ModelError

HEADER_BYTES = 32_000_000
"""The longest header. That of a vocabulary of 260,000 tokens with its merges has 16 million."""
STRING, ARRAY = 8, 9
NUMBERS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
"""The kinds of number of a field, as `struct` writes them."""
_SIZES = (
    "1024 512 144 160 0 0 176 192 272 288 84 110 144 176 210 292 "
    "66 74 98 50 144 110 82 136 256 512 1024 2048 2048 56 512"
)
BYTES = dict(enumerate(map(int, _SIZES.split())))
"""The bytes of 256 weights of each type of ggml, from F32 to BF16; 0 for a removed type. Rarer types are not known."""
DOWNLOAD_AGAIN = "download the file again, or name another: --model FILE.gguf"


class Header(NamedTuple):
    """The facts in a model's file that a session needs.

    `context`: the tokens that it was trained for. `tools`: whether its chat template writes tools. `parameters`: how
    many its tensors hold.
    """

    architecture: str
    context: int
    tools: bool
    parameters: int


def read_header(path: Path) -> Header:
    """The header of a model's file. At most 32 MB are read.

    Raises:
        ModelError: the file is missing, is not a GGUF file, is damaged, ends before its weights do, or its model cannot
            chat.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe or a device would be read for ever
            raise ValueError("it is not a regular file")
        with path.open("rb") as file:
            return _header(_Reader(file.read(HEADER_BYTES)), path.stat().st_size)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}", DOWNLOAD_AGAIN) from error
    except ValueError as error:
        raise ModelError(f"{path.name} cannot be used: {error}", DOWNLOAD_AGAIN) from error
    except (struct.error, KeyError, OverflowError) as error:
        raise ModelError(
            f"{path.name} cannot be used: it is cut short, or its header is damaged", DOWNLOAD_AGAIN
        ) from error


class _Reader:
    """Reads a header from its beginning. Raises struct.error at its end, and KeyError for an unknown kind."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def numbers(self, code: str) -> tuple[Any, ...]:
        """The next numbers, in a format of `struct`."""
        found = struct.unpack_from(f"<{code}", self._data, self.at)
        self.at += struct.calcsize(f"<{code}")
        return found

    def text(self) -> str:
        """The next string; cut if the header ends in it."""
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


def _header(reader: _Reader, file_bytes: int) -> Header:
    if reader.numbers("4s") != (b"GGUF",):
        raise ValueError("it is not a GGUF file")
    version, count, fields = reader.numbers("IQQ")
    if version not in (2, 3):
        raise ValueError(f"its version of GGUF is {version}, not 2 or 3")
    known = {reader.text(): reader.value() for _ in range(fields)}
    kind = known.get("general.architecture")
    context = known.get(f"{kind}.context_length")
    if not isinstance(context, int) or context <= 0:
        raise ValueError("its model cannot chat")
    tools = any("tools" in str(value) for name, value in known.items() if name.startswith("tokenizer.chat_template"))
    tensors = [_tensor(reader) for _ in range(count)]
    whole = reader.at + max((end for _, end in tensors), default=0)
    if file_bytes < whole:
        raise ValueError(f"it is cut short: {file_bytes:,} bytes of {whole:,}")
    return Header(str(kind), context, tools, sum(parameters for parameters, _ in tensors))


def _tensor(reader: _Reader) -> tuple[int, int]:
    """The parameters in the next tensor, and where its bytes end, counted from the first weight."""
    reader.text()
    (dimensions,) = reader.numbers("I")
    parameters = prod(reader.numbers(f"{dimensions}Q"))
    kind, place = reader.numbers("IQ")
    return parameters, place + parameters * BYTES.get(kind, 0) // 256
