"""The tools of a notebook: save_note, get_notes."""

from __future__ import annotations

from thimble.agent.errors import ToolError
from thimble.agent.protocols import Tool
from thimble.corpus.markdown import shorten
from thimble.corpus.observations import INDENT, NOTE_LINE, SAVED_NOTE
from thimble.corpus.words import content_words, stem, stem_words
from thimble.tools.notebook import Notebook
from thimble.tools.schema import tool
from thimble.tools.wording import count_noun, quote

TEXT_LIMIT = 4_000


def note_tools(notes: Notebook) -> list[Tool]:
    """The tools bound to one session's notes."""
    bound = NoteTools(notes)
    return [tool(bound.save_note), tool(bound.get_notes)]


class NoteTools:
    """The tools of a notebook. The model reads the docstrings of the methods."""

    def __init__(self, notes: Notebook) -> None:
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
        try:
            return SAVED_NOTE.written(number=self._notes.save(heading, kept), title=heading)
        except OSError as error:
            why = error.strerror or "the file cannot be written"
            raise ToolError(f"the note is kept until the end of this session only: {why}") from error

    def get_notes(self, query: str = "") -> str:
        """Read your notes back.

        Args:
            query: Only notes with these words.
        """
        if not self._notes.kept:
            return "No notes yet."
        wanted = {stem(word) for word in content_words(query)}
        numbered = enumerate(self._notes.kept, 1)
        found = [(number, note) for number, note in numbered if wanted <= stem_words(f"{note.title} {note.text}")]
        if not found:
            titles = "; ".join(f"{number}. {note.title}" for number, note in enumerate(self._notes.kept, 1))
            return f"No notes with {quote(query)}.\nTitles: {titles}"
        lines = [
            NOTE_LINE.written(number=number, title=note.title, text=note.text.replace("\n", f"\n{INDENT}"))
            for number, note in found
        ]
        return "\n".join([count_noun(len(found), "note"), *lines])
