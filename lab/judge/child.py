"""One file of a contest in a process of its own: its time and memory end there, and so does all that it prints."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import asdict, dataclass, replace
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryFile

from thimble.agent.errors import UsageError
from thimble.lab.judge.dialogues import Dialogue
from thimble.lab.judge.measure import Measured, measured
from thimble.lab.pool import deaf
from thimble.lab.replay.recorded_replay import ReplaySetting
from thimble.strategies.own_code import in_line, in_words

MOST_MEMORY, MOST_WRITTEN = 2 << 30, 1 << 20
"""Bytes of memory that a file may use, and of each file that it may write."""
MOST_REPLY = 100_000
"""Bytes of what a process says about its strategy."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A strategy of the contest: its name in the table, its SPEC, and the folder that this is read in."""

    name: str
    spec: str
    folder: Path


def judged(
    entry: Entry, dialogues: Sequence[Dialogue], settings: Sequence[ReplaySetting], seconds: int
) -> Measured | str:
    """What the strategy does on the dialogues; or, in one line, why it has no score. It never raises for a strategy."""
    receiver, sender = Pipe(duplex=False)
    process = Process(target=_judge, args=(sender, entry, dialogues, settings), daemon=True)
    with deaf():
        process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            return f"it had not ended after {seconds} s"
        found = json.loads(receiver.recv_bytes(MOST_REPLY))
    except (EOFError, OSError):
        process.join()
        return f"its process ended by itself, with exit code {process.exitcode}"
    finally:
        with suppress(OSError):
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.kill()
        process.join()
        receiver.close()
    return found if isinstance(found, str) else Measured(**found)


def _judge(sender: Connection, entry: Entry, dialogues: Sequence[Dialogue], settings: Sequence[ReplaySetting]) -> None:
    os.setsid()
    reply: object
    with TemporaryFile("w") as printed, redirect_stdout(printed):
        os.dup2(printed.fileno(), 1)
        os.dup2(os.open(os.devnull, os.O_RDWR), 2)
        try:
            _limit(resource.RLIMIT_AS, MOST_MEMORY)
            _limit(resource.RLIMIT_FSIZE, MOST_WRITTEN)
            os.chdir(entry.folder)
            reply = asdict(measured(dialogues, [replace(one, strategy=entry.spec) for one in settings]))
        except UsageError as error:
            reply = in_line(error.what.removeprefix(f"{entry.spec} failed on "))
        except BaseException as error:  # a participant's code may raise anything
            reply = in_words(error)
        with suppress(OSError):
            printed.flush()
        if os.fstat(1).st_size:
            reply = "it prints; a strategy returns messages and prints nothing"
        sender.send_bytes(json.dumps(reply).encode())
        os._exit(0)


def _limit(what: int, most: int) -> None:
    with suppress(OSError, ValueError):  # where the system has no such limit
        resource.setrlimit(what, (most, most))
