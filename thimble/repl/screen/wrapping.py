"""Wrapping: long lines of a terminal are broken between words, which a terminal itself does not care about."""

from __future__ import annotations

import os
from typing import TextIO


def columns(stream: TextIO | None) -> int:
    """How wide this stream is; 0 where it is no terminal, and nothing need be broken."""
    if stream is None or not stream.isatty():
        return 0
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and 0 < len(asked) < 5 and int(asked):
        return int(asked)
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return 0


def wrapped(text: str, width: int, hang: int = 0) -> str:
    """The text with each line broken before the word that leaves `width` columns; what follows keeps its indent.

    With `hang` it is indented by so many columns more. A word that is wider than that stands alone. 0 breaks nothing.
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
