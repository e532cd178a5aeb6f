"""Standard output that is closed, full, or read by nobody: the exit code is not 0, whatever the command."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from thimble.repl.__main__ import main
from thimble.session.journal.lines import Writer
from thimble.session.journal.records import Command
from thimble.session.journal.state import LOST_LINE

READER = ("--backend", "reader", "--embeddings", "none", "--corpus", "articles", "--files", "articles")
COMMANDS: Sequence[Sequence[str]] = [
    *(("--help",), ("--version",), ("config",), ("config", "--json"), ("prepare",), ("lab",)),
    ("doctor", *READER),
    ("-p", "Hi", *READER),
    ("-p", "Hi", "--json", *READER),
    ("--replay", "reader/none", "--json"),
    ("lab", "replay", "run.json", "--strategy", "none"),
]
SILENT = ("-p", "/help", *READER)
"""What a command of a conversation says goes to standard error."""


@pytest.fixture(autouse=True)
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "thimble.lab.__main__", raising=False)  # another test may have imported it
    Path("run.json").write_text('[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]')
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))


@pytest.fixture(params=["full", "nobody reads it"])
def stuck(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """A descriptor that cannot be written to, and the exit code for it."""
    if request.param == "full" and not Path("/dev/full").exists():
        pytest.skip("needs a device that is always full")
    if request.param == "full":
        descriptor = os.open("/dev/full", os.O_WRONLY)
    else:
        reading, descriptor = os.pipe()
        os.close(reading)
    yield descriptor, 2 if request.param == "full" else 1
    os.close(descriptor)


@pytest.mark.parametrize("arguments", [*COMMANDS, SILENT], ids=" ".join)
def test_closed_standard_output_is_exit_code_2(
    arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert main(arguments) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "buffered"), [*((arguments, True) for arguments in COMMANDS), (COMMANDS[2], False)]
)
def test_full_or_unread_standard_output_has_its_exit_code(
    arguments: Sequence[str],
    buffered: bool,
    stuck: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if arguments == ("prepare",):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("run.json").read_bytes())))
    raw = os.fdopen(os.dup(stuck[0]), "wb", -1 if buffered else 0)
    with io.TextIOWrapper(raw, write_through=not buffered) as stdout:  # closed: nothing is left that fails at the end
        monkeypatch.setattr(sys, "stdout", stdout)
        code = main(arguments)
        monkeypatch.undo()
    told = capsys.readouterr().err
    assert "Traceback" not in told
    assert code == stuck[1], told
    if code == 2:
        what, fix = told.splitlines()[-2:]
        assert "cannot write" in what
        assert fix.startswith("fix: ")


def test_standard_error_is_closed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert [main(arguments) for arguments in (("--help",), ("lab",), SILENT)] == [2, 2, 2]


# ---- names and recordings that lead nowhere ----


@pytest.mark.parametrize("unknown", ["/nonsense", "/\u200b"])
def test_a_recording_with_a_command_that_there_is_not_ends(unknown: str, capsys: pytest.CaptureFixture[str]) -> None:
    records = [LOST_LINE, Command(unknown), Command(unknown), Command("/budget 2000"), Command(unknown)]
    writer = Writer()
    Path("it.jsonl").write_text("".join(writer.line(at, one, 0.0)[1] for at, one in enumerate(records, 1)))
    assert main(["--replay", "it.jsonl"]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("there is no command") == 3
    assert "2,000" in captured.out
