"""Apart: what code of the user's own prints goes to standard error, clean, and never among the answers."""

from __future__ import annotations

import io
import os
import sys
from contextlib import ExitStack, redirect_stderr, redirect_stdout, suppress
from tempfile import TemporaryFile
from types import TracebackType
from typing import Any, BinaryIO, TextIO

from repl.screen.sanitise import clean
from session.uninterrupted import uninterrupted

MOST_BYTES = 1 << 20
"""The most bytes that are shown of what was written past Python's streams in one go."""
MOST_LETTERS = 1 << 16
"""The longest line that is waited for."""


class Apart:
    """In it everything printed goes to standard error, each line clean; can be entered again and again.

    What Python prints is shown at once. What is written to the descriptors 1 and 2, as by a program that a strategy
    starts, is shown on leaving, where these are the standard streams.
    """

    def __init__(self) -> None:
        self._file: BinaryIO | None = None
        self._stack = ExitStack()

    def __enter__(self) -> None:
        """Begin, whole or not at all."""
        try:
            with uninterrupted():
                self._begin()
        except KeyboardInterrupt:
            self._stack.close()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Show the rest."""
        try:
            with uninterrupted():
                self._stack.close()
        finally:
            self._stack.close()  # Ctrl-C may come before it waits

    def _begin(self) -> None:
        real = sys.stderr
        if _number(sys.stdout) == 1 and _number(sys.stderr) == 2:
            real = self._descriptors()
        shown = Clean(real)
        self._stack.callback(shown.end)
        self._stack.enter_context(redirect_stdout(shown))
        self._stack.enter_context(redirect_stderr(shown))

    def lifted(self) -> ExitStack:
        """Until the end of what this returns, the standard streams are the real ones again."""
        self.__exit__(None, None, None)
        back = ExitStack()
        back.callback(self.__enter__)
        return back

    def _descriptors(self) -> TextIO:
        """Turn both descriptors to a file; standard error as it was."""
        _flush()
        if self._file is None:
            self._file = TemporaryFile(buffering=0)  # noqa: SIM115
        kept = os.dup(1), os.dup(2)
        real = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace")
        self._stack.callback(real.close)
        self._stack.callback(self._show, real)
        self._stack.callback(self._back, *kept)
        for number in (1, 2):
            os.dup2(self._file.fileno(), number)
        return real

    def _back(self, *kept: int) -> None:
        _flush()
        for number, before in enumerate(kept, 1):
            os.dup2(before, number)
            os.close(before)

    def _show(self, real: TextIO) -> None:
        if self._file is None or not self._file.tell():
            return
        self._file.seek(0)
        written = self._file.read(MOST_BYTES).decode("utf-8", "replace")
        self._file.seek(0)
        self._file.truncate()
        shown = Clean(real)
        shown.write(written)
        shown.end()


class Clean(io.TextIOBase):
    """A stream that passes lines on, clean. A failure must not stop an answer."""

    def __init__(self, real: TextIO | None) -> None:
        self._real, self._rest = real, ""

    @property
    def buffer(self) -> Any:
        """For bytes."""
        return Bytes(self)

    def write(self, text: str) -> int:
        """Pass on the lines that are complete."""
        *lines, self._rest = f"{self._rest}{text}".split("\n")
        if len(self._rest) > MOST_LETTERS:
            lines, self._rest = [*lines, self._rest], ""
        if self._real and lines:
            with suppress(OSError, ValueError):
                self._real.write("".join(f"{clean(each)}\n" for each in lines))
                self._real.flush()
        return len(text)

    def end(self) -> None:
        """Pass on what has no line end."""
        if self._rest:
            self.write("\n")


class Bytes(io.RawIOBase):
    """The bytes of a text stream, so that nobody writes past it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, data: Any) -> int:
        """Write them as text."""
        self._stream.write(bytes(data).decode("utf-8", "replace"))
        return len(data)


def _number(stream: TextIO | None) -> int:
    try:
        return stream.fileno() if stream else -1
    except (OSError, ValueError):  # no file is behind it
        return -1


def _flush() -> None:
    for stream in (sys.__stdout__, sys.__stderr__):
        with suppress(OSError, ValueError):
            if stream:
                stream.flush()
