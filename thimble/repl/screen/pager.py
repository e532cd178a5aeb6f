"""What is longer than the screen goes to a pager where a person sits at a terminal that has `less`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from shutil import which
from subprocess import run

from rich.console import Console
from rich.pager import Pager

from thimble.repl.screen.keys import keep_waiting
from thimble.repl.screen.theme import is_drawn

LESS = ("-F", "-K", "-R", "-X", "-Psspace reads on, q goes back to thimble ")
"""A short text is printed and left; Ctrl-C ends it as `q` does; colours are shown; the text stays; its prompt."""


class Less(Pager):
    """`less`, which can start nothing here: what it shows is not trusted."""

    def show(self, content: str) -> None:
        """Show a text until the user leaves it."""
        keep_waiting()  # a question that was typed ahead is no key of less
        environment = {**os.environ, "LESSCHARSET": "utf-8", "LESSSECURE": "1"}
        with suppress(KeyboardInterrupt):  # less hears it too, and ends
            text, out, err = content.encode(errors="replace"), sys.__stdout__, sys.__stderr__
            run(["less", *LESS], input=text, stdout=out, stderr=err, env=environment, check=False)


@contextmanager
def paged(console: Console) -> Iterator[None]:
    """All that is printed meanwhile is one text for the pager; elsewhere it is printed as ever."""
    if not (is_drawn(console) and console.file.isatty() and sys.stdin.isatty() and which("less")):
        yield
        return
    with console.pager(Less(), styles=True):
        yield
