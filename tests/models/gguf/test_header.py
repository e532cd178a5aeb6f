"""Headers of files that are missing, cut short, of another format, or made to do harm."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from tests.support import gguf_writer
from tests.support.gguf_writer import ARRAY, STRING, UINT32
from thimble.agent.errors import ModelError
from thimble.models.gguf.header import HEADER_BYTES, read_header

MANY = 2**63
BEGIN = b"GGUF" + struct.pack("<I", 3)


def error(path: Path) -> str:
    """What is wrong with a file."""
    with pytest.raises(ModelError) as caught:
        read_header(path)
    assert "\n" not in caught.value.what + caught.value.fix
    assert caught.value.fix
    return caught.value.what


def test_a_sound_file_tells_what_a_session_needs(tiny: Path) -> None:
    header = read_header(tiny)
    assert (header.architecture, header.context) == ("qwen2", 8192)


def test_a_path_that_is_not_a_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    for path in (tmp_path, tmp_path / "pipe.gguf", Path("/dev/zero")):
        assert error(path) == f"{path.name} cannot be used: it is not a regular file"
    assert "No such file" in error(tmp_path / "none.gguf")


def header(form: str, *values: object) -> bytes:
    """A header that lies, with zeros behind it."""
    return BEGIN + struct.pack(form, *values) + bytes(1000)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        *((content, "it is ") for content in (b"", b"PK\3\4", b"{}" * 50, b"GGML" + bytes(100), bytes(1000))),
        (header("<QQ", 0, MANY), ""),
        (header("<QQQ", 0, 1, MANY), ""),
        (header("<QQQsIQ", 0, 1, 1, b"a", STRING, MANY), ""),
        *((header("<QQQsIIQ", 0, 1, 1, b"a", ARRAY, kind, MANY), "") for kind in (STRING, UINT32, ARRAY)),
        (header("<QQQsI", 0, 1, 1, b"a", 77), ""),
        ({"general.architecture": "qwen2", "general.type": "adapter"}, "its model cannot chat"),
        ({"general.architecture": 7, "qwen2.context_length": 512}, "its model cannot chat"),
    ],
)
def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path, content: bytes | dict[str, object], what: str) -> None:
    file = tmp_path / "x.gguf"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        gguf_writer.write(file, content)  # type: ignore[arg-type]
    told = error(file)
    assert told.startswith("x.gguf cannot be used") or isinstance(content, dict)
    assert what in told


@pytest.mark.parametrize("share", [0.0001, 0.001, 0.01, 0.5, 0.999])
def test_a_file_that_is_cut_short(tiny: Path, tmp_path: Path, share: float) -> None:
    file, whole = tmp_path / "cut.gguf", tiny.read_bytes()
    file.write_bytes(whole[: int(len(whole) * share)])
    assert "it is cut short" in error(file)


@pytest.mark.nightly
def test_a_header_without_an_end_is_read_for_so_long_and_no_longer(tmp_path: Path) -> None:
    file = tmp_path / "x.gguf"
    with file.open("wb") as out:
        out.write(BEGIN + struct.pack("<QQQsIIQ", 0, 1, 1, b"a", ARRAY, STRING, MANY))
        out.truncate(HEADER_BYTES * 100)
    assert "its header is damaged" in error(file)
