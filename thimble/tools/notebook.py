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
"""The start of each line of a notes file."""


@dataclass(frozen=True, slots=True)
class Note:
    """One note; the title is a single line."""

    title: str
    text: str


class Notebook:
    """The notes of a session, oldest first, numbered from 1; the numbers never change.

    With a file, each new note is appended to it as a line of JSON. `earlier` are the notes that the file had at the
    start: a new session starts with them, a resumed one has them after its own. No note is ever removed from the file,
    so an undone one is back in a resumed session. `torn` are the numbers of incomplete lines, such as a full disk
    leaves: they stay in the file and are skipped.

    Raises:
        UsageError: the file cannot be read, or is not a file of notes.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.torn: list[int] = []
        self.earlier: Sequence[Note] = _read(file, self.torn) if file else ()
        self.kept: list[Note] = [*self.earlier]

    @property
    def state(self) -> dict[str, Any]:
        """All notes as a JSON-able dict. Setting it replaces all but the earlier ones.

        Raises UsageError if it is not such a dict.
        """
        return {"notes": [{"title": note.title, "text": note.text} for note in self.kept]}

    @state.setter
    def state(self, saved: Mapping[str, Any]) -> None:
        try:
            self.kept = list(dict.fromkeys([*map(_note, saved.get("notes", [])), *self.earlier]))
        except (AttributeError, KeyError, TypeError) as error:
            raise UsageError("the saved notes cannot be read", "start a new session") from error

    def save(self, title: str, text: str) -> int:
        """Keep a note and return its number; an equal note is kept once.

        Raises:
            OSError: the note is kept, but could not be written to the file.
        """
        note = Note(title, text)
        if note not in self.kept:
            self.kept.append(note)
            if self.file:
                _append(self.file, note)
        return self.kept.index(note) + 1


def _read(file: Path, torn: list[int]) -> list[Note]:
    """The notes of a file, each once; none if there is no file yet. The numbers of torn lines go into `torn`."""
    number, fix = 0, "fix it, or name another file: --notes FILE"
    try:
        found = []
        for number, line in enumerate(read_text(file, NOTEBOOK_BYTES).splitlines(), 1):
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
        raise UsageError(f"line {number} of {file} is not a note", fix) from error


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
