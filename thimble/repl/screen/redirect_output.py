"""What code of the user's own prints: to standard error, or above what is live; clean, marked, never in an answer."""

from __future__ import annotations

import atexit
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import cache
from threading import Thread
from typing import IO, TYPE_CHECKING, TextIO

from thimble.repl.screen.sanitise import clean

if TYPE_CHECKING:
    from rich.console import Console

MOST_LETTERS = 1 << 16
"""The longest line that is waited for."""
END_SECONDS = 1.0
"""How long the last of it may take at the end: a process that goes on may hold the pipe for ever."""
PRINTED = "  your code prints: "
"""Before each line, so that none reads as one of thimble's."""


class RedirectedOutput:
    """In it what Python prints goes to standard error, each line clean and marked. It can be entered more than once."""

    def __enter__(self) -> None:
        """Begin."""
        self._out, self._err = sys.stdout, sys.stderr
        self._lines = CleanLines(_printer(sys.stderr), sys.stderr)
        sys.stdout = sys.stderr = self._lines

    def __exit__(self, *_: object) -> None:
        """Show the rest."""
        sys.stdout, sys.stderr = self._out, self._err
        self._lines.end()

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Meanwhile the standard streams are the real ones again."""
        with redirect_stdout(self._out), redirect_stderr(self._err):
            yield


class CleanLines(io.TextIOBase):
    """A stream that passes lines on, clean and marked. A failure must not stop an answer.

    `beneath` is the stream for what thimble itself says meanwhile.
    """

    def __init__(self, show: Callable[[str], object], beneath: TextIO | None) -> None:
        self._show, self.beneath, self._rest = show, beneath, ""

    def write(self, text: str) -> int:
        """Pass on the lines that are complete."""
        *lines, self._rest = f"{self._rest}{text}".split("\n")
        if len(self._rest) > MOST_LETTERS:
            lines, self._rest = [*lines, self._rest], ""
        with suppress(OSError, ValueError):
            for each in lines:
                self._show(PRINTED + clean(each))
        return len(text)

    def end(self) -> None:
        """Pass on what has no line end."""
        if self._rest:
            self.write("\n")


@contextmanager
def print_above_live(console: Console) -> Iterator[None]:
    """Everything that is printed meanwhile comes clean, line by line above what is live."""
    from rich.file_proxy import FileProxy
    from rich.text import Text

    class AboveLive(CleanLines, FileProxy):
        """A proxy for a file, past which rich itself writes."""

        def __init__(self, file: IO[str]) -> None:
            FileProxy.__init__(self, console, file)
            CleanLines.__init__(self, lambda text: console.print(Text(text), soft_wrap=True), None)

    out, err = AboveLive(sys.stdout), AboveLive(sys.stderr)
    with redirect_stdout(out), redirect_stderr(err):
        try:
            yield
        finally:
            out.end()
            err.end()


@cache
def mark_output_of_children() -> None:
    """From now on what a child process prints comes clean and marked, too.

    A pipe takes the place of the two standard files, and this process itself writes to copies of them.
    """
    if sys.platform == "win32" or not (sys.stdout is sys.__stdout__ and sys.stderr is sys.__stderr__ is not None):
        return
    here, there = os.pipe()
    for name, buffering in (("stdout", -1), ("stderr", 1)):
        stream = getattr(sys, name)
        copy = os.fdopen(os.dup(stream.fileno()), "w", buffering, stream.encoding, stream.errors)
        os.dup2(there, stream.fileno())
        vars(sys).update({name: copy, f"__{name}__": copy})
    os.close(there)
    reader = Thread(target=_mark, args=(here,), daemon=True)
    reader.start()

    @atexit.register
    def end() -> None:
        os.closerange(1, 3)
        reader.join(END_SECONDS)


def _mark(pipe: int) -> None:
    with os.fdopen(pipe, errors="replace", newline="\n") as printed:
        while text := printed.readline(MOST_LETTERS):
            stream = sys.stderr
            lines = stream if isinstance(stream, CleanLines) else CleanLines(_printer(stream), None)
            lines.write(text.removesuffix("\n") + "\n")


def _printer(stream: TextIO | None) -> Callable[[str], None]:
    def show(text: str) -> None:
        if stream:
            stream.write(f"{text}\n")
            stream.flush()

    return show
