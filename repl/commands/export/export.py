"""The command /export: which format, which file, and a file that is whole or not there."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from agent.errors import UsageError
from corpus.writing import write_whole
from repl.commands.export import document, markdown, page, picture
from repl.commands.export.story import beginning
from repl.commands.export.story import path as lines_of
from repl.screen.sanitise import line
from repl.screen.theme import is_drawn, say
from session.journal.folder import SUFFIX

if TYPE_CHECKING:
    from session.session import Session


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the ending of its files, its description, and a function that yields the text of a file.

    `all_branches` is off where it tells the branch in use alone, as a terminal does.
    """

    ending: str
    meaning: str
    pieces: Callable[[Session, int], Iterator[str]]
    all_branches: bool = True


FORMATS = {
    "html": Format("html", "a page to click through, call by call", page.export),
    "svg": Format("svg", "a picture of the terminal", picture.export, all_branches=False),
    "md": Format("md", "Markdown", markdown.export),
    "json": Format("json", "one JSON document, every view in it", document.export),
}
HOW_TO_EXPORT = "write /export lesson.html; the formats are html, svg, md and json"
PLAIN_COLUMNS = 100


def export(session: Session, rest: str, console: Console) -> None:
    """Write the file and say where. Raises UsageError; then there is no file, or the one that was there."""
    kind, path, over = wanted(rest)
    path = path or free(session, FORMATS[kind].ending)
    if os.path.lexists(path) and not path.is_file():
        raise UsageError(f"{path} is there, and is no file", "name another FILE")
    if os.path.lexists(path) and not over:
        raise UsageError(f"{path} is there already", f"to replace it: /export {kind} {path}!")
    columns = console.width if is_drawn(console) else PLAIN_COLUMNS
    if path.suffix == SUFFIX and path.parent.resolve() == session.settings.session_dir.resolve():
        raise UsageError(f"{path} is where a session is kept", "name another FILE")
    size = write(path, FORMATS[kind].pieces(session, columns))
    branches = len(session.journal.tree.branches)
    alone = f"branch {session.journal.tree.current} of {branches}, the one in use; html, json and md hold all"
    holds = f"all {branches} branches" if FORMATS[kind].all_branches else alone
    which = f" It holds {holds}." if branches > 1 else ""
    say(console, f"Written: {line(str(path))}, {size:,} bytes.{which}")


def wanted(rest: str) -> tuple[str, Path | None, bool]:
    """The format, the file if one is named, and whether it may be replaced. Raises UsageError."""
    word, _, file = rest.partition(" ")
    if word.lower().lstrip(".") not in FORMATS:
        word, file = "", rest
    file = file.strip()
    name = file.removesuffix("!").rstrip()
    ending = (word or Path(name).suffix).lower().lstrip(".")
    kind = ending if rest else "html"
    if kind not in FORMATS:
        raise UsageError(f"/export does not know the format of {rest[:40]!r}", HOW_TO_EXPORT)
    if line(name) != name:
        raise UsageError("a file cannot be named so: the name holds signs that no terminal shows", HOW_TO_EXPORT)
    try:
        return kind, Path(name).expanduser() if name else None, file.endswith("!")
    except RuntimeError as error:  # a ~user that nobody is
        raise UsageError(f"there is no folder {name[:40]}", HOW_TO_EXPORT) from error


def free(session: Session, ending: str) -> Path:
    """A name in the current folder that no file has: the session's, or when it is exported."""
    _, _, name = beginning(lines_of(session))
    named = re.sub(r"[^\w-]+", "-", name).strip("-")
    stem = named or time.strftime("thimble-%Y-%m-%d-%H%M")
    names = (Path(f"{stem}{f'-{number}' if number > 1 else ''}.{ending}") for number in count(1))
    return next(path for path in names if not os.path.lexists(path))


def write(path: Path, pieces: Iterable[str]) -> int:
    """Write a file whole or not at all; its bytes. Raises UsageError where it cannot be written."""
    try:
        return write_whole(path, pieces)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}", "name another FILE") from error
