"""Run an experiment to its exit code. An error is one line; the reader of a pipe may close it early."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable

from agent.errors import ThimbleError


def ended(prog: str, run: Callable[[], object]) -> int:
    """Run an experiment (`prog` in error messages) and return the exit code: 0 done, 1 stopped, 2 wrong usage."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        run()
        sys.stdout.flush()
    except ThimbleError as error:
        print(f"{prog}: {error.what}", f"fix: {error.fix}", sep="\n", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stopped:
        print(f"{prog}: {str(stopped) or 'stopped'}", file=sys.stderr)
        return 1
    except OSError as error:  # the rest of the buffer must not raise an error at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader has closed the pipe
            return 1
        print(f"{prog}: cannot write: {error.strerror or error}", "fix: check where it goes", sep="\n", file=sys.stderr)
        return 2
    return 0
