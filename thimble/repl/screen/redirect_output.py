"""The output of user code: to standard error, or above the live lines; sanitised, marked, never in an answer."""

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

MAX_LINE_CHARACTERS = 1 << 16
"""The longest line that is buffered."""
END_SECONDS = 1.0
"""The longest wait for the last output at exit: a surviving child process may hold the pipe open for ever."""
PRINTED = "  your code prints: "
"""The prefix of each line, so that it cannot pass for thimble's own."""


class RedirectedOutput:
    """A block in which printed lines go to standard error, sanitised and marked. It can be entered more than once."""

    def __enter__(self) -> None:
        """Redirect both standard streams."""
        self._out, self._err = sys.stdout, sys.stderr
        self._lines = CleanLines(_printer(sys.stderr), sys.stderr)
        sys.stdout = sys.stderr = self._lines

    def __exit__(self, *_: object) -> None:
        """Restore the streams, and print an unfinished line."""
        sys.stdout, sys.stderr = self._out, self._err
        self._lines.end()

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Restore the standard streams within this block."""
        with redirect_stdout(self._out), redirect_stderr(self._err):
            yield


class CleanLines(io.TextIOBase):
    """A stream that passes lines on, sanitised and marked. A failure must not stop an answer.

    `beneath` is the stream for thimble's own output.
    """

    def __init__(self, show: Callable[[str], object], beneath: TextIO | None) -> None:
        self._show, self.beneath, self._rest = show, beneath, ""

    def write(self, text: str) -> int:
        """Pass on the complete lines."""
        *lines, self._rest = f"{self._rest}{text}".split("\n")
        if len(self._rest) > MAX_LINE_CHARACTERS:
            lines, self._rest = [*lines, self._rest], ""
        with suppress(OSError, ValueError):
            for each in lines:
                self._show(PRINTED + clean(each))
        return len(text)

    def end(self) -> None:
        """Pass on an unfinished line."""
        if self._rest:
            self.write("\n")


@contextmanager
def print_above_live(console: Console) -> Iterator[None]:
    """Print all output of this block sanitised, line by line above the live lines."""
    from rich.file_proxy import FileProxy
    from rich.text import Text

    class AboveLive(CleanLines, FileProxy):
        """A file proxy that rich's own output bypasses."""

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
    """From now on, sanitise and mark the output of child processes, too.

    A pipe replaces both standard file descriptors, and this process writes to copies of them.
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
        while text := printed.readline(MAX_LINE_CHARACTERS):
            stream = sys.stderr
            lines = stream if isinstance(stream, CleanLines) else CleanLines(_printer(stream), None)
            lines.write(text.removesuffix("\n") + "\n")


def _printer(stream: TextIO | None) -> Callable[[str], None]:
    def show(text: str) -> None:
        if stream:
            stream.write(f"{text}\n")
            stream.flush()

    return show
