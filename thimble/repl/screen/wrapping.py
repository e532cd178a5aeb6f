"""Wrapping: break long lines between words; a terminal breaks within them."""

from __future__ import annotations

import os
from typing import TextIO


def stream_width(stream: TextIO | None) -> int:
    """The width of this stream in columns; 0 if it is not a terminal, so that nothing is wrapped."""
    if stream is None or not stream.isatty():
        return 0
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and 0 < len(asked) < 5 and int(asked):
        return int(asked)
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return 0


def wrap_text(text: str, width: int, hang: int = 0) -> str:
    """Wrap each line before the word that exceeds `width` columns; continuation lines keep its indent.

    `hang` adds columns to that indent. A longer word gets its own line. A width of 0 wraps nothing.
    """
    return "\n".join(part for each in text.split("\n") for part in _parts(each, width, hang)) if width else text


def _parts(line: str, width: int, hang: int) -> list[str]:
    from rich.cells import cell_len

    if cell_len(line) <= width:
        return [line]
    bare = line.lstrip(" ")
    indent = len(line) - len(bare)
    parts, used = [line[:indent]], indent
    begun = False
    for word in bare.split(" "):
        wide = cell_len(word)
        if begun and used + 1 + wide > width:
            parts.append(" " * (indent + hang))
            used, begun = indent + hang, False
        parts[-1] += f" {word}" if begun else word
        used, begun = used + wide + begun, True
    return [part.rstrip(" ") for part in parts]
