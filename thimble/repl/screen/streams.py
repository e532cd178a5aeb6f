"""The standard streams: lines to standard error, text to standard output, and closed or full streams."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from thimble.agent.errors import UsageError
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.wrapping import stream_width, wrap_text


def write_error_line(text: str) -> None:
    """Print one line to standard error with its indent; on a terminal wrapped between words."""
    indent = " " * (len(text) - len(text.lstrip(" ")))
    write_error(wrap_text(f"{indent}{one_line(text)}", stream_width(sys.stderr)) + "\n")


def write_error(text: str) -> None:
    """Write to standard error. A failure there must not stop an answer."""
    stream: TextIO | None = getattr(sys.stderr, "beneath", sys.stderr)
    if stream is None:  # it was closed
        return
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        _discard_output(stream)


def write_output(text: str) -> None:
    """Write to standard output, and flush."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        raise output_error(error) from error


def write_json(type: str, **fields: object) -> None:
    """Write a line of JSON to standard output, with this type and these fields."""
    from thimble.session.jsonl import to_line

    write_output(to_line({"type": type, **fields}))


class Unwritable(UsageError):
    """Standard output is closed or full: no further output arrives."""


def output_error(error: OSError) -> Exception:
    """The exception for a standard output that cannot be written to; from now on its text is dropped."""
    _discard_output(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return error
    return Unwritable(f"cannot write to standard output: {error.strerror}", "check the file or disk that it goes to")


def _discard_output(stream: TextIO) -> None:
    """Drop all text of this stream, buffered text too, so that it cannot fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
