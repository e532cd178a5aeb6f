"""Notes: what the model keeps for itself, in memory for one session; and its tools, save_note and get_notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.errors import ToolError, UsageError
from agent.protocols import Tool
from corpus.markdown import shorten
from corpus.words import content_words, stem, stems
from tools.schema import tool
from tools.wording import counted, quoted

TEXT_LIMIT = 4_000


@dataclass(frozen=True, slots=True)
class Note:
    """One note; the title is a single line."""

    title: str
    text: str


class Notes:
    """The notes of a session, oldest first. Their numbers begin at 1 and stay."""

    def __init__(self) -> None:
        self.kept: list[Note] = []

    @property
    def state(self) -> dict[str, Any]:
        """All notes as a JSON-able dict. Setting it replaces them; raises UsageError when it is not such a dict."""
        return {"notes": [{"title": note.title, "text": note.text} for note in self.kept]}

    @state.setter
    def state(self, saved: Mapping[str, Any]) -> None:
        try:
            self.kept = [Note(_text(note["title"]), _text(note["text"])) for note in saved.get("notes", [])]
        except (AttributeError, KeyError, TypeError) as error:
            raise UsageError("the saved notes cannot be read", "start a new session") from error

    def save(self, title: str, text: str) -> int:
        """Keep a note and return its number; the same note twice is kept once."""
        note = Note(title, text)
        if note not in self.kept:
            self.kept.append(note)
        return self.kept.index(note) + 1

    def matching(self, query: str) -> list[tuple[int, Note]]:
        """The notes that hold every word of the query, with their numbers; all of them for an empty one."""
        wanted = {stem(word) for word in content_words(query)}
        numbered = enumerate(self.kept, 1)
        return [(number, note) for number, note in numbered if wanted <= stems(f"{note.title} {note.text}")]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def note_tools(notes: Notes) -> list[Tool]:
    """The tools bound to one session's notes."""
    bound = NoteTools(notes)
    return [tool(bound.save_note), tool(bound.get_notes)]


class NoteTools:
    """What a model may do with notes. The docstrings of the methods are written for the model."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def save_note(self, title: str, text: str) -> str:
        """Keep a fact for later; notes outlast old results.

        Args:
            title: A few words.
            text: The fact and where it stands.
        """
        kept = text.strip()
        if not kept:
            raise ToolError("the note has no text")
        if len(kept) > TEXT_LIMIT:
            raise ToolError(f"the note has {len(kept):,} characters and may have {TEXT_LIMIT:,}: keep the facts only")
        heading = shorten(title, 100) or shorten(kept, 50)
        return f"Saved note {self._notes.save(heading, kept)}: {heading}"

    def get_notes(self, query: str = "") -> str:
        """Read your notes back.

        Args:
            query: Only notes with these words.
        """
        if not self._notes.kept:
            return "No notes yet."
        found = self._notes.matching(query)
        if not found:
            titles = "; ".join(f"{number}. {note.title}" for number, note in enumerate(self._notes.kept, 1))
            return f"No notes with {quoted(query)}.\nTitles: {titles}"
        lines = [f"{number}. {note.title}: " + note.text.replace("\n", "\n   ") for number, note in found]
        return "\n".join([counted(len(found), "note"), *lines])
