"""Printed: what code of the user's own, such as a strategy, prints while thimble draws."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import IO

from rich.console import Console
from rich.file_proxy import FileProxy
from rich.text import Text

from repl.screen.apart import Bytes
from repl.screen.sanitise import clean


class Printed(FileProxy):
    """A stream whose text is printed line by line above what is live, cleaned. The console writes past it."""

    def __init__(self, console: Console, file: IO[str]) -> None:
        super().__init__(console, file)
        self._console, self._rest = console, ""

    @property
    def buffer(self) -> Bytes:
        """For bytes, which come the same way."""
        return Bytes(self)

    def write(self, text: str) -> int:
        """Print the lines that are complete."""
        *lines, self._rest = f"{self._rest}{text}".split("\n")
        for each in lines:
            self._console.print(Text(clean(each)), soft_wrap=True)
        return len(text)

    def flush(self) -> None:
        """Nothing waits but an unfinished line."""

    def end(self) -> None:
        """Print what has no line end."""
        if self._rest:
            self.write("\n")


@contextmanager
def printing(console: Console) -> Iterator[None]:
    """Everything that is printed meanwhile comes clean."""
    out, err = Printed(console, sys.stdout), Printed(console, sys.stderr)
    with redirect_stdout(out), redirect_stderr(err):
        try:
            yield
        finally:
            out.end()
            err.end()
