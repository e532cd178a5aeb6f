"""How an experiment ends: with its tables, or with one line what is wrong; whoever reads them may leave earlier."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable

from agent.errors import ThimbleError


def ended(prog: str, run: Callable[[], object]) -> int:
    """Run an experiment, called `prog` where it fails, and return the exit code: 0 done, 1 stopped, 2 wrong usage."""
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
    except OSError as error:  # what is left in the buffer must not complain at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # whoever read has gone
            return 1
        print(f"{prog}: cannot write: {error.strerror or error}", "fix: check where it goes", sep="\n", file=sys.stderr)
        return 2
    return 0
