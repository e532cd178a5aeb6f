"""The file of a journal: appended to line by line, by one process at a time, and never rewritten."""

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
from thimble.corpus.reading import all_of, open_file
from thimble.session.bounded import MOST_BYTES
from thimble.session.file_lock import lock_file
from thimble.session.journal.lines import Damage, Line, Writer, read_lines
from thimble.session.journal.records import Opened, Record, Remark, Resumed
from thimble.session.journal.state import SavedState, saved_state
from thimble.session.journal.tree import Tree
from thimble.session.sigint import defer_sigint

PassingRecord = ReplyPiece | Waiting | Remark
"""Records that do not change a session."""
FIRST_LINE_START = b'{"type":"opened",'
"""The start of the first line; a cut-off file may have only a part of it."""
FILE_GONE = "the file was deleted or replaced"
IN_MEMORY = "Until it can be, the session is in memory only. Another folder: --session-dir FOLDER."
OPEN_IN_ONE_THIMBLE = "The session is saved all the same: open it in one thimble at a time."
JOIN_SECONDS = 0.1
"""Pieces of a reply that arrive within this time are written as one line."""


class Journal:
    """Writes lines and reads them back. Lines that cannot be written wait, can still be read, and are written later.

    Attributes:
        path: The file, made when the first line is written; None keeps all lines in memory.
        count: The number of lines.
        begun: Whether the first line, with the settings of the session, is written.
        tree: The branches, without the lines of records that do not change a session.
        damaged: The lines that could not be read when it was reopened.
        error: The reason why lines wait; "" if none does.
        clock: Gives the time of a line, in seconds since 1970.
        listener: Called with the number, record and time of each new line.
        one_shot: Whether a new session is a run of given prompts, not a conversation.
        run: The agent whose recorded run a new session is; "" for none.
        unlocked: The reason why it has no lock against other processes; "" if it has, or once `write` has said so.
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
        """The session's id, which also is its name if the user gave it none."""
        return self.path.stem if self.path else ""

    @classmethod
    def reopen(cls, path: Path) -> Journal:
        """Open an existing journal; nothing in it is changed, not even a cut-off last line.

        Nothing is written before the first new record.

        Raises:
            UsageError: it cannot be opened, is too large or is not a journal; another process uses it, or a newer
                thimble wrote it.
        """
        journal = cls(path)
        try:
            journal._file = open_file(path, os.O_RDWR | os.O_APPEND)
        except (OSError, ValueError) as error:  # ValueError: a NUL in its name
            raise UsageError(
                f"{str(path)[:200]} cannot be opened: {_why(error)}", "/sessions lists the sessions"
            ) from error
        try:
            journal._lock()
            data = journal._data()
            lines, journal.damaged = read_lines(data, journal._writer.values)
            if not lines and not FIRST_LINE_START.startswith(data[: len(FIRST_LINE_START)]):
                raise UsageError(f"{path} is not a session file", "/sessions lists the sessions")
        except UsageError:
            journal.close()
            raise
        journal._cut_off = b"" if not data or data.endswith(b"\n") else b"\n"
        journal.count = max([0, *(line.number for line in lines[-1:]), *(one.number for one in journal.damaged)])
        journal.begun = any(isinstance(line.record, Opened) for line in lines)
        journal.tree = Tree(line for line in lines if not isinstance(line.record, PassingRecord))
        journal._resumes = True
        return journal

    def write(self, record: Record, memory: str = "") -> list[str]:
        """Append a line at once; return notices for the user. Never raises for a full or missing disk.

        A remark alone neither starts a journal nor resumes one: it waits for the first other record.
        """
        if isinstance(record, ReplyPiece) and self._joins_waiting(record):
            return []
        waited = self.error
        with defer_sigint():  # so that no line is written twice, or counted and not written
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
            notices.append(f"{self.path} cannot be locked: {self.unlocked}. {OPEN_IN_ONE_THIMBLE}")
            self.unlocked = ""
        if self.error and not waited:
            notices.append(f"{self.path} cannot be written: {self.error}. {IN_MEMORY}")
        elif waited and not self.error:
            notices.append(f"{self.path} can be written again, and nothing of the session is missing from it.")
        return notices

    def _joins_waiting(self, piece: ReplyPiece) -> bool:
        """Whether a piece of a reply waits to be written in one line with those before it."""
        joins = bool(self._said) and self._said[0].kind == piece.kind and not piece.was_text
        joins = joins and self.clock() - self._said_at < JOIN_SECONDS
        self._said += [piece] if joins else []
        return joins

    def _append(self, record: Record, memory: str = "") -> None:
        at = max(0.0, self.clock())  # a wrong clock may be before 1970
        line, text = self._writer.line(self.count + 1, record, at, memory)
        self._waiting += text.encode()
        self.count += 1
        self.begun = self.begun or isinstance(record, Opened)
        if not isinstance(record, PassingRecord):
            self.tree.add_line(line)
        self.flush()
        if self.listener:
            self.listener(self.count, record, line.at)

    def flush(self) -> None:
        """Write the lines that wait, if the file can be written."""
        if self.path is None or not self._waiting:
            return
        try:
            file = self._opened(self.path)
            while self._waiting:
                del self._waiting[: os.write(file, self._waiting)]
            self.error = "" if os.fstat(file).st_nlink else FILE_GONE
        except OSError as error:
            self.error = error.strerror or type(error).__name__

    def read(self) -> tuple[list[Line], list[Damage]]:
        """All lines, and those that cannot be read."""
        return read_lines(self._data() + self._waiting)

    def state(self, branch: int = 0, until: float = math.inf) -> SavedState:
        """The state of a branch after line `until`; by default the newest state of the journal.

        The name, the largest budget and the losses are those of the whole journal, not of the branch alone.
        """
        tree = self.tree
        saved = saved_state(line for line in tree.path(branch or tree.current) if line.number <= until)
        saved.lost[:0] = [f"line {damage.number}" for damage in self.damaged]
        saved.name, saved.widest = tree.name, tree.widest
        return saved

    def close(self) -> None:
        """Write the lines that wait, and release the file for others."""
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
        """Lock the file for this process until the process ends, however it ends. Raises UsageError."""
        try:
            lock_file(self._file or 0)
        except BlockingIOError as error:
            what = f"the session {self.id} is in use by another thimble"
            raise UsageError(what, "leave it there first, or start a new session") from error
        except OSError as error:
            self.unlocked = error.strerror or type(error).__name__


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", "") or error)
