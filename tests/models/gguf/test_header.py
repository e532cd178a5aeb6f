"""Headers of files that are missing, cut short, of another format, or made to do harm."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from tests.support import gguf_writer
from thimble.agent.errors import ModelError
from thimble.models.gguf.header import HEADER_BYTES, read_header

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
    assert (header.architecture, header.context) == ("qwen2", 8192)


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


@pytest.mark.parametrize("share", [0.0001, 0.001, 0.01, 0.5, 0.999])
def test_a_file_that_is_cut_short(tiny: Path, tmp_path: Path, share: float) -> None:
    file, whole = tmp_path / "cut.gguf", tiny.read_bytes()
    file.write_bytes(whole[: int(len(whole) * share)])
    assert "it is cut short" in error(file).what


@pytest.mark.parametrize(
    "lie",
    [
        struct.pack("<QQ", 0, MANY),
        struct.pack("<QQQ", 0, 1, MANY),
        struct.pack("<QQQsIQ", 0, 1, 1, b"a", gguf_writer.STRING, MANY),
        struct.pack("<QQQsIIQ", 0, 1, 1, b"a", gguf_writer.ARRAY, gguf_writer.STRING, MANY),
        struct.pack("<QQQsIIQ", 0, 1, 1, b"a", gguf_writer.ARRAY, gguf_writer.UINT32, MANY),
        struct.pack("<QQQsIIQ", 0, 1, 1, b"a", gguf_writer.ARRAY, gguf_writer.ARRAY, MANY),
        struct.pack("<QQQsI", 0, 1, 1, b"a", 77),
    ],
)
def test_lengths_and_counts_that_lie_are_not_believed(tmp_path: Path, lie: bytes) -> None:
    file = tmp_path / "x.gguf"
    file.write_bytes(BEGIN + lie + bytes(1000))
    assert "x.gguf cannot be used" in error(file).what


@pytest.mark.nightly
def test_a_header_without_an_end_is_read_for_so_long_and_no_longer(tmp_path: Path) -> None:
    file = tmp_path / "x.gguf"
    with file.open("wb") as out:
        out.write(BEGIN + struct.pack("<QQQsIIQ", 0, 1, 1, b"a", gguf_writer.ARRAY, gguf_writer.STRING, MANY))
        out.truncate(HEADER_BYTES * 100)
    assert "its header is damaged" in error(file).what


def test_a_name_that_makes_no_sense_makes_no_trouble(tmp_path: Path) -> None:
    file = tmp_path / "x.gguf"
    gguf_writer.write(file, {"general.architecture": 7, "qwen2.context_length": 512})
    assert "no model that can chat" in error(file).what
