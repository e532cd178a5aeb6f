"""The jail: a child process that answers requests with the code of others, such as a participant's strategy.

It has limits, and all processes that the code starts end with it: when the jail is closed, and when this process is
killed.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any, Self, cast

from thimble.agent.errors import UsageError, in_line

MEGABYTES = 2_000
MEGABYTE = 1_000_000
GRACE_SECONDS = 2
"""The additional time that the child may take to start, and to end after its time is over."""
MAX_PRINTED_LINES = 10
"""The number of printed lines that are kept."""
MAX_LINE_BYTES = 10_000
"""The most bytes of a printed line; the end of a longer one is kept."""
MAX_REPLY_BYTES = 10_000_000
"""Bytes."""
END_SECONDS = 5
"""The time that the child may take to end the processes that the code has started."""
LOOK_SECONDS = 0.02
PR_SET_CHILD_SUBREAPER = 36
HOW_TO_END = "look for a loop without an end, or for code that waits"
Answer = Callable[[Any], bytes]
"""Makes one line from a request, such as JSON; it may raise UsageError."""


class Jail:
    """A child that answers requests, used with `with`; afterwards `printed` has the last lines that the code printed.

    Args:
        answer: Must be picklable, as must the requests. A reply is bytes: reading a pickle would run code here.
        folder: The working folder of the child.
        seconds: The time limit for all requests, by the clock: sleeping counts.
        megabytes: The memory limit, if the system supports one. A file may have one megabyte.
    """

    def __init__(self, answer: Answer, folder: Path, seconds: int, megabytes: int = MEGABYTES) -> None:
        # The child imports as this process would, but nothing from the folder, which may have a random.py.
        places = [str(Path(place).resolve()) for place in sys.path]
        start = f"import sys; sys.path[:] = {places!r}; from thimble.session import jail; jail.serve()"
        child = subprocess.Popen(
            [sys.executable, "-P", "-u", "-c", start],
            cwd=folder,
            start_new_session=True,  # its own process group, which the terminal's Ctrl-C does not reach
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._child = cast(Any, child)  # with three pipes
        self._limits, self._left = (seconds, megabytes), float(seconds + GRACE_SECONDS)
        self._requests: list[Any] = [(answer, seconds, megabytes)]
        self._printed = deque[bytes](maxlen=MAX_PRINTED_LINES)
        self._threads: list[Thread] = []
        lines = iter(partial(self._child.stderr.readline, MAX_LINE_BYTES), b"")
        self._begin(self._printed.extend, lines)  # to the end, so that no print waits or fails

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(END_SECONDS)
        self._child.kill()
        for thread in self._threads:
            thread.join(END_SECONDS)
        if not any(thread.is_alive() for thread in self._threads):  # one waits if a process keeps its pipe
            self._child.__exit__(None, None, None)

    @property
    def printed(self) -> list[str]:
        """The last lines that the code printed."""
        return b"".join(self._printed).decode(errors="replace").splitlines()[-MAX_PRINTED_LINES:]

    def ask(self, request: object = None) -> bytes:
        """The reply to a request.

        Raises:
            UsageError: the code took too long, ended its process, or `answer` raised this error.
        """
        self._requests.append(request)
        replies: list[bytes] = []
        began = monotonic()
        asking = self._begin(self._exchange, replies)
        asking.join(max(0.0, self._left))
        self._left -= monotonic() - began
        seconds, megabytes = self._limits
        if asking.is_alive():
            raise UsageError(f"no result within {seconds} seconds", HOW_TO_END)
        match replies:
            case [b""] | []:
                raise UsageError(
                    f"its process ended unexpectedly (exit code {self._child.wait()})",
                    f"the code may use {megabytes:,} MB, and must not end the program",
                )
            case [reply] if reply[:1] == b"+" and reply[-1:] == b"\n":
                return reply[1:-1]
            case [reply] if reply[:1] == b"-":
                raise UsageError(in_line(reply[1:].decode(errors="replace")), HOW_TO_END)
        raise UsageError("its process sent something other than a reply", "do not write to pipes")

    def _begin(self, target: Callable[[Any], object], argument: Any) -> Thread:
        thread = Thread(target=target, args=(argument,), daemon=True)
        thread.start()
        self._threads[1:] = [thread]
        return thread

    def _exchange(self, replies: list[bytes]) -> None:
        with suppress(OSError):
            while self._requests:
                pickle.dump(self._requests.pop(0), self._child.stdin)
            self._child.stdin.flush()
        replies.append(self._child.stdout.readline(MAX_REPLY_BYTES))


def serve() -> None:
    """In the child: answer each request. The code's output goes to standard error."""
    if sys.platform != "win32":
        _guard_child()
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    answer, seconds, megabytes = pickle.load(requests)
    _limit_process(seconds, megabytes)
    left = float(seconds)
    while True:
        request = pickle.load(requests)
        try:
            _set_alarm(left)
            reply = b"+" + answer(request)
        except KeyboardInterrupt as stopped:
            reply = f"-no result within {seconds} seconds: {stopped}".encode()
        except UsageError as error:
            reply = f"-{in_line(error.what)}".encode()
        left = _set_alarm(0) or LOOK_SECONDS
        replies.write(reply + b"\n")
        replies.flush()


def _guard_child() -> None:
    """Fork: the child returns; this process waits and ends all that it started when it ends or the requests stop.

    On Linux these are all processes, in any group; elsewhere the child's process group.
    """
    if sys.platform == "linux":
        from ctypes import CDLL

        CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # orphans become children of this process
    asked = select.poll()
    asked.register(0, 0)  # reads no request, but notices that the other end is closed
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))
    child, ended, status = os.fork(), 0, 0
    with suppress(OSError):  # by whichever of both comes first
        os.setpgid(child, child)
    if not child:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        return
    while not (ended or stopped or asked.poll(LOOK_SECONDS * 1000)):
        ended, status = os.waitpid(child, os.WNOHANG)
    with suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    _end_orphans(monotonic() + END_SECONDS)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:  # end as it has
        os.kill(os.getpid(), -code)
    os._exit(max(code, 0))


def _end_orphans(until: float) -> None:
    while monotonic() < until:
        with suppress(OSError):
            for orphan in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
                os.kill(int(orphan), signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        sleep(LOOK_SECONDS)


def _set_alarm(seconds: float) -> float:
    """Raise KeyboardInterrupt after these seconds, 0 for never; return the seconds left of the previous alarm."""
    return seconds if sys.platform == "win32" else signal.setitimer(signal.ITIMER_REAL, seconds)[0]


def _limit_process(seconds: int, megabytes: int) -> None:
    """Limit this process: its alarms raise KeyboardInterrupt, its memory and files are bounded."""
    if sys.platform == "win32":
        return
    import resource

    signal.signal(signal.SIGALRM, signal.default_int_handler)
    limits = {
        resource.RLIMIT_CPU: seconds + 1,  # for code that ignores KeyboardInterrupt
        resource.RLIMIT_AS: megabytes * MEGABYTE,
        resource.RLIMIT_FSIZE: MEGABYTE,
    }
    for kind, most in limits.items():
        with suppress(OSError, ValueError):  # if the system refuses one, the others hold
            resource.setrlimit(kind, (most, most))
