"""Watch: check the file at every save; keys give a hint, the next exercise, the starter."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.repl.screen.theme import say
from thimble.session.watched_strategy import file_stamp
from thimble.workshop.progress import Progress
from thimble.workshop.steps import check_file, reset_exercise, show_hint, show_page

WATCH_KEYS = "h hint · n next · r reset · q leave"
LOOK_SECONDS = 0.2
"""Seconds between polls of the file; polling works on any disk, and if an editor renames a new file into place."""


def watch_exercise(progress: Progress, out: Console) -> None:
    """Show the page, and check at every save, until q or Ctrl-C; n shows the next exercise.

    Raises:
        UsageError: there is no terminal for the keys, or the file is gone.
    """
    with _single_keys():
        show_page(progress, out)
        progress.at = progress.exercise.name  # stay, until the key
        seen = file_stamp(progress.file)
        key = "n"
        while True:
            if key:
                say(out, WATCH_KEYS, "quiet")
            while not (key := _read_key()) and (now := file_stamp(progress.file) or seen) == seen:
                pass
            match key:
                case "":
                    seen = now
                    say(out, WATCH_KEYS, "quiet")  # the verdict is the last line
                    check_file(progress, out)
                case "h":
                    show_hint(progress, out)
                case "r":
                    reset_exercise(progress, out)
                case "n":
                    progress.advance()
                    show_page(progress, out)
                    seen = file_stamp(progress.file)
                case "q":
                    return


def _read_key() -> str:
    """The key that was pressed, or "" after a moment without one."""
    ready, _, _ = select.select([sys.stdin], [], [], LOOK_SECONDS)
    return sys.stdin.read(1).lower() or "q" if ready else ""


@contextmanager
def _single_keys() -> Iterator[None]:
    """Keys come one by one, without Enter."""
    if not sys.stdin.isatty() or sys.platform == "win32":
        raise UsageError("watch needs a terminal for its keys", "thimble workshop check checks once")
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
