"""The process of a local model, as the session sees it: started when needed, and never left behind."""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import sys
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from signal import Signals
from threading import RLock
from typing import IO

from thimble.agent.errors import ModelError
from thimble.models.gguf.header import DOWNLOAD_AGAIN, read_header
from thimble.models.gguf.this_machine import XLLAMACPP_INSTALL, count_threads, free_bytes, is_installed
from thimble.models.wire.bounds import TOLD_CHARACTERS

SERVE_FILE = Path(__file__).with_name("serve.py")
END_SECONDS = 5.0
"""The time that the process has to end by itself."""
DEATH_SECONDS = 1.0
LOG_BYTES = 1_000_000
REASONS = r"error loading model: (?:\w+: )?(.+)", r"(GGML_ASSERT.+)", r"(?m)^(\w+Error: .+)"
"""Log lines with the reason why a model was not loaded, the best first: llama.cpp logs from several threads."""


class Child:
    """llama.cpp's server for one file. Threads may share it; it ends when nothing refers to it any more.

    Attributes:
        path: The model's file.
        url: The address of the server; "" before it is started.
        key: The key that the server requires. It is in no file and on no command line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = self.key = ""
        self._context = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = RLock()

    def is_running(self, context: int = 0) -> bool:
        """Whether it runs, with room for at least this many tokens."""
        return bool(self.url and self._process and self._process.poll() is None and context <= self._context)

    def start(self, context: int) -> None:
        """Run it with room for this many tokens of prompt and reply, and wait until the model is loaded.

        Raises:
            ModelError: the package is not installed, the file is bad, memory is too small, or loading failed.
        """
        with self._lock:
            if self.is_running(context):
                return
            self.end()
            check_fit(self.path)
            self._log = tempfile.TemporaryFile()  # noqa: SIM115 (without a name, it goes when the process is killed)
            self._context, self.key = context, secrets.token_urlsafe(32)
            program, pipe = [sys.executable, "-P", str(SERVE_FILE)], subprocess.PIPE
            process = subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=self._log, start_new_session=True)
            self._process, self._end = process, weakref.finalize(self, _end_process, process, self._log)
            asked = {"file": str(self.path), "key": self.key, "context": context, "threads": count_threads()}
            assert process.stdin
            assert process.stdout
            try:
                with suppress(BrokenPipeError):
                    process.stdin.write(json.dumps(asked).encode() + b"\n")
                    process.stdin.flush()
                self.url = process.stdout.readline().decode().strip()
            except BaseException:  # Ctrl-C too
                self.end()
                raise
            if not self.url:
                raise self.death_error()

    def end(self) -> None:
        """End the process, and delete its log."""
        if self._process:
            self._end()
        self.url, self._process = "", None

    def has_ended(self) -> bool:
        """Whether it has ended by itself, or was killed; it may end a moment later than its connections."""
        with suppress(subprocess.TimeoutExpired):
            return self._process is None or self._process.wait(DEATH_SECONDS) is not None
        return False

    def death_error(self) -> ModelError:
        """The error for a process that has ended; it names a file with its log, unless it was killed."""
        code = self._process.wait() if self._process else 0
        self._log.seek(0)
        log = self._log.read(LOG_BYTES)
        said = log.decode(errors="replace")
        found = next(filter(None, (re.search(reason, said) for reason in REASONS)), None) if not self.url else None
        why = f"killed by {Signals(-code).name}" if code < 0 else f"it ended with status {code}"
        why = found[1][:TOLD_CHARACTERS] if found else why
        what = f"{self.path.name} stopped: {why}" if self.url else f"{self.path.name} could not be loaded: {why}"
        fix = "ask again: the model is loaded again" if self.url else DOWNLOAD_AGAIN
        if code == -9:  # SIGKILL, which is not in the log
            return ModelError(what, fix)
        with tempfile.NamedTemporaryFile("wb", suffix=".log", prefix="thimble-", delete=False) as file:
            file.write(log)
        return ModelError(what, f"{fix}; its log: {file.name}")


def check_fit(path: Path) -> None:
    """Raise ModelError if a model cannot run: check the package, the file, and the memory for its weights."""
    if not is_installed():
        raise ModelError("models without a server need the package xllamacpp", XLLAMACPP_INSTALL)
    read_header(path)
    needed, free = path.stat().st_size, free_bytes()
    if free is not None and needed > free:
        what = f"{path.name} needs {needed / 1e9:,.1f} GB and room for its context; only {free / 1e9:,.1f} GB are free"
        raise ModelError(what, "choose a smaller model")


def _end_process(process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    for pipe in filter(None, (process.stdin, process.stdout, log)):
        pipe.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
