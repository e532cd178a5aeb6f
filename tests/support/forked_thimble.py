"""`thimble` by the hundred: one process has imported it and read the articles, and forks for each that is started.

    started("repl", "-p", "What is context rot?", environ=environ, folder=folder, streams=[0, 1, 2])
    subprocess.run([forked_thimble(), "-p", "What is context rot?"], env=environ, cwd=folder)

What is started has arguments, folder, environment, streams and an exit code, as any other; what it changes is its own.
It spares the imports, the vocabulary and the index, which take a second. Other tests see that the real one starts.
"""

from __future__ import annotations

import atexit
import fcntl
import importlib
import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout, suppress
from functools import cache
from pathlib import Path
from select import select
from shutil import rmtree
from tempfile import mkdtemp

from tests.support.paths import ROOT
from thimble.repl.__main__ import main

IMPORTED = (
    *("httpcore", "certifi", "uuid", "stringprep", "encodings.idna", "rich.markdown"),
    *(f"thimble.models.{name}" for name in ("embeddings.kept", "ollama.client", "tool_calls.caller")),
    *(f"thimble.models.{server}.{name}" for server in ("ollama", "openai") for name in ("backend", "counter")),
    *("thimble.repl.conversation", "thimble.repl.commands.model", "thimble.repl.commands.next_prompt"),
    *("thimble.repl.screen.exchange", "tests.support.payloads", "tests.support.sessions"),
)
"""What a conversation imports beside what a question on the command line does."""
PROGRAM = """#!{python} -ISB
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as one:
    one.connect({address!r})
    job = ["repl", sys.argv[1:], os.getcwd(), dict(os.environ), False]
    socket.send_fds(one, [b"."], [0, 1, 2])
    one.sendall(json.dumps(job).encode())
    one.shutdown(socket.SHUT_WR)
    with one.makefile() as told:
        sys.exit(json.loads(list(told)[-1])["code"])
"""
"""What is started by its path: it hands its streams over and waits for an exit code."""


@cache
def forked_thimble() -> Path:
    """The path of a program called `thimble`. The process that forks ends with its standard input."""
    folder = Path(mkdtemp(dir="/tmp"))  # the address of a socket must be short
    program, address = folder / "thimble", folder / "socket"
    program.write_text(PROGRAM.format(python=sys.executable, address=str(address)))
    program.chmod(0o700)
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.support.forked_thimble", str(address)]
    process = subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    atexit.register(_stop, process, folder)
    return program


def _stop(process: subprocess.Popen[bytes], folder: Path) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
    rmtree(folder)


class Started:
    """A module that runs, as `python -m` would. `pid` is its process."""

    def __init__(
        self, module: str, arguments: Sequence[str], folder: Path, environ: Mapping[str, str], terminal: int
    ) -> None:
        """It is in a session of its own, whose terminal that is."""
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(str(forked_thimble().with_name("socket")))
            socket.send_fds(one, [b"."], [terminal] * 3)
            one.sendall(json.dumps([module, arguments, str(folder), dict(environ), True]).encode())
            one.shutdown(socket.SHUT_WR)
            self._told = one.makefile()
        self.pid = int(json.loads(self._told.readline())["pid"])
        self._ended: tuple[int, int] | None = None

    def end(self) -> tuple[int, int]:
        """Wait until it ends: its exit code, below 0 if a signal killed it, and the most bytes of memory it had."""
        if self._ended is None:
            with self._told:
                told = json.loads(self._told.readline())
            self._ended = told["code"], told["peak"]
        return self._ended

    def kill(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


def _serve(address: str) -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    with redirect_stdout(io.StringIO()):  # it reads and searches all
        main(["--backend", "reader", "--session-dir", str(Path(address).parent), "-p", "What is observation masking?"])
    assert threading.active_count() == 1, "a fork has no other threads"
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while door in select([door, sys.stdin], [], [])[0]:
            one, _ = door.accept()
            if os.fork() == 0:
                door.close()
                _keep(one)
            one.close()
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _keep(one: socket.socket) -> None:
    """The parent of one that is started: it tells who that is, and how it ended."""
    _, streams, _, _ = socket.recv_fds(one, 1, 3)
    with one.makefile("rb") as job:
        module, arguments, folder, environ, leads = json.load(job)
    if child := os.fork():
        for stream in streams:
            os.close(stream)
        with suppress(OSError):
            one.sendall(json.dumps({"pid": child}).encode() + b"\n")
        _, status, usage = os.wait4(child, 0)
        peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        with suppress(OSError):
            one.sendall(json.dumps({"code": os.waitstatus_to_exitcode(status), "peak": peak}).encode() + b"\n")
        os._exit(0)
    one.close()
    if leads:
        os.setsid()
        fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, "rw"[number > 0], closefd=False) for number in range(3))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.path.insert(0, folder)
    sys.argv = ["thimble", *arguments]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os._exit(_ended(module))


def _ended(module: str) -> int:
    """Run a module; its exit code. To end Python as usual takes half a second: all that was imported is taken down."""
    code: object = 0
    sys.modules.pop(f"{module}.__main__", None)  # it is run anew
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as left:
        code = left.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    return code if isinstance(code, int) else int(code is not None)


if __name__ == "__main__":
    _serve(sys.argv[1])
