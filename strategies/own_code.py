"""Code of the user's own, such as a strategy: its errors are one line each, and Ctrl-C in it stays Ctrl-C."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from thimble.agent.errors import UsageError

T = TypeVar("T")

HOW_TO_RETRY = "mend it, and name it again"

CONTROL_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
ERROR_LETTERS = 300
"""The most letters that are shown of an error."""


def guarded(call: Callable[[], T], what: str) -> T:
    """What the call returns. Raises UsageError, in words that begin with `what`, for anything but Ctrl-C."""
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise UsageError(f"{what}: {in_words(error)}", HOW_TO_RETRY) from error


def in_words(error: BaseException) -> str:
    """The type of an error and its message, as `in_line` cuts them; the type alone if the message itself fails."""
    said = "an error"
    try:
        said = str.__str__(type(error).__name__)
        said = f"{said}: {error}"
    except BaseException:  # its own code makes the message
        pass
    return in_line(said).removesuffix(":")


def in_line(text: str) -> str:
    """The beginning of a foreign text as one line: printable letters, at most `ERROR_LETTERS`."""
    begun = CONTROL_SEQUENCE.sub("", str.__str__(text)[: 2 * ERROR_LETTERS])
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in begun).split())
    return line if len(line) <= ERROR_LETTERS else f"{line[: ERROR_LETTERS - 1]}…"
