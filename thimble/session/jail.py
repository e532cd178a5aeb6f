"""The jail: runs the code of others, such as a participant's strategy, in a child process with limits, and kills it."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread
from typing import Any

from thimble.agent.errors import UsageError

MEGABYTES = 2_000
MEGABYTE = 1_000_000
GRACE_SECONDS = 60
"""By the clock, beside the seconds of computing: a machine may be busy, and code may sleep."""
MOST_PRINTED = 10
"""Lines that are kept of what the code prints."""
LONGEST_PRINTED = 10_000
"""Bytes that count as a line; the end of a longer one is kept."""
READ_SECONDS = 5
"""How long the last lines may take: a process that has left the group of the child may hold the pipe for ever."""
HOW_TO_END = "look for a loop without an end"


def jailed(
    call: Callable[[], Any], folder: Path, seconds: int, megabytes: int = MEGABYTES
) -> tuple[Any | UsageError, list[str]]:
    """The result of a call in a child process, or the error that says why there is none; and the last printed lines.

    Whatever the child has started is killed with it, unless that has left the child's process group.

    Args:
        call: Can be pickled. Its result is sent as JSON: to read a pickle would run code here.
        folder: Where the child runs.
        seconds: Of computing. Without POSIX the clock alone ends the child, `GRACE_SECONDS` later.
        megabytes: Of memory, where the system can limit it. A file may have one.
    """
    printed = deque[bytes](maxlen=MOST_PRINTED)
    here, there = os.pipe()
    reader = Thread(target=_read, args=(here, printed), daemon=True)
    reader.start()
    with TemporaryFile() as job, TemporaryFile() as reply:
        with os.fdopen(there, "wb") as pipe:
            job.write(pickle.dumps((call, seconds, megabytes)))
            job.seek(0)
            # The child imports what this process would, but nothing of the folder, where a random.py may lie.
            start = f"import sys; sys.path[:] = {sys.path!r}; from thimble.session import jail; jail.serve()"
            child = subprocess.Popen(
                [sys.executable, "-P", "-u", "-c", start],
                cwd=folder,
                stdin=job,
                stdout=reply,
                stderr=pipe,
                start_new_session=True,  # its own process group, which the terminal's Ctrl-C does not reach
            )
        try:
            child.wait(seconds + GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            result: Any = UsageError(f"it did not end within {seconds} seconds", HOW_TO_END)
        else:
            reply.seek(0)
            result = _result(reply.read(), child.returncode, megabytes)
        finally:
            _kill(child)
    reader.join(READ_SECONDS)
    return result, b"".join(printed).decode(errors="replace").splitlines()[-MOST_PRINTED:]


def _read(pipe: int, printed: deque[bytes]) -> None:
    """Read to the end, so that no print waits or fails."""
    with os.fdopen(pipe, "rb") as lines:
        printed.extend(iter(lambda: lines.readline(LONGEST_PRINTED), b""))


def _result(reply: bytes, code: int, megabytes: int) -> Any | UsageError:
    with suppress(ValueError, TypeError):
        error, value = json.loads(reply)
        return UsageError(error, HOW_TO_END) if error else value
    return UsageError(
        f"its process ended before its time (exit code {code})",
        f"the code may use {megabytes:,} MB, and must not end the program",
    )


def _kill(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    if sys.platform != "win32":
        with suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def serve() -> None:
    """In the child: do the call, and send its result. What the code prints goes to standard error."""
    call, seconds, megabytes = pickle.load(sys.stdin.buffer)
    reply = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _limit(seconds, megabytes)
    error, value = "", None
    try:
        value = call()
    except KeyboardInterrupt as stopped:
        error = f"no end within {seconds} seconds of computing: {stopped}"
    with reply:
        json.dump((error, value), reply)
    os._exit(0)  # whatever threads the code has left


def _limit(seconds: int, megabytes: int) -> None:
    """Limit this process: KeyboardInterrupt after so many seconds of computing, MemoryError, short files."""
    if sys.platform == "win32":
        return
    import resource

    signal.signal(signal.SIGPROF, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    for kind, most in ((resource.RLIMIT_AS, megabytes * MEGABYTE), (resource.RLIMIT_FSIZE, MEGABYTE)):
        with suppress(OSError, ValueError):  # where the system refuses one, the others hold
            resource.setrlimit(kind, (most, most))
