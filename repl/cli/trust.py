"""`thimble trust`, and the question at the start: what a folder's files say that only its user may say."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from repl.screen.sanitise import line
from repl.screen.streams import write
from session import jsonl
from session.confirmed import Claim, confirm, shown
from session.settings import FOLDERS, MEMORY_FILE

if TYPE_CHECKING:
    from session.settings import Settings

YES = (b"y", b"yes")
MOST_BYTES = 1024
"""Of a typed line, so many are read."""


def trust(settings: Settings, as_json: bool = False) -> int:
    """Confirm all of it for this folder, and say what that is; the exit code. Raises UsageError."""
    waiting = settings.unconfirmed
    confirm(waiting)
    if as_json:
        for claim in waiting.values():
            told = {"name": claim.name, "value": shown(claim.name, claim.value), "why": claim.why}
            write(jsonl.to_line({"type": "confirmed", **told}))
        return 0
    write("".join(_told(waiting.values())) or f"Nothing in {FOLDERS} and no {MEMORY_FILE} waits for you.\n")
    if waiting:
        write("Confirmed, for this folder and as long as these stay the same.\n")
    return 0


def agreed(settings: Settings) -> bool:
    """Ask once whether it may count; what is confirmed is not asked for again. Raises UsageError."""
    waiting = settings.unconfirmed
    files = " and ".join(dict.fromkeys(claim.file for claim in waiting.values()))
    write(f"{files} sets what counts only if you want it:\n{''.join(_told(waiting.values()))}")
    write("Do you? y confirms it for this folder; anything else leaves it out: ")
    try:
        answer = os.read(sys.stdin.fileno(), MOST_BYTES)  # a stream that was read from cannot be set up anew
    except KeyboardInterrupt:
        answer = b""
    if answer.strip().lower() not in YES:
        write("" if answer.endswith(b"\n") else "\n")
        return False
    confirm(waiting)
    return True


def without(settings: Settings) -> Settings:
    """The settings of a user who does not want it: nobody asks again in this run."""
    return replace(settings, unconfirmed={})


def _told(waiting: Iterable[Claim]) -> Iterable[str]:
    return (f"  {line(str(claim))} ({claim.why})\n" for claim in waiting)
