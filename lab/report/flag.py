"""The flag `--report FILE.html` of an experiment."""

from __future__ import annotations

import glob
import os
from argparse import ArgumentParser
from pathlib import Path

from agent.errors import UsageError

ENDING = ".html"


def add_report(parser: ArgumentParser) -> None:
    """Add the flag. Its value is None, or a path that can be written: it is checked before the work begins."""
    told = f"write a page with figures, and its data beside it as CSV; FILE{ENDING}! replaces them"
    parser.add_argument("--report", type=destination, metavar=f"FILE{ENDING}", help=told)


def destination(text: str) -> Path:
    """The path of the page. With a `!` behind it, it may be there already.

    Raises:
        UsageError: it cannot be written, or would replace a file.
    """
    name = text.removesuffix("!")
    path = Path(name)
    if path.suffix.lower() != ENDING or "\0" in name:
        raise UsageError(f"--report {text[:200]!r} is no page", f"give a path that ends in {ENDING}")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK) or path.is_dir():
        raise UsageError(f"--report {path} cannot be written", "give a path in a folder that exists and is yours")
    data = path.parent.glob(f"{glob.escape(path.stem)}-*.csv")
    taken = [one for one in data if one.stem.removeprefix(f"{path.stem}-").isdecimal()]
    there = [path] * os.path.lexists(path) + taken
    if there and name == text:
        raise UsageError(f"{there[0]} is there already", f"to replace it: --report '{path}!'")
    return path
