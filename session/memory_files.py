"""Memory files: what a THIMBLE.md says stands at the end of the system prompt, in front of every prompt.

The user's own is beside config.toml. The folder's counts once its user has confirmed its very words, as what hurts in
a thimble.toml does (`session.confirmed`).
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.budget import Budget
from agent.messages import Message
from session.confirmed import confirmed_words, words_of
from session.settings import MEMORY_FILE

MARK = "\n\n# Memory\n"
"""Where the memory begins in a system prompt."""
SHARE = 8
"""All files together take at most this part of the budget: an eighth."""
CUT = f"[the rest of {MEMORY_FILE} has no room]"


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A THIMBLE.md: whose it is, for the model and the user, and its words."""

    whose: str
    text: str


def memory_files(folder: Path) -> list[MemoryFile]:
    """The user's file and the folder's, if they are there and count. Raises UsageError for one that cannot be read."""
    from platformdirs import user_config_dir

    own = Path(user_config_dir("thimble"), MEMORY_FILE)
    files = [MemoryFile("the user's", words_of(Path(os.path.realpath(own)), str(own)))]
    files.append(MemoryFile("this folder's", confirmed_words(folder, MEMORY_FILE)))
    return [file for file in files if file.text]


def with_memory(system: str, files: Sequence[MemoryFile], budget: Budget, noted: int = 0) -> str:
    """The system prompt with these files in place of those that it had, in at most an eighth of the budget.

    `noted`: how many notes of earlier sessions the model can read.
    """
    room, parts = budget.limit // SHARE, []
    for file in files:
        part = _fitting(f"From {file.whose} {MEMORY_FILE}, to keep to in every answer:\n", file.text, room, budget)
        room -= _tokens(part, budget)
        parts.append(part)
    if noted:
        parts.append(f"Notes that you kept in earlier sessions: {noted:,}. get_notes reads them.")
    return system.partition(MARK)[0] + (MARK + "\n\n".join(parts) if parts else "")


def memory_of_system(system: str) -> str:
    """What of a system prompt is memory; "" for nothing."""
    return system.partition(MARK)[2]


def _fitting(head: str, text: str, room: int, budget: Budget) -> str:
    """Head and text; of a text that has no room the beginning, and a line that says so."""
    if _tokens(head + text, budget) <= room:
        return head + text
    ends = range(len(text) + 1)
    end = bisect_right(ends, room, key=lambda end: _tokens(f"{head}{text[:end]}\n{CUT}", budget)) - 1
    shown = text[: max(0, end)]
    return f"{head}{shown.rpartition(' ')[0]}\n{CUT}"


def _tokens(text: str, budget: Budget) -> int:
    return budget.count(Message("", "system", text))
