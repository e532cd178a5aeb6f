"""A command: one decorated function. Its docstring is its help, as a tool's docstring is its schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console

    from thimble.session.session import Session

Run = Callable[["Session", str, "Console"], str | None]
"""Runs a command on the text after its name. The answer is a question to ask of the model, if there is one."""
Offer = tuple[str, str]
"""What Tab offers: the text after the command's name, and its explanation."""
Completer = Callable[["Session", str], Iterable[Offer]]
"""The offers for the text after the command's name; those that do not go on from it are not shown."""
Family = Literal["Prompt", "Calls", "Experiments", "Branches", "Sessions", "Models and articles", "thimble"]
"""Commands that are listed together in /help, under this title."""

BARE = ("exit", "quit", "help")
"""Commands that need no `/` where they stand alone."""
PATHS = (".", "/", "~")
"""What a path begins with."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its usage, a summary in one line, more for /help COMMAND, and the function that runs it."""

    usage: str
    summary: str
    more: str
    family: Family
    aliases: Sequence[str]
    completer: Completer
    run: Run

    @property
    def name(self) -> str:
        """The word that is typed after `/`."""
        return self.usage.split()[0].removeprefix("/")

    @property
    def takes(self) -> str:
        """The form of its arguments; "" where it has none."""
        return self.usage.partition(" ")[2]


def one_of(*words: str) -> Completer:
    """Offers these words."""
    return lambda session, text: [(word, "") for word in words]


def paths(start: str, suffix: str) -> Iterator[str]:
    """Folders, and files with this suffix, that a path goes on to, written as it was begun."""
    folder, slash, _ = start.rpartition("/")
    place = Path(folder + slash).expanduser() if slash else Path()
    for entry in sorted(place.iterdir()) if slash and place.is_dir() else ():
        if not entry.name.startswith(".") and (entry.is_dir() or entry.suffix == suffix):
            yield f"{folder}{slash}{entry.name}{'/' if entry.is_dir() else ''}"


def command(
    usage: str, family: Family, *, aliases: Sequence[str] = (), completer: Completer = lambda session, text: ()
) -> Callable[[Run], Command]:
    """Make a command of a function.

    The first line of its docstring is the summary, the rest is the text of /help COMMAND.

    Args:
        usage: The name and the arguments, as in `why N`; a name alone takes no arguments.
        family: Where /help lists it.
        aliases: Other names.
        completer: What Tab offers after the name.
    """

    def make(run: Run) -> Command:
        first, *more = cleandoc(run.__doc__ or "").splitlines()
        summary = f"{first[:1].lower()}{first[1:]}".removesuffix(".")
        return Command(f"/{usage}", summary, " ".join(filter(None, more)), family, aliases, completer, run)

    return make


def meant(text: str) -> str:
    """A line as it is meant: `quit` alone is `/quit`."""
    return f"/{text.lower()}" if text.lower() in BARE else text
