"""paths: the names of files and folders, one a line, as find and ls -R write them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from strategies.kinds.kind import Kind, Unit, first_lines, lines_of

LETTERS = r"[^\s:*?\"'<>|=;{}`,]"
PATH = re.compile(rf"(?=[^\s/]{{0,255}}/)(?![A-Za-z0-9+/=]{{40,}}$){LETTERS}(?:{LETTERS}| (?! )){{0,500}}$")
NAMES = re.compile(rf"{LETTERS}{{1,255}}+(?:(?:\t|  )[ \t]{{0,99}}+{LETTERS}{{1,255}}+)*$")
FOLDER = re.compile(rf"{LETTERS}{{1,500}}:$")
MOST = 0.7
"""Share of the first lines that must be paths, or folders and their names."""
HEADING, NONE = 4.0, -4.0
"""Bits of a folder above its names, and of no line."""


def units(text: str) -> Sequence[Unit] | None:
    """Each line is a unit, if seven of ten of the first lines are paths, or names below two folders or more."""
    first = first_lines(text)
    if len(first) < 3 or not (_listed(first) or sum(bool(PATH.match(line)) for line in first) >= MOST * len(first)):
        return None
    found, above = [], ""
    for line in lines_of(text):
        name = line.strip()
        if name.endswith(":") and FOLDER.match(name):
            above = name[:-1]
            found.append(Unit(line, "folder", (above,), HEADING))
        elif name:
            folder, _, last = name.rpartition("/")
            found.append(Unit(line, "path", (folder or above, last.rpartition(".")[2], last)))
        else:
            found.append(Unit(line, weight=NONE))
    return found


def _listed(first: Sequence[str]) -> bool:
    """Whether these are names below two folders or more."""
    if not any(map(FOLDER.match, first[:2])):
        return False
    folders = sum(bool(FOLDER.match(line)) for line in first)
    return folders > 1 and folders + sum(bool(NAMES.match(line)) for line in first) >= MOST * len(first)


PATHS = Kind("paths", "paths", units)
