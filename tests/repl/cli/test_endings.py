"""Every ending of a command line has its exit code and two lines: what is wrong, and how to fix it (`make golden`)."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from tests.repl.test_golden import compared
from thimble.repl.__main__ import main

READER = "--backend reader --corpus articles --files articles"
FLAGS = [
    *("--bugdet 3", "--budget=3 --colour", "--strat none", "--resum", "confg", "config config", "config -p x"),
    *("why is this", "--budget", "-p", "--observations x -p x", "--plain=yes"),
]
VALUES = [
    *("--budget 12 -p x", "--budget many -p x"),
    *("--backend olama -p x", "--corpus 'C:\\notes' -p x", "--corpus nowhere -p x"),
    *("--strategy noen -p x", "--base-url :::: -p x", "-p \udcff", "-p ''", READER, f"{READER} -p /nothing"),
    *("--backend ollama -p x", "--model qwen2.5:7b -p x", f"{READER} --budget 500 -p x"),
]
ASKED = b'[{"role": "user", "content": "?"}]'
PREPARES: list[tuple[str, bytes]] = [
    *(("", data) for data in (b"", b" \n", b"\xff", b"hello", b"[" * 200_000, b"[NaN]", b"[-1e999]")),
    *(("", data) for data in (b"9" * 5_000, b"{}")),
    *(("", data) for data in (b'{"contents": []}', b'{"messages": 3}', b'[{"role": "bot"}]')),
    *(("", b'{"messages": [], "tools": %s}' % tools) for tools in (b'"f"', b"[3]")),
    *((flags, b"[]") for flags in ("--budget x", "--budget 0", "--budget=-5", "--strategy noen", "-p x")),
    *((flags, b"[]") for flags in ("--strategy hybrid:tail=-1", "--observations '('")),
    ("--budget 5", ASKED),
]


def endings(typed: Iterable[tuple[str, bytes]], capsys: pytest.CaptureFixture[str]) -> Iterable[str]:
    """What each comes to, as a golden file has it."""
    for arguments, stdin in typed:
        Path("in").write_bytes(stdin)
        with Path("in").open() as piped, pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", piped)
            code = main(shlex.split(arguments))
        captured = capsys.readouterr()
        *more, what, fix = captured.err.splitlines()
        assert not more or not arguments.startswith("prepare"), "prepare says nothing else, and asks no server"
        assert captured.out == ""
        assert (what.split()[0], fix.split()[0]) == ("thimble:", "fix:")
        piped_in = f" < {stdin[:30]!r}" if stdin else ""
        yield f"$ thimble {ascii(arguments)[1:-1]}{piped_in} → {code}\n{what}\n{fix}\n"


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")


@pytest.mark.parametrize(("name", "typed"), [("flags", FLAGS), ("values", VALUES)])
def test_endings_of_a_question(name: str, typed: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
    compared(f"endings-{name}", endings([(arguments, b"") for arguments in typed], capsys))


def test_endings_of_prepare(capsys: pytest.CaptureFixture[str]) -> None:
    compared("endings-prepare", endings([(f"prepare {flags}", data) for flags, data in PREPARES], capsys))


@pytest.mark.parametrize(
    ("arguments", "code"), [(f"{READER} -p 'How much does a thimble hold?'", 0), (FLAGS[0], 2), (VALUES[-1], 4)]
)
def test_in_json_an_error_is_a_line_with_its_code(
    arguments: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*shlex.split(arguments), "--json"]) == code
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["code"] for event in events if event["type"] == "error"] == ([code] if code else [])
