"""The memory file: the text of the user's THIMBLE.md ends the system prompt, and so is part of every prompt.

It is in the folder of the user's config.toml. A THIMBLE.md in the current folder may be somebody else's and is not
read.
"""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

from thimble.agent.budget import Budget
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message
from thimble.corpus.reading import read_text
from thimble.session.settings import MEMORY_FILE

MEMORY_TITLE = "\n\n# Memory\n"
"""The heading of the memory in a system prompt."""
MEMORY_SHARE = 8
"""The file takes at most this part of the budget: an eighth."""
CUT_NOTE = f"[the rest of {MEMORY_FILE} has no room]"
MEMORY_HEADING = f"From the user's {MEMORY_FILE}, to keep to in every answer:\n"
MEMORY_FILE_BYTES = 200_000


def words_of(path: Path) -> str:
    """The text of the file, "" without one. Raises UsageError if it cannot be read."""
    try:
        return read_text(path, MEMORY_FILE_BYTES).strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "fix it or remove it") from error


def with_memory(system: str, words: str, budget: Budget, noted: int = 0) -> str:
    """The system prompt with these words as its memory, in at most an eighth of the budget.

    `noted`: how many notes of earlier sessions the model can read.
    """
    parts = [_fit_text(words, budget)] if words else []
    if noted:
        parts.append(f"Notes that you kept in earlier sessions: {noted:,}. get_notes reads them.")
    return system.partition(MEMORY_TITLE)[0] + (MEMORY_TITLE + "\n\n".join(parts) if parts else "")


def memory_of_system(system: str) -> str:
    """The memory in a system prompt; "" without one."""
    return system.partition(MEMORY_TITLE)[2]


def _fit_text(text: str, budget: Budget) -> str:
    """HEAD and the text; a text that is too long is cut, with a line that says so."""
    room = budget.limit // MEMORY_SHARE
    if _tokens(MEMORY_HEADING + text, budget) <= room:
        return MEMORY_HEADING + text
    ends = range(len(text) + 1)
    end = bisect_right(ends, room, key=lambda end: _tokens(f"{MEMORY_HEADING}{text[:end]}\n{CUT_NOTE}", budget)) - 1
    shown = text[: max(0, end)]
    return f"{MEMORY_HEADING}{shown.rpartition(' ')[0]}\n{CUT_NOTE}"


def _tokens(text: str, budget: Budget) -> int:
    return budget.count(Message("", "system", text))
