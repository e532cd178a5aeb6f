"""A notebook: the notes that a model keeps, for one session or in a file for all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thimble.agent.errors import UsageError
from thimble.corpus.reading import read_text

NOTEBOOK_BYTES = 1_000_000
ENTRY_BEGINNING = '{"title": '
"""What each line of a file of notes begins with."""


@dataclass(frozen=True, slots=True)
class Note:
    """One note; the title is a single line."""

    title: str
    text: str


class Notebook:
    """The notes of a session, oldest first. Their numbers begin at 1 and stay.

    With a file, each new note is a line of JSON at its end. The notes that it held at the start are `earlier`: a new
    session begins with them, and one that goes on has them behind its own. Nothing takes a note out of the file again:
    one that was undone is back in a session that is resumed. `torn` are the numbers of the lines that are no whole
    note, such as a disk leaves that was full: they stay in the file and are left out.

    Raises:
        UsageError: the file cannot be read, or holds something else.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.torn: list[int] = []
        self.earlier: Sequence[Note] = _read(file, self.torn) if file else ()
        self.kept: list[Note] = [*self.earlier]

    @property
    def state(self) -> dict[str, Any]:
        """All notes as a JSON-able dict. Setting it replaces all but the earlier ones.

        Raises UsageError when it is not such a dict.
        """
        return {"notes": [{"title": note.title, "text": note.text} for note in self.kept]}

    @state.setter
    def state(self, saved: Mapping[str, Any]) -> None:
        try:
            self.kept = list(dict.fromkeys([*map(_note, saved.get("notes", [])), *self.earlier]))
        except (AttributeError, KeyError, TypeError) as error:
            raise UsageError("the saved notes cannot be read", "start a new session") from error

    def save(self, title: str, text: str) -> int:
        """Keep a note and return its number; the same note twice is kept once.

        Raises:
            OSError: it is kept, and could not be written to the file.
        """
        note = Note(title, text)
        if note not in self.kept:
            self.kept.append(note)
            if self.file:
                _append(self.file, note)
        return self.kept.index(note) + 1


def _read(file: Path, torn: list[int]) -> list[Note]:
    """The notes of a file, each once; none where it is not there yet. The numbers of torn lines go into `torn`."""
    number, fix = 0, "mend it, or name another file: --notes FILE"
    try:
        found = []
        for number, line in enumerate(read_text(Path(os.path.realpath(file)), NOTEBOOK_BYTES).splitlines(), 1):
            try:
                found += [_note(json.loads(line))] if line.strip() else []
            except json.JSONDecodeError:
                if not (line.startswith(ENTRY_BEGINNING) or ENTRY_BEGINNING.startswith(line)):
                    raise
                torn.append(number)
        return list(dict.fromkeys(found))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"the notes in {file} cannot be read: {error.strerror}", fix) from error
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"line {number} of {file} is no note", fix) from error


def _append(file: Path, note: Note) -> None:
    """Write a line at the end, whole or not at all. Raises OSError."""
    line = json.dumps({"title": note.title, "text": note.text}).encode() + b"\n"
    with open(file, "a+b", buffering=0, opener=lambda path, flags: os.open(path, flags, 0o600)) as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(0, size - 1))
        if opened.read(1) not in (b"", b"\n"):
            line = b"\n" + line
        try:
            while line:
                line = line[opened.write(line) :]
        except BaseException:
            opened.truncate(size)
            raise


def _note(saved: Any) -> Note:
    return Note(_text(saved["title"]), _text(saved["text"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value
