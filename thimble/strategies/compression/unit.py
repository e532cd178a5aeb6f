"""Unit: a piece of a text that an excerpt keeps or leaves out, and lines as units."""

from __future__ import annotations

import re
from dataclasses import dataclass

DIGIT = re.compile(r"\d")
VARIABLE = re.compile(r"((?<![\w./:+-])[\w./:+-]*?\d[\w./:+-]*+)")
"""A word with a digit: a number, a date, an id, a path. Lines of one shape differ in these."""


@dataclass(slots=True)
class Unit:
    """A piece of a text that stays or goes whole: a line, a record.

    `shape`: units of one shape say the same about different things. `cells`: their differing parts; cell n of one
    unit compares with cell n of another one of this shape.
    """

    text: str
    shape: str = ""
    cells: tuple[str, ...] = ()


def line_unit(line: str) -> Unit:
    """A line as a unit: its shape is the line without its variables, which are its cells."""
    return Unit(line, *split_variables(line))


def split_variables(line: str) -> tuple[str, tuple[str, ...]]:
    """A line without its variables, and the variables."""
    parts = VARIABLE.split(line)
    return "0".join(parts[::2]).strip(), tuple(parts[1::2])


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends; joined, they are the text. A line ends at a newline and nowhere else."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
