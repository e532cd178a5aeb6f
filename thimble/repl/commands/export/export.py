"""/export: choose the format and the file, and write the file whole or not at all."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from importlib import import_module
from itertools import count
from pathlib import Path

from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.corpus.writing import write_whole
from thimble.repl.commands.command import command, one_of
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.theme import say
from thimble.session.journal.folder import SUFFIX
from thimble.session.session import Session

FORMATS = {"html": "page", "md": "markdown", "json": "document"}
"""The module that writes a format, by the suffix of the file name."""
HOW_TO_EXPORT = "write /export lesson.html; the formats are html, md and json"


@command("export [FILE]", "Sessions", completer=one_of(*FORMATS))
def export(session: Session, rest: str, console: Console) -> None:
    """Write the session to a file: html, md or json.

    /export [FORMAT] [FILE]: html, the default, is a page to click through, call by call. The suffix of FILE can name
    the format. To replace an existing file, put a ! after its name: /export lesson.html!
    """
    kind, path, over = parse_arguments(rest)
    path = path or unused_path(session, kind)
    if os.path.lexists(path) and not path.is_file():
        raise UsageError(f"{path} exists and is not a file", "name another FILE")
    if os.path.lexists(path) and not over:
        raise UsageError(f"{path} already exists", f"to replace it: /export {kind} {path}!")
    if path.suffix == SUFFIX and path.parent.resolve() == session.settings.session_dir.resolve():
        raise UsageError(f"{path} would be taken for a saved session", "name another FILE, or another folder")
    writer = import_module(f"thimble.repl.commands.export.{FORMATS[kind]}")  # late: a format imports much
    size = write(path, writer.export(session))
    branches = len(session.journal.tree.branches)
    holds = f" It contains all {branches} branches." if branches > 1 else ""
    say(console, f"Written: {one_line(str(path))}, {size:,} bytes.{holds}")


def parse_arguments(rest: str) -> tuple[str, Path | None, bool]:
    """Parse the format, the file if one is named, and whether it may be replaced. Raises UsageError."""
    word, _, file = rest.partition(" ")
    if word.lower().lstrip(".") not in FORMATS:
        word, file = "", rest
    file = file.strip()
    name = file.removesuffix("!").rstrip()
    kind = (word or Path(name).suffix).lower().lstrip(".") if rest else "html"
    if kind not in FORMATS:
        raise UsageError(f"unknown export format: {rest[:40]!r}", HOW_TO_EXPORT)
    if one_line(name) != name:
        raise UsageError("invalid file name: it contains unprintable characters", HOW_TO_EXPORT)
    try:
        return kind, Path(name).expanduser() if name else None, file.endswith("!")
    except RuntimeError as error:  # an unknown ~user
        raise UsageError(f"there is no folder {name[:40]}", HOW_TO_EXPORT) from error


def unused_path(session: Session, ending: str) -> Path:
    """An unused file name in the current folder: the session's name, or the current time."""
    named = re.sub(r"[^\w-]+", "-", session.journal.tree.name).strip("-")
    stem = named or time.strftime("thimble-%Y-%m-%d-%H%M")
    names = (Path(f"{stem}{f'-{number}' if number > 1 else ''}.{ending}") for number in count(1))
    return next(path for path in names if not os.path.lexists(path))


def write(path: Path, pieces: Iterable[str]) -> int:
    """Write a file whole or not at all; return its bytes. Raises UsageError if it cannot be written."""
    try:
        return write_whole(path, pieces)
    except OSError as error:
        fix = "name a FILE in a folder that you can write to"
        raise UsageError(f"{path} cannot be written: {error.strerror or error}", fix) from error
