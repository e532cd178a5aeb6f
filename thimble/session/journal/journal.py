"""A journal's file: appended to line by line, by one process at a time, and never rewritten."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from thimble.agent.errors import UsageError
from thimble.agent.events import ReplyPiece
from thimble.agent.protocols import Waiting
from thimble.session.bounded import MOST_BYTES, all_of, open_file
from thimble.session.file_lock import lock_file
from thimble.session.journal.lines import Damage, Line, Writer, read
from thimble.session.journal.records import Opened, Record, Remark, Resumed
from thimble.session.journal.state import SavedState, saved_state
from thimble.session.journal.tree import Tree
from thimble.session.sigint import defer_sigint

PASSING = ReplyPiece | Waiting | Remark
"""Records that change nothing of a session."""
BEGINNING = b'{"type":"opened",'
"""What the first line begins with, of which that may be all that there is."""
GONE = "the file was deleted or replaced"
IN_MEMORY = "Until it can be, the session is in memory only. Another folder: --session-dir FOLDER."
ALONE = "The session is kept all the same: open it in one thimble at a time."
SAID_SECONDS = 0.1
"""Pieces of a reply that come within this time stand on one line."""


class Journal:
    """Writes lines and reads them back. What cannot be written waits, is read all the same, and is written later.

    Attributes:
        path: The file, made when the first line is written; None keeps all lines in memory.
        count: How many lines there are.
        begun: Whether the line that says what the session began with is there.
        tree: The branches, without the lines of events that leave nothing behind.
        damaged: The lines that could not be read when it was opened again.
        error: Why lines wait; "" while none does.
        clock: The time of a line, in seconds since 1970.
        listener: Is told of each new line: its number, its record, its time.
        one_shot: Whether a new one is a run of given prompts, and no conversation.
        run: The agent whose recorded run a new one is; "" for none.
        unlocked: Why nothing keeps another process from writing it too; "" where a lock does, or `write` has said so.
    """

    def __init__(self, path: Path | None = None, one_shot: bool = False, run: str = "") -> None:
        self.path, self.one_shot, self.run = path, one_shot, run
        self.count = 0
        self.begun = False
        self.tree = Tree()
        self.damaged: list[Damage] = []
        self.error = self.unlocked = ""
        self.clock = time.time
        self.listener: Callable[[int, Record, float], object] | None = None
        self._file: int | None = None
        self._waiting = bytearray()
        self._writer = Writer()
        self._resumes = False
        self._cut_off = b""
        self._said: list[ReplyPiece] = []
        self._said_at = 0.0
        self._remarks: list[Remark] = []

    @property
    def id(self) -> str:
        """What the session is called where it has no name."""
        return self.path.stem if self.path else ""

    @classmethod
    def reopen(cls, path: Path) -> Journal:
        """Go on with a journal that is there; nothing in it is changed, not even a last line that was cut off.

        Nothing is written before there is something to write.

        Raises:
            UsageError: it cannot be opened, is too large or is no journal; another process has it, or a newer thimble
                wrote it.
        """
        journal = cls(path)
        try:
            journal._file = open_file(path, os.O_RDWR | os.O_APPEND)
        except (OSError, ValueError) as error:  # ValueError: a NUL in its name
            raise UsageError(
                f"{str(path)[:200]} cannot be opened: {_why(error)}", "/sessions lists the sessions that there are"
            ) from error
        try:
            journal._lock()
            data = journal._data()
            lines, journal.damaged = read(data, journal._writer.values)
            if not lines and not BEGINNING.startswith(data[: len(BEGINNING)]):
                raise UsageError(f"{path} is no journal of a session", "/sessions lists those that there are")
        except UsageError:
            journal.close()
            raise
        journal._cut_off = b"" if not data or data.endswith(b"\n") else b"\n"
        journal.count = max([0, *(line.number for line in lines[-1:]), *(one.number for one in journal.damaged)])
        journal.begun = any(isinstance(line.record, Opened) for line in lines)
        journal.tree = Tree(line for line in lines if not isinstance(line.record, PASSING))
        journal._resumes = True
        return journal

    def write(self, record: Record, memory: str = "") -> list[str]:
        """Append a line, at once; what the user should know of it. Never raises for a disk that is full or gone.

        A remark alone neither begins a journal nor resumes one: it waits for the first other record.
        """
        if isinstance(record, ReplyPiece) and self._joins(record):
            return []
        waited = self.error
        with defer_sigint():  # no line is written twice, or counted and not written
            if isinstance(record, Remark) and (self._resumes or not self.begun):
                self._remarks.append(record)
                return []
            if self._resumes:
                self._resumes = False
                self._waiting += self._cut_off
                self._append(Resumed())
            while self.begun and self._remarks:
                self._append(self._remarks.pop(0))
            if self._said:
                self._append(replace(self._said[0], text="".join(piece.text for piece in self._said)))
                self._said = []
            if isinstance(record, ReplyPiece):
                self._said, self._said_at = [record], self.clock()
            else:
                self._append(record, memory)
        notices = []
        if self.unlocked:
            notices.append(f"{self.path} cannot be locked: {self.unlocked}. {ALONE}")
            self.unlocked = ""
        if self.error and not waited:
            notices.append(f"{self.path} cannot be written: {self.error}. {IN_MEMORY}")
        elif waited and not self.error:
            notices.append(f"{self.path} can be written again, and nothing of the session is missing in it.")
        return notices

    def _joins(self, piece: ReplyPiece) -> bool:
        """Whether a piece of a reply waits, to be written on one line with those before it."""
        joins = bool(self._said) and self._said[0].kind == piece.kind and not piece.was_text
        joins = joins and self.clock() - self._said_at < SAID_SECONDS
        self._said += [piece] if joins else []
        return joins

    def _append(self, record: Record, memory: str = "") -> None:
        at = max(0.0, self.clock())  # no clock is before 1970, but those that are wrong
        line, text = self._writer.line(self.count + 1, record, at, memory)
        self._waiting += text.encode()
        self.count += 1
        self.begun = self.begun or isinstance(record, Opened)
        if not isinstance(record, PASSING):
            self.tree.take(line)
        self.flush()
        if self.listener:
            self.listener(self.count, record, line.at)

    def flush(self) -> None:
        """Write what waits, where that can be done by now."""
        if self.path is None or not self._waiting:
            return
        try:
            file = self._opened(self.path)
            while self._waiting:
                del self._waiting[: os.write(file, self._waiting)]
            self.error = "" if os.fstat(file).st_nlink else GONE
        except OSError as error:
            self.error = error.strerror or type(error).__name__

    def read(self) -> tuple[list[Line], list[Damage]]:
        """All lines, and what of them cannot be read."""
        return read(self._data() + self._waiting)

    def state(self, branch: int = 0, until: float = math.inf) -> SavedState:
        """The session as a branch left it, after line `until`; by default as the journal was left.

        What is not of a branch alone is that of the whole journal: the name, the largest budget, what is lost.
        """
        tree = self.tree
        saved = saved_state(line for line in tree.path(branch or tree.current) if line.number <= until)
        saved.lost[:0] = [f"line {damage.number}" for damage in self.damaged]
        saved.name, saved.widest = tree.name, tree.widest
        return saved

    def close(self) -> None:
        """Release the file for others."""
        self.flush()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _opened(self, path: Path) -> int:
        if self._file is None:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            self._file = os.open(path, flags, 0o600)
            self._lock()
        return self._file

    def _data(self) -> bytes:
        if self._file is None:
            return b""
        try:
            return all_of(self._file, MOST_BYTES)
        except OSError as error:
            raise UsageError(
                f"the session {self.id} cannot be read: {_why(error)}", "/sessions lists the others"
            ) from error

    def _lock(self) -> None:
        """Hold the file for this process alone, until it ends, however it ends. Raises UsageError."""
        try:
            lock_file(self._file or 0)
        except BlockingIOError as error:
            what = f"the session {self.id} is in use by another thimble"
            raise UsageError(what, "leave it in the other one first, or begin a new session") from error
        except OSError as error:
            self.unlocked = error.strerror or type(error).__name__


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", "") or error)
