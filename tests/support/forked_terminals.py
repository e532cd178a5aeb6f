"""Terminals with thimble in them by the dozen: one process has imported it all, and forks for each.

    with Forks() as forks:
        terminal = forks.open("--plain", "--backend", "ollama")
        terminal.until("you: ", seconds=3)
        terminal.type("Hello\\n")
        terminal.close()

So a terminal costs some 20 ms, and the memory and the signals of each are its own.
"""

from __future__ import annotations

import codecs
import importlib
import json
import os
import pty
import select
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

from agent.messages import Message
from models.counting.choose import counter_for
from models.text_calls.openings import openings
from tests.support.paths import ROOT

IMPORTED = [
    "httpx",
    "httpcore",
    "certifi",
    "sqlite3",
    "tiktoken",
    "uuid",
    "rich.markdown",
    "prompt_toolkit",
    "stringprep",
    "encodings.idna",
    "platformdirs",
    "agent.loop",
    "corpus.map",
    "corpus.search",
    "models.counting.choose",
    "models.embeddings.kept",
    "models.embeddings.static",
    "models.ollama.backend",
    "models.ollama.client",
    "models.ollama.counter",
    "models.ollama.server",
    "models.openai.backend",
    "models.openai.counter",
    "models.openai.server",
    "models.text_calls.caller",
    "models.text_calls.printed_calls",
    "repl.__main__",
    "repl.cli.flags",
    "repl.cli.headless",
    "repl.conversation",
    "repl.commands.model",
    "repl.commands.next_prompt",
    "repl.commands.table",
    "repl.screen.redirect_output",
    "repl.screen.exchange",
    "repl.screen.footer",
    "repl.screen.trace",
    "session.embeddings",
    "session.journal.folder",
    "session.journal.journal",
    "session.playback",
    "session.session",
    "strategies.table",
    "tools",
    "tools.articles",
    "tools.delegate",
    "tools.files",
    "tools.map",
    "tools.recall",
]
"""What a conversation imports sooner or later."""
PIECE = 65_536
DECODER = codecs.getincrementaldecoder("utf-8")


class Forks:
    """The process that forks. What it starts is gone with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._count = 0

    def __enter__(self) -> Forks:
        places = {f"XDG_{name}_HOME": str(self._folder) for name in ("STATE", "CACHE", "CONFIG")}
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self._folder), "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        threads = {"OPENBLAS_NUM_THREADS": "1", "THIMBLE_MAX_TURNS": "2", "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forked_terminals"],
            stdin=subprocess.PIPE,
            cwd=self._folder,
            env=env | places | threads,
            text=True,
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def open(self, *arguments: str) -> Terminal:
        """A terminal with thimble in it."""
        master, slave = pty.openpty()
        with self._lock:
            self._count += 1
            ended = self._folder / f"ended{self._count}"
            job = {"tty": os.ttyname(slave), "arguments": arguments, "ended": str(ended)}
            assert self._process.stdin
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
        return Terminal(master, slave, ended)


@dataclass
class Terminal:
    """What a person sees of it, byte for byte; `ended` is the file where its end is told."""

    master: int
    slave: int
    ended: Path
    raw: str = ""
    _read: int = 0
    _decoder: codecs.IncrementalDecoder = field(default_factory=lambda: DECODER("surrogateescape"), repr=False)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self.master, keys.encode())

    def until(self, text: str, seconds: float) -> float | None:
        """Read on until this text comes; the seconds that it took, None if it did not come or the program ended."""
        started = time.monotonic()
        while (found := self.raw.find(text, self._read)) < 0:
            left = started + seconds - time.monotonic()
            if left <= 0 or self.ended.exists():
                return None
            self._take(min(left, 0.1))
        self._read = found + len(text)
        return time.monotonic() - started

    def _take(self, seconds: float) -> None:
        if select.select([self.master], [], [], seconds)[0]:
            self.raw += self._decoder.decode(os.read(self.master, PIECE))

    def end(self, seconds: float) -> dict[str, Any]:
        """Wait until it ends: its exit `code`, and `peak`, the most bytes of memory that it had."""
        deadline = time.monotonic() + seconds
        while not self.ended.exists() and time.monotonic() < deadline:
            self._take(0.05)
        found: dict[str, Any] = json.loads(self.ended.read_text()) if self.ended.exists() else {}
        os.close(self.master)
        os.close(self.slave)
        return found


def _thimble(job: dict[str, Any]) -> None:
    """The child: thimble in a terminal of its own."""
    os.setsid()
    terminal = os.open(job["tty"], os.O_RDWR)  # the first that a leader of a session opens is its own
    for number in (0, 1, 2):
        os.dup2(terminal, number)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
    from repl.__main__ import main

    code = 70
    try:
        code = main(job["arguments"])
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(code)


def _keep(job: dict[str, Any]) -> None:
    """The parent of one child: it tells how that ended, and how much memory it had at most."""
    child = os.fork()
    if child == 0:
        _thimble(job)
    _, status, usage = os.wait4(child, 0)
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    ended = Path(job["ended"])
    part = ended.with_suffix(".part")
    part.write_text(json.dumps({"code": os.waitstatus_to_exitcode(status), "peak": peak}))
    part.rename(ended)
    os._exit(0)


def _serve() -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    counter_for("").count(Message("warm", "user", "A vocabulary takes half a second to read."))
    openings(labelled=False)  # patterns take a tenth of a second to compile
    while text := sys.stdin.readline():
        if os.fork() == 0:
            _keep(json.loads(text))
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


if __name__ == "__main__":
    _serve()
