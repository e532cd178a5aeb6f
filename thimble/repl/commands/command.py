"""A command: a function whose docstring is its help, as a tool's docstring is its schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import cleandoc
from typing import TYPE_CHECKING

from thimble.agent.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from thimble.session.session import Session

Run = Callable[["Session", str, "Console"], str | None]
"""Runs a command on the text after its name. The answer is a question to ask of the model, if there is one."""
BARE = ("exit", "quit", "help")
"""Commands that need no `/` where they stand alone."""
ALIASES = {"exit": "quit", "clear": "reset", "?": "help"}
ASKED_FOR = {
    "recall": "/context N shows message N",
    "show": "/context N shows message N",
    "fit": "/help budget explains fit",
}
"""Words that are no command, with the command that does what is meant."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its usage, a summary in one line, more for /help COMMAND, and the function that runs it."""

    usage: str
    summary: str
    more: str
    run: Run

    @property
    def name(self) -> str:
        """The word that is typed after `/`."""
        return self.usage.split()[0].removeprefix("/")

    @classmethod
    def of(cls, run: Run) -> Command:
        """The command of a function with the docstring `/name ARGUMENTS: summary.`, a blank line and more."""
        first, *more = cleandoc(run.__doc__ or "").splitlines()
        usage, _, summary = first.partition(": ")
        return cls(usage, summary.removesuffix("."), " ".join(filter(None, more)), run)


def find(word: str, commands: Mapping[str, Command]) -> str:
    """The name of the command that is written so, with or without `/`. Raises UsageError, with the nearest name."""
    name = word.removeprefix("/")
    name = ALIASES.get(name, name)
    if name not in commands:
        near = get_close_matches(name.lower(), [*commands, *ALIASES], 1)
        hint = f"did you mean /{near[0]}? " if near else ""
        hint = f"{ASKED_FOR[name]}; " if name in ASKED_FOR else hint
        raise UsageError(f"there is no command /{name[:40]}", f"{hint}/help lists the commands; nothing was sent")
    return name


def meant(text: str) -> str:
    """A line as it is meant: `quit` alone is `/quit`."""
    return f"/{text.lower()}" if text.lower() in BARE else text
