"""--record and --replay: the file of a recorded session, its pace and its settings."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thimble.agent.errors import UsageError
from thimble.agent.events import ReplyPiece
from thimble.commands.replayed_seconds import WORD_LETTERS, replayed_seconds
from thimble.corpus.reading import file_bytes
from thimble.models import READER
from thimble.models.hardware import HARDWARE, Hardware
from thimble.models.pace import parse_machines
from thimble.session.bounded import MOST_BYTES
from thimble.session.journal import folder
from thimble.session.journal.lines import Line
from thimble.session.playback import Pace, Playback, Recording, read_recording
from thimble.session.settings import Settings, refuse_code
from thimble.session.settings_table import SETTINGS, Given

if TYPE_CHECKING:
    from argparse import Namespace

SHIPPED = Path(__file__).parents[2] / "models" / "recordings"
ORIGINAL, KEY, AT_ONCE = "original", "key", "0"


def new_file(name: str) -> Path:
    """The file that a session is recorded to. Raises UsageError if it exists or cannot be written."""
    if not name:
        raise UsageError("--record needs a file name", "write --record lesson.jsonl")
    try:
        path = Path(name).expanduser()
        if path.exists():
            raise UsageError(f"{path} already exists", "record to another file, or remove it")
        if os.access(path.parent, os.W_OK):
            return path
        why = "its folder is not writable" if path.parent.exists() else "there is no such folder"
    except (OSError, RuntimeError) as error:  # RuntimeError: an unknown ~user
        why = str(error)
    raise UsageError(f"cannot record to {name[:200]}: {why}", "name a file in a folder that you can write to")


def choose_recording(
    given: Namespace, pace: str | None, settings: Settings, headless: bool
) -> tuple[Playback, Settings]:
    """The playback of the recording that the flags name, and the settings to play it with. Raises UsageError."""
    for flag in ("record", "resume"):
        if getattr(given, flag) is not None:
            raise UsageError(f"--{flag} cannot be used with --replay", "leave one of them out")
    if not given.replay:
        raise UsageError(
            "--replay needs a recording", f"write --replay FILE, or one of these: {', '.join(list_shipped())}"
        )
    recording = load_recording(given.replay, settings.session_dir)
    pacing, steps = pace_of(pace or (AT_ONCE if headless else ORIGINAL), recording.lines, settings.hardware)
    if steps and (headless or settings.plain):
        raise UsageError("--pace key needs a conversation in a terminal", "take original, a factor such as 2x, or 0")
    playback = Playback(recording, given.replay, pacing, steps)
    if pace and parse_machines(pace, settings.hardware):
        playback.notices.append(f"Playing at the pace of the machine {pace}. The figures shown are the recorded ones.")
    return playback, playback_settings(settings, recording)


def load_recording(name: str, sessions: Path) -> Recording:
    """Load a recording: a file by its path, a shipped one by its name, or a session in a folder by its name or id.

    Raises UsageError.
    """
    try:
        path = Path(name).expanduser()
        if not os.path.lexists(path):
            path = SHIPPED / f"{name}.jsonl" if name in list_shipped() else _kept(name, sessions)
        return read_recording(file_bytes(path, MOST_BYTES), name)
    except (OSError, RuntimeError) as error:  # RuntimeError: an unknown ~user
        why = getattr(error, "strerror", "") or error
        raise UsageError(f"{name[:200]} cannot be read: {why}", "give the file of a recording") from error


def _kept(name: str, sessions: Path) -> Path:
    try:
        return folder.find_session(sessions, name)
    except UsageError:
        fix = f"shipped are {', '.join(list_shipped())}; or give a file, or a saved session"
        raise UsageError(f"there is no recording {name}", fix) from None


def list_shipped() -> list[str]:
    """The names of the recordings that ship with thimble."""
    return sorted(path.relative_to(SHIPPED).with_suffix("").as_posix() for path in SHIPPED.glob("*/*.jsonl"))


def pace_of(text: str, lines: Sequence[Line] = (), rows: Mapping[str, Hardware] = HARDWARE) -> tuple[Pace, bool]:
    """Parse a pace for these lines; the second value says whether the presenter's key sets it. Raises UsageError.

    "original"; a factor such as 2x or 0.5x; tokens per second, 0 for at once; "key" for step by step; one of these
    described machines, or two with a comma: the agent's and the memory model's.
    """
    if text == KEY:
        return (lambda seconds, line: 0.0), True
    if named := parse_machines(text, rows):
        made = replayed_seconds(lines, *named)
        return (lambda seconds, line: made.get(line.number, seconds)), False
    found = re.fullmatch(r"(\d{1,4}(?:\.\d{1,3})?)(x?)", "1x" if text == ORIGINAL else text.strip().lower())
    number = float(found[1]) if found else 0.0
    if found and found[2] and number:
        return (lambda seconds, line: seconds / number), False
    if found and not found[2]:
        return (lambda seconds, line: _count_letters(line) / WORD_LETTERS / number if number else 0.0), False
    what = f"original, a factor such as 2x, tokens per second (0: at once), key, or a machine of {', '.join(rows)}"
    raise UsageError(f"--pace cannot be {text[:40]!r}", f"with --replay it takes {what}")


def _count_letters(line: Line) -> int:
    return len(line.record.text) if isinstance(line.record, ReplyPiece) else 0


def playback_settings(settings: Settings, recording: Recording) -> Settings:
    """The settings of a played session: flags, then those of the recording; no server.

    Raises:
        UsageError: a setting of the recording is not valid, or its strategy is code.
    """
    then: dict[str, Any] = {"backend": READER, "model": "", "base_url": "", "summariser": "", "memory": ""}
    origins = dict(settings.origins)
    for name, value in recording.opened.settings.items():
        if name in settings.flags or name not in SETTINGS or not (SETTINGS[name].harmless or name == "price"):
            continue  # a recorded price is only shown; the others that are not harmless choose a model or a folder
        if name == "strategy":
            refuse_code(str(value), "the recording was made", "give --strategy")
        try:
            then[name] = SETTINGS[name].read(Given(value, "the recording", Path()))
        except (ValueError, OverflowError) as error:
            fix = f"it takes {SETTINGS[name].legal}: give --{name.replace('_', '-')}"
            raise UsageError(f"{name} cannot be {str(value)[:40]!r} (the recording)", fix) from error
        origins[name] = "the recording"
    return settings.replace(**then, origins=origins)
