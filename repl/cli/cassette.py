"""From the command line to a cassette: which file, how fast, and the settings of the session on it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import UsageError
from models import READER
from session.cassette import SHAPING, Cassette, Played, Recorded
from session.settings import SETTINGS, Given, Settings
from strategies.spec import is_code

if TYPE_CHECKING:
    from models.tape.player import Pace
    from models.tape.tape import Tape

SHIPPED = Path(__file__).parents[2] / "models" / "cassettes"
LIMIT_BYTES = 200_000_000
ORIGINAL, KEY, AT_ONCE = "original", "key", "0"
WORD_LETTERS = 5
"""Letters of a token, about, for a pace in tokens a second."""


def insert(
    record: str | None, replay: str | None, pace: str | None, settings: Settings, headless: bool
) -> tuple[Cassette, Settings]:
    """The cassette of the command line, and the settings of its session. Raises UsageError."""
    if record and replay:
        raise UsageError("--record does not go with --replay", "take one of them: a cassette is played as it is")
    if record:
        try:
            path = Path(record).expanduser()
        except RuntimeError as error:  # a ~user that nobody is
            raise UsageError(f"{record[:200]} cannot be recorded to: {error}", "name a file in a folder") from error
        return Recorded(path, settings), settings
    tape = load(replay or "")
    pacing, steps = pace_of(pace or (AT_ONCE if headless else ORIGINAL))
    if steps and (headless or settings.plain):
        raise UsageError("--pace key is for a conversation that is drawn", "take original, a factor such as 2x, or 0")
    return Played(tape, replay or "", pacing, steps), settled(settings, tape)


def load(name: str) -> Tape:
    """A cassette: a file by its path, or one that ships, by its name. Raises UsageError."""
    from models.tape.tape import read

    try:
        path = Path(name).expanduser()
        if not path.is_file() and name in shipped():
            path = SHIPPED / f"{name}.jsonl"
        if not path.is_file():
            raise UsageError(f"there is no cassette {name}", f"these are here: {', '.join(shipped())}; or give a file")
        if path.stat().st_size > LIMIT_BYTES:
            raise UsageError(f"{name} is too large to be a cassette", f"it may have {LIMIT_BYTES:,} bytes")
        return read(path.read_bytes(), name)
    except (OSError, RuntimeError) as error:  # RuntimeError: a ~user that nobody is
        raise UsageError(f"{name[:200]} cannot be read: {error}", "give a cassette that can") from error


def shipped() -> list[str]:
    """The names of the cassettes that ship."""
    return sorted(path.relative_to(SHIPPED).with_suffix("").as_posix() for path in SHIPPED.glob("*/*.jsonl"))


def pace_of(text: str) -> tuple[Pace, bool]:
    """A pace as it is written, and whether the presenter's key makes it. Raises UsageError.

    "original"; a factor such as 2x or 0.5x; a number of tokens a second, 0 for at once; "key" for step by step.
    """
    if text == KEY:
        return (lambda seconds, text: 0.0), True
    found = re.fullmatch(r"(\d{1,4}(?:\.\d{1,3})?)(x?)", "1x" if text == ORIGINAL else text.strip().lower())
    number = float(found[1]) if found else 0.0
    if found and found[2] and number:
        return (lambda seconds, text: seconds / number), False
    if found and not found[2]:
        return (lambda seconds, text: len(text) / WORD_LETTERS / number if number else 0.0), False
    what = "original, a factor such as 2x or 0.5x, tokens a second (0: at once), or key"
    raise UsageError(f"--pace cannot be {text[:40]!r}", f"with --replay it takes {what}")


def settled(settings: Settings, tape: Tape) -> Settings:
    """The settings of a session that is played: those of the tape where no flag says otherwise, and no server.

    Raises:
        UsageError: the tape has a setting that is none.
    """
    then: dict[str, Any] = {"backend": READER, "model": "", "base_url": "", "summariser": ""}
    origins = dict(settings.origins)
    for name, value in tape.header.settings.items():
        if name not in SHAPING or name in settings.flags:
            continue
        if name == "strategy" and is_code(str(value)):
            what = f"the cassette was recorded under {str(value)[:60]}, which is code"
            raise UsageError(what, "if it is yours, say --strategy and the same again")
        try:
            then[name] = SETTINGS[name].read(Given(value, "the cassette", Path()))
        except (ValueError, OverflowError) as error:
            fix = f"it takes {SETTINGS[name].legal}: say --{name.replace('_', '-')}"
            raise UsageError(f"{name} cannot be {str(value)[:40]!r} (the cassette)", fix) from error
        origins[name] = "the cassette"
    return replace(settings, **then, origins=origins)
