"""One file of a contest in a process of its own: its time and memory end there, and so does all that it prints."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryFile

from thimble.agent.errors import UsageError
from thimble.lab.judge.dialogues import Dialogue
from thimble.lab.judge.measure import Measured, measured
from thimble.lab.pool import ignore_sigint
from thimble.lab.replay.recorded_replay import ReplaySetting
from thimble.strategies.own_code import in_line, in_words

LIMITS = {"RLIMIT_AS": 2 << 30, "RLIMIT_FSIZE": 1 << 20}
"""Bytes of memory that a strategy may use, and of each file that it may write."""


def judged(
    spec: str, folder: Path, dialogues: Sequence[Dialogue], settings: Sequence[ReplaySetting], seconds: int
) -> Measured | str:
    """What a strategy, of a file in the folder, does on the dialogues; or, in one line, why it has no score."""
    receiver, sender = Pipe(duplex=False)
    process = Process(target=_judge, args=(sender, spec, folder, dialogues, settings), daemon=True)
    with ignore_sigint():
        process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            return f"it had not ended after {seconds} s"
        found: Measured | str = receiver.recv()
        return found
    except EOFError:
        process.join()
        return f"its process ended by itself, with exit code {process.exitcode}"
    finally:
        process.kill()
        with suppress(OSError, AttributeError):  # nothing that it has started is left, where the system has groups
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()


def _judge(
    sender: Connection, spec: str, folder: Path, dialogues: Sequence[Dialogue], settings: Sequence[ReplaySetting]
) -> None:
    if hasattr(os, "setsid"):
        os.setsid()
    reply: Measured | str
    with TemporaryFile("w") as printed, redirect_stdout(printed):
        os.dup2(printed.fileno(), 1)
        os.dup2(os.open(os.devnull, os.O_RDWR), 2)
        try:
            with suppress(ImportError, OSError, ValueError):  # where the system has no such limit
                import resource

                for limit, most in LIMITS.items():
                    resource.setrlimit(getattr(resource, limit), (most, most))
            os.chdir(folder)
            reply = measured(dialogues, [replace(one, strategy=spec) for one in settings])
        except UsageError as error:
            reply = in_line(error.what.removeprefix(f"{spec} failed on "))
        except BaseException as error:  # a participant's code may raise anything
            reply = in_words(error)
        with suppress(OSError):
            printed.flush()
        if os.fstat(1).st_size:
            reply = "it prints; a strategy returns messages and prints nothing"
        sender.send(reply)
        os._exit(0)
