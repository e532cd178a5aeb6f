"""The exit code of an experiment: errors become one line and its fix; the reader of a pipe may close it early."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress

from thimble.agent.errors import ThimbleError, UsageError


def exit_code(prog: str, run: Callable[[], object]) -> int:
    """Run an experiment (`prog` in error messages) and return the exit code.

    0 success; 1 interrupted, or the reader closed the pipe; 2 wrong usage, or standard output is closed or full.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        return _run(run)
    except ThimbleError as error:
        return _print_error(2, f"{prog}: {error.what}", f"fix: {error.fix}")
    except KeyboardInterrupt as stopped:
        return _print_error(1, f"{prog}: {str(stopped) or 'stopped'}")
    except OSError as error:  # or flushing the rest of the buffer at exit raises it again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 1
        return _print_error(2, f"{prog}: cannot write: {error.strerror or error}", "fix: check where it goes")


def _run(run: Callable[[], object]) -> int:
    if sys.stdout is None:
        raise UsageError("standard output is closed", "open it: > FILE")
    code = 0
    try:
        run()
    except SystemExit as ending:  # raised by --help, or by rich when the reader of a pipe is gone
        code = int(bool(ending.code))
    sys.stdout.flush()
    return code


def _print_error(code: int, *lines: str) -> int:
    """Print the lines to standard error if it is open, and return the code."""
    with suppress(OSError):
        if sys.stderr is not None:
            print(*lines, sep="\n", file=sys.stderr)
    return code
