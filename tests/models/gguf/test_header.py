"""Headers of files that are missing, cut short, of another format, or made to do harm."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from agent.errors import ModelError
from models.gguf.header import HEADER_BYTES, read_header
from tests.support import gguf_writer

FIELDS: dict[str, gguf_writer.Field] = {"general.architecture": "qwen2", "qwen2.context_length": 512}
MANY = 2**63
BEGIN = b"GGUF" + struct.pack("<I", 3)


def error(path: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read_header(path)
    assert "\n" not in caught.value.what + caught.value.fix
    assert caught.value.fix
    return caught.value


def test_a_sound_file_tells_what_a_session_needs(tiny: Path) -> None:
    header = read_header(tiny)
    assert (header.architecture, header.context, header.file_bytes) == ("qwen2", 8192, tiny.stat().st_size)
    assert header.token_bytes == 2 * 4 * 3 * (64 + 64), "two bytes, layers, heads, key and value"
    assert header.memory_bytes(1000) == header.file_bytes + 1000 * header.token_bytes


def test_heads_may_be_told_layer_by_layer(tmp_path: Path) -> None:
    file = tmp_path / "x.gguf"
    sizes = {"attention.head_count_kv": [0, 2, 1], "attention.key_length": 10, "attention.value_length": 6}
    gguf_writer.write(file, FIELDS | {f"qwen2.{name}": size for name, size in sizes.items()})
    assert read_header(file).token_bytes == 2 * 3 * 16


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    assert "No such file" in error(tmp_path / "none.gguf").what


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    for path in (tmp_path, tmp_path / "pipe.gguf", Path("/dev/zero")):
        assert error(path).what == f"{path.name} cannot be used: it is no file"


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"{}" * 50, b"GGML" + bytes(100), bytes(1000)])
def test_another_format(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.gguf"
    file.write_bytes(content)
    assert "x.gguf cannot be used: it is " in error(file).what


def test_a_file_of_weights_that_cannot_chat(tmp_path: Path) -> None:
    file = tmp_path / "adapter.gguf"
    gguf_writer.write(file, {"general.architecture": "qwen2", "general.type": "adapter"})
    assert "no model that can chat" in error(file).what


@pytest.mark.parametrize("share", [0.0001, 0.001, 0.01, 0.1, 0.9])
def test_a_file_that_is_cut_short_anywhere(tiny: Path, tmp_path: Path, share: float) -> None:
    file, whole = tmp_path / "cut.gguf", tiny.read_bytes()
    file.write_bytes(whole[: int(len(whole) * share)])
    assert "it is cut short" in error(file).what


@pytest.mark.parametrize(
    "lie",
    [
        struct.pack("<QQ", MANY, 0),
        struct.pack("<QQ", 0, MANY),
        struct.pack("<QQQ", 0, 1, MANY),
        struct.pack("<QQQsIQ", 0, 1, 1, b"a", gguf_writer.STRING, MANY),
        struct.pack("<QQQsIIQ", 0, 1, 1, b"a", gguf_writer.ARRAY, gguf_writer.STRING, MANY),
        struct.pack("<QQQsIIQ", 0, 1, 1, b"a", gguf_writer.ARRAY, gguf_writer.UINT32, MANY),
        struct.pack("<QQQsIIQ", 0, 1, 1, b"a", gguf_writer.ARRAY, gguf_writer.ARRAY, MANY),
        struct.pack("<QQQsI", 0, 1, 1, b"a", 77),
        struct.pack("<QQQsI", 1, 0, 1, b"t", 2**32 - 1),
        struct.pack("<QQQsIQIQ", 1, 0, 1, b"t", 1, MANY, 0, MANY),
    ],
)
def test_lengths_and_counts_that_lie_are_not_believed(tmp_path: Path, lie: bytes) -> None:
    file = tmp_path / "x.gguf"
    file.write_bytes(BEGIN + lie + bytes(1000))
    assert "x.gguf cannot be used" in error(file).what


def test_a_header_without_an_end_is_read_for_so_long_and_no_longer(tmp_path: Path) -> None:
    file = tmp_path / "x.gguf"
    with file.open("wb") as out:
        out.write(BEGIN + struct.pack("<QQQsIIQ", 0, 1, 1, b"a", gguf_writer.ARRAY, gguf_writer.STRING, MANY))
        out.truncate(HEADER_BYTES * 100)
    assert "its header is damaged" in error(file).what


def test_numbers_that_make_no_sense_make_no_trouble(tmp_path: Path) -> None:
    file = tmp_path / "x.gguf"
    odd = {"attention.head_count_kv": "many", "block_count": True, "embedding_length": 1.5, "attention.head_count": 0}
    gguf_writer.write(file, FIELDS | {f"qwen2.{name}": value for name, value in odd.items()})
    assert read_header(file).token_bytes == 0
    gguf_writer.write(file, {"general.architecture": 7, "qwen2.context_length": 512})
    assert "no model that can chat" in error(file).what
