"""Errors, by who must act on them.

    ThimbleError
      ToolError      sent to the model as the observation; the loop continues
      ModelError     the model server cannot be used, or its reply cannot be read
        RepetitionDetected      the model repeated itself, so its reply was ended
        NotRecorded  the recording being played does not have the reply
      Halted         a call in the background was stopped: its reply is no longer wanted
      BudgetError    the budget cannot hold even the smallest form of the request
      UsageError     a user's mistake or a wrong setting

    Stopped          the user pressed Ctrl-C: a KeyboardInterrupt with words

Anything else that is raised is a bug and keeps its traceback.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

CONTROL_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
ERROR_LETTERS = 300
"""The most characters shown of an error from foreign code."""


class ThimbleError(Exception):
    """An error in one line, with `fix`, how to fix it (may be empty)."""

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix
        if fix:
            self.add_note(fix)  # shown if nobody catches it, as in a notebook


class ToolError(ThimbleError):
    """A tool could not do what the model asked; the text is written for the model."""


class ModelError(ThimbleError):
    """The model server is unreachable, refused, or sent an unreadable answer."""


class RepetitionDetected(ModelError):
    """The model repeated itself, so its reply was ended. The part of the answer received so far is kept."""

    def __init__(self) -> None:
        super().__init__(
            "the model repeated itself; its reply was cut off", "ask again, in other words or with another model"
        )


class Halted(ThimbleError):
    """A call in the background was stopped: its reply is no longer wanted. Nothing is wrong with the server."""

    def __init__(self) -> None:
        super().__init__("stopped")


class NotRecorded(ModelError):
    """The recording being played does not have the reply, and no model is asked instead."""


class UsageError(ThimbleError):
    """A command, flag or setting that is not valid."""


class BudgetError(ThimbleError):
    """The smallest view that keeps the laws is over budget. Both numbers are tokens."""

    def __init__(self, needed_tokens: int, available_tokens: int) -> None:
        super().__init__(
            f"the request needs {needed_tokens:,} tokens and the budget holds {available_tokens:,}",
            "raise the budget (/budget N, --budget N) or ask for less at once",
        )
        self.needed_tokens = needed_tokens
        self.available_tokens = available_tokens


class Stopped(KeyboardInterrupt):
    """The user pressed Ctrl-C. `what` names, in one line, the stopped work and the part that is kept."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def did_you_mean(word: str, known: Iterable[str], rest: str = "") -> str:
    """How to fix an unknown word: `did you mean X?` if a known name resembles it, then the rest.

    X is a name that starts with the word, or has a part that does; else the name, or part of a name, of the closest
    spelling.
    """
    from difflib import get_close_matches  # late: most words are known

    typed, names = word.lower(), list(known)
    begun = [name for name in names if typed and re.search(rf"(?<![^\W_]){re.escape(typed)}", name.lower())]
    begun.sort(key=lambda name: not name.lower().startswith(typed))
    words = {part: name for name in reversed(names) for part in re.findall(r"[^\W_]{4,}", name.lower())}
    words |= {name.lower(): name for name in names}
    near = begun or [words[each] for each in get_close_matches(typed, words, 1, cutoff=0.5)]
    return " ".join(filter(None, (f"did you mean {near[0]}?" if near else "", rest)))


def in_words(error: BaseException) -> str:
    """The type of an error and its message, cut by `in_line`; the type alone if making the message fails."""
    said = "an error"
    try:
        said = str.__str__(type(error).__name__)
        said = f"{said}: {error}"
    except BaseException:  # its own code makes the message
        pass
    return in_line(said).removesuffix(":")


def in_line(text: str) -> str:
    """The start of a foreign text as one line of at most `ERROR_LETTERS` printable characters."""
    begun = CONTROL_SEQUENCE.sub("", str.__str__(text)[: 2 * ERROR_LETTERS])
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in begun).split())
    return line if len(line) <= ERROR_LETTERS else f"{line[: ERROR_LETTERS - 1]}…"
