"""Whatever a name leads to, and however long it is: one line what is wrong and one how to mend it, at once."""

from __future__ import annotations

import gzip
import io
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

import thimble
from thimble.agent.errors import UsageError
from thimble.agent.events import Asked, ReplyPiece
from thimble.agent.messages import Message
from thimble.commands import trajectories
from thimble.corpus.reading import file_bytes, read_bounded
from thimble.lab import csv_records
from thimble.repl.cli import headless, prepare
from thimble.repl.cli.recordings import load_recording
from thimble.session import jsonl
from thimble.session.journal import folder, lines
from thimble.session.journal.journal import Journal
from thimble.session.journal.records import Branched
from thimble.session.journal.state import LOST_LINE
from thimble.session.playback import read_recording

KINDS = ("folder", "FIFO", "device", "link to a device", "socket", "larger than all of memory", "gone")
DOORS: dict[str, Callable[[Path], object]] = {
    "--resume": lambda path: Journal.reopen(folder.find_session(path.parent / "none", str(path))),
    "--replay": lambda path: load_recording(str(path), path.parent / "none"),
    "lab replay": lambda path: trajectories.read_trajectories([path]),
    "lab table": lambda path: csv_records.read_csv(path, ()),
    "thimble.session": lambda path: thimble.open_session(journal=path, backend="reader"),
}


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[dict[str, Path]]:
    """A path of each kind."""
    paths = {kind: tmp_path / f"{kind.replace(' ', '-')}.jsonl" for kind in KINDS}
    paths["folder"].mkdir()
    os.mkfifo(paths["FIFO"])
    paths["device"] = Path("/dev/zero")
    paths["link to a device"].symlink_to("/dev/zero")
    paths["larger than all of memory"].touch()
    os.truncate(paths["larger than all of memory"], 1 << 40)
    paths["socket"] = Path(f"/tmp/thimble-{os.getpid()}.jsonl")  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(paths["socket"]))
        yield paths
    paths["socket"].unlink()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_door_says_at_once_what_is_wrong(door: str, kind: str, hostile: dict[str, Path]) -> None:
    if (door, kind) == ("thimble.session", "gone"):
        return  # a new session begins there
    with pytest.raises(UsageError) as caught:
        DOORS[door](hostile[kind])
    assert caught.value.fix
    assert "\n" not in caught.value.what + caught.value.fix


def test_a_folder_of_sessions_with_all_of_them(hostile: dict[str, Path]) -> None:
    for path in hostile.values():
        assert folder.list_session(path).trouble
    there = folder.session_paths(hostile["FIFO"].parent)
    assert there == [hostile["larger than all of memory"]]


@pytest.mark.parametrize("name", ["\0", "x" * 5_000, "~nobody-is-called-so/x.jsonl", "a/\0.jsonl", "/" * 5_000])
@pytest.mark.parametrize("door", ["--resume", "--replay", "lab replay"])
def test_names_that_no_file_can_have(door: str, name: str, tmp_path: Path) -> None:
    doors: dict[str, Callable[[], object]] = {
        "--resume": lambda: Journal.reopen(folder.find_session(tmp_path, name)),
        "--replay": lambda: load_recording(name, tmp_path),
        "lab replay": lambda: trajectories.read_trajectories([Path(name)]),
    }
    with pytest.raises(UsageError):
        doors[door]()


@given(st.binary(max_size=40), st.integers(0, 45))
def test_a_bounded_file_is_read_whole_or_refused(data: bytes, most_bytes: int) -> None:
    with TemporaryDirectory() as kept:
        path = Path(kept) / "file"
        path.write_bytes(data)
        for read in (lambda: file_bytes(path, most_bytes), lambda: read_bounded(io.BytesIO(data), most_bytes)):
            if len(data) <= most_bytes:
                assert read() == data
            else:
                with pytest.raises(OSError, match="larger than"):
                    read()


def test_a_compressed_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trajectories, "MOST_RUNS_BYTES", 10_000)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b" " * 1_000_000))
    with pytest.raises(UsageError, match="larger than"):
        trajectories.read_trajectories([tmp_path / "bomb.gz"])


def test_too_many_lines_and_a_line_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_LINES", 100)
    monkeypatch.setattr(lines, "MOST_LINE_BYTES", 1_000)
    assert len(lines.read_lines(b"\n" * 100)[1]) == 100
    for read in (lines.read_lines, lambda data: read_recording(data, "it")):
        with pytest.raises(UsageError, match="at most 100 lines"):
            read(b"\n" * 101)
    assert "longer" in lines.read_lines(b"{" * 1_001 + b"\n")[1][0].why


def test_too_many_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_BRANCHES", 3)
    branched = [lines.Writer().line(number, Branched(number, 1), 0)[1].encode() for number in range(2, 6)]
    assert len(lines.read_lines(b"".join(branched[:3]))[0]) == 3
    with pytest.raises(UsageError, match="at most 3 branches"):
        lines.read_lines(b"".join(branched))


def test_pieces_of_a_reply_that_come_at_once_are_one_line(tmp_path: Path) -> None:
    kept, now = Journal(tmp_path / "one.jsonl"), [0.0]
    kept.clock = lambda: now[0]
    kept.write(LOST_LINE)
    for number in range(30):
        now[0] = number / 100
        kept.write(ReplyPiece("text" if number != 4 else "thinking", f"{number} "))
    kept.write(Asked(Message("m1", "user", "?")))
    pieces = [line.record for line in kept.read()[0][1:-1] if isinstance(line.record, ReplyPiece)]
    assert "".join(piece.text for piece in pieces) == "".join(f"{number} " for number in range(30))
    assert len(pieces) == 5


NO_NUMBERS = ("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "9" * 5_000, "-" + "9" * 5_000)


@pytest.mark.parametrize("number", NO_NUMBERS)
def test_numbers_that_cannot_be_written_again(number: str, tmp_path: Path) -> None:
    text = '[{"role": "user", "content": "hi", "weight": ' + number + "}]"
    for door in (
        lambda: prepare.read_document(text.encode()),
        lambda: trajectories.read_trajectories([tmp_path / "run.json"]),
    ):
        (tmp_path / "run.json").write_text(text)
        with pytest.raises(UsageError, match="JSON"):
            door()
    with pytest.raises(ValueError, match="number"):
        jsonl.from_json(number)


class Endless(io.RawIOBase):
    """A pipe whose other end never stops."""

    def __init__(self, piece: bytes) -> None:
        self._piece = piece

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        size = min(len(self._piece), len(buffer))
        buffer[:size] = self._piece[:size]
        return size


@pytest.mark.parametrize("piece", [b"\0" * 8192, b"x\n" * 4096])
def test_standard_input_without_an_end(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(Endless(piece))))
    monkeypatch.setattr(headless, "MOST_INPUT_BYTES", 100_000)
    monkeypatch.setattr(prepare, "MOST_INPUT_BYTES", 100_000)
    with pytest.raises(UsageError, match="longer than"):
        list(headless.iter_prompts(["-"]))
    with pytest.raises(UsageError, match="larger than"):
        prepare._standard_input()
