"""The folder of all sessions. A session is listed without reading each line of its file."""

from __future__ import annotations

import json
import os
import re
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from thimble.agent.errors import UsageError, did_you_mean
from thimble.agent.protocols import UNKNOWN_MODEL, ModelId
from thimble.corpus.reading import file_bytes
from thimble.session.bounded import MOST_BYTES, MOST_LINE_BYTES
from thimble.session.journal.records import VERSION

if TYPE_CHECKING:
    from thimble.session.journal.journal import Journal
    from thimble.session.journal.state import SavedState
    from thimble.session.settings import Settings

SUFFIX = ".jsonl"
ID_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
ID = re.compile(r"\d{4}-\d\d-\d\d-\d{4}-\w{4}")
LISTED = re.compile(rb'^\{"type":"(?:opened|asked|answered|named|changed)"[^\n]*(?=\n)', re.MULTILINE)
ONE_SHOT = b'"one_shot":true'
RESUMED_OR_NAMED = re.compile(rb'^\{"type":"(?:resumed|named)"', re.MULTILINE)
OTHER_VERSION = "another version of thimble wrote it"
MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A session in a list. `at` is the time of its last change, in seconds since 1970.

    `strategy` and `model` are its newest. `one_shot`: it is not a conversation, since its prompts were given and it was
    never resumed or named. `trouble`: the reason why it cannot be read, or not wholly.
    """

    path: Path
    at: float
    name: str = ""
    questions: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    strategy: str = ""
    model: ModelId = UNKNOWN_MODEL
    one_shot: bool = False
    trouble: str = ""

    @property
    def id(self) -> str:
        """The id, which also is its name if the user gave it none."""
        return self.path.stem

    def has(self, words: str) -> bool:
        """Whether each of these words is in a question, an answer, the name or the id; case does not matter."""
        text = "\n".join((self.id, self.name, *self.questions, *self.answers)).lower()
        return all(word in text for word in words.lower().split())


def new_path(folder: Path) -> Path:
    """The file of a new session: its id has the time of its start, in local time, and is short to type."""
    letters = "".join(ID_LETTERS[byte % len(ID_LETTERS)] for byte in os.urandom(4))
    return folder / f"{time.strftime('%Y-%m-%d-%H%M')}-{letters}{SUFFIX}"


def session_paths(folder: Path) -> list[Path]:
    """The files of all sessions, the newest change first. Raises UsageError for an unreadable folder."""
    try:
        there = [path for path in folder.iterdir() if path.suffix == SUFFIX]
    except FileNotFoundError:
        return []
    except OSError as error:
        what = f"the sessions in {folder} cannot be listed: {error.strerror}"
        raise UsageError(what, "choose another folder with --session-dir") from error
    found = []
    for path in there:
        with suppress(OSError):  # a broken link, or a file that was just deleted
            about = path.stat()
            found += [(about.st_mtime_ns, path)] if stat.S_ISREG(about.st_mode) else []
    return [path for _, path in sorted(found, reverse=True)]


def list_session(path: Path) -> ListedSession:
    """The entry of a session in a list. Never raises: an error becomes its `trouble`."""
    try:
        at, data = path.stat().st_mtime, file_bytes(path, MOST_BYTES)
    except OSError as error:
        return ListedSession(path, 0.0, trouble=error.strerror or type(error).__name__)
    version, name = 0, ""
    questions, answers = list[str](), list[str]()
    settings: dict[str, object] = {}
    for raw in LISTED.findall(data):
        match _fields(raw):
            case {"type": "opened", "version": int(version), "settings": dict(began)}:
                settings |= began
            case {"type": "asked", "message": {"content": str(question)}}:
                questions.append(question)
            case {"type": "answered", "text": str(answer)}:
                answers.append(answer)
            case {"type": "named", "name": str(name)}:
                pass
            case {"type": "changed", "setting": str(setting), "value": value}:
                settings[setting] = value
    trouble = "" if version == VERSION else OTHER_VERSION if version else "its first line cannot be read"
    strategy, model = str(settings.get("strategy", "")), ModelId.read(str(settings.get("model", "")))
    one_shot = ONE_SHOT in data.partition(b"\n")[0] and not RESUMED_OR_NAMED.search(data)
    return ListedSession(path, at, name, tuple(questions), tuple(answers), strategy, model, one_shot, trouble)


def count_changed_after(path: Path, folder: Path) -> int:
    """The number of sessions in the folder that were changed after this one."""
    return sum(1 for _ in takewhile(lambda other: other != path, session_paths(folder)))


def found_by(folder: Path, path: Path) -> str:
    """The text by which `find` finds this session: its id, or its file if that is in another folder."""
    if path.suffix == SUFFIX:
        return path.stem if path.parent.absolute() == folder.absolute() else str(path)
    return str(path.absolute())


def find_session(folder: Path, wanted: str = "") -> Path:
    """The session with this file, id, name or start of an id. Raises UsageError.

    For "" it is the newest conversation, or the newest one-shot if there is no conversation.
    """
    if (wanted.endswith(SUFFIX) or os.sep in wanted) and os.path.lexists(wanted):
        return Path(wanted)
    found = session_paths(folder)
    if not found:
        raise UsageError(f"there are no sessions in {folder}", "a session is saved after its first question")
    if not wanted:
        return next((path for path in found if not list_session(path).one_shot), found[0])
    by_id = {path.stem: path for path in found}
    if wanted in by_id:
        return by_id[wanted]
    by_name = {name: path for path in reversed(found) if (name := list_session(path).name)}
    if wanted in by_name:
        return by_name[wanted]
    begun = [id for id in by_id if id.startswith(wanted)]
    if len(begun) == 1:
        return by_id[begun[0]]
    if begun:
        from thimble.tools.wording import join_names

        several = join_names(begun, MOST_NAMED)
        raise UsageError(f"{len(begun)} sessions start with {wanted}", f"type more of one: {several}")
    rest = "/sessions lists them (thimble -p /sessions)"
    raise UsageError(f"there is no session {wanted[:60]!r}", did_you_mean(wanted, [*by_name, *by_id], rest))


def reopen_session(settings: Settings, path: Path) -> tuple[Settings, Journal, SavedState]:
    """Reopen a session, for `Session`: its settings, unless flags replace them, its journal, its state.

    Raises:
        UsageError: another process uses it, a newer thimble wrote it, or one of its settings is no longer valid or only
            the user's to choose.
    """
    from thimble.session.journal.header import settings_of
    from thimble.session.journal.journal import Journal
    from thimble.session.settings import resume_settings

    journal = Journal.reopen(path)
    try:
        saved = journal.state()
        return resume_settings(settings, settings_of(saved, settings.flags)), journal, saved
    except BaseException:
        journal.close()
        raise


def _fields(raw: bytes) -> dict[str, object]:
    if len(raw) > MOST_LINE_BYTES:
        return {}
    try:
        fields = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}
