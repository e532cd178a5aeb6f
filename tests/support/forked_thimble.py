"""`thimble` by the hundred: one process has imported it and read the articles, and forks for each that is started.

    with forked_thimble() as program:
        subprocess.run([program, "-p", "What is context rot?"], env=environ, cwd=folder)

The program has the arguments, folder, environment and streams of whoever starts it, and an exit code, as any other;
what it changes is its own. It spares the imports, the vocabulary and the index, which take a second. Other tests see
that the real one starts.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory

from session.session import open_session
from session.settings import Settings
from tests.support.forked_terminals import IMPORTED
from tests.support.paths import ROOT

PROGRAM = """#!{python} -ISB
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as one:
    one.connect({address!r})
    job = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(one, [b"."], [0, 1, 2])
    one.sendall(job)
    one.shutdown(socket.SHUT_WR)
    sys.exit(int(one.recv(16)))
"""
"""What is started: it hands its streams over and waits for an exit code."""


@contextmanager
def forked_thimble() -> Iterator[Path]:
    """A program called `thimble`. The process that forks ends with its standard input."""
    with TemporaryDirectory(dir="/tmp") as folder:  # the address of a socket must be short
        program, address = Path(folder, "thimble"), f"{folder}/socket"
        program.write_text(PROGRAM.format(python=sys.executable, address=address))
        program.chmod(0o700)
        command = [sys.executable, "-m", "tests.support.forked_thimble", address]
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
        with subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield program


def _serve(address: str) -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    list(open_session(Settings(backend="reader")).ask("What is observation masking?"))  # it reads and searches all
    assert threading.active_count() == 1, "a fork has no other threads"
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen(16)
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
    """The parent of one thimble: it tells how that ended."""
    _, streams, _, _ = socket.recv_fds(one, 1, 3)
    with one.makefile("rb") as job:
        arguments, folder, environ = json.load(job)
    if child := os.fork():
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        one.sendall(str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    one.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = ["thimble", *arguments]
    os._exit(_ended())


def _ended() -> int:
    """Run thimble; its exit code. To end Python as usual takes half a second: all that was imported is taken down."""
    from repl.__main__ import main

    code: object = 1
    try:
        code = main()
    except SystemExit as left:
        code = left.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    return code if isinstance(code, int) else int(code is not None)


if __name__ == "__main__":
    _serve(sys.argv[1])
