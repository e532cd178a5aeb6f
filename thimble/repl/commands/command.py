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
"""Runs a command on the text after its name. Returns a question to ask the model next, or nothing."""
Offer = tuple[str, str]
"""A completion: the text after the command's name, and its explanation."""
Completer = Callable[["Session", str], Iterable[Offer]]
"""The completions of the text after the command's name; those that do not start with it are not shown."""
Family = Literal["Prompt", "Calls", "Experiments", "Branches", "Sessions", "Models and articles", "thimble"]
"""Commands that are listed together in /help, under this title."""

BARE = ("exit", "quit", "help")
"""Commands that work without `/` when they are typed alone."""
PATHS = (".", "/", "~")
"""The first characters of a path."""


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
        """The form of its arguments; "" if it takes none."""
        return self.usage.partition(" ")[2]


def one_of(*words: str) -> Completer:
    """Offers these words."""
    return lambda session, text: [(word, "") for word in words]


def complete_paths(start: str, suffix: str) -> Iterator[str]:
    """Completions of a path: folders, and files with this suffix."""
    folder, slash, _ = start.rpartition("/")
    place = Path(folder + slash).expanduser() if slash else Path()
    for entry in sorted(place.iterdir()) if slash and place.is_dir() else ():
        if not entry.name.startswith(".") and (entry.is_dir() or entry.suffix == suffix):
            yield f"{folder}{slash}{entry.name}{'/' if entry.is_dir() else ''}"


def command(
    usage: str, family: Family, *, aliases: Sequence[str] = (), completer: Completer = lambda session, text: ()
) -> Callable[[Run], Command]:
    """Make a function a command.

    The first line of its docstring is the summary, the rest is the text of /help COMMAND.

    Args:
        usage: The name and the arguments, as in `why N`; a name alone takes no arguments.
        family: Where /help lists it.
        aliases: Other names.
        completer: The completions after the name.
    """

    def make(run: Run) -> Command:
        first, *more = cleandoc(run.__doc__ or "").splitlines()
        summary = f"{first[:1].lower()}{first[1:]}".removesuffix(".")
        return Command(f"/{usage}", summary, " ".join(filter(None, more)), family, aliases, completer, run)

    return make


def normalise_line(text: str) -> str:
    """Add the `/` to `quit`, `exit` or `help` typed alone."""
    return f"/{text.lower()}" if text.lower() in BARE else text
