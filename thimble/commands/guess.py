"""A guess: which messages the next prompt will hold unchanged, and whether it was right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from thimble.agent.errors import UsageError
from thimble.agent.events import Prepared
from thimble.agent.messages import Message
from thimble.agent.view import View
from thimble.session.journal.records import Branched, Switched
from thimble.session.session import Session

GUESS_FORM = "write /predict 1-4 9 12, the numbers of the messages that stay unchanged, or /predict all, none, off"


@dataclass
class Guess:
    """The audience's guess: of these messages, those at the places `stays`, counted from 1, will stay unchanged.

    It watches the session: `view` is the view of the first call after the guess. It is void on another branch.
    """

    messages: Sequence[Message]
    stays: frozenset[int]
    view: View | None = None

    def on_event(self, session: Session, event: object) -> None:
        """Note the first view that is sent; forget the guess on another branch."""
        if isinstance(event, Prepared):
            self.view = self.view or event.view
        elif isinstance(event, Branched | Switched):
            session.watchers.pop("guess", None)

    @property
    def stayed(self) -> frozenset[int]:
        """The places of the messages that are unchanged in the view."""
        kept = {message.id for message, fate in self.view.fated if fate == "kept"} if self.view else set()
        return frozenset(place for place, message in enumerate(self.messages, 1) if message.id in kept)


def guess_of(session: Session) -> Guess | None:
    """The guess that waits for its prompt, or to be revealed; None without one."""
    found = session.watchers.get("guess")
    return found if isinstance(found, Guess) else None


def parse_guess(history: Sequence[Message], text: str) -> Guess:
    """Parse a guess about this history.

    Raises:
        UsageError: there are no messages yet, or the text is not a list of message numbers.
    """
    if not history:
        raise UsageError("there is no message yet to guess at", "ask a question first, or /plant a fact")
    return Guess(tuple(history), parse_places(text, len(history)))


def parse_places(text: str, most: int) -> frozenset[int]:
    """Parse places from 1 to `most`: `1-4 9 12`, `all` or `none`. Raises UsageError for anything else."""
    if text.lower() in ("all", "none"):
        return frozenset(range(1, most + 1) if text.lower() == "all" else ())
    found: set[int] = set()
    for part in filter(None, re.split(r"[\s,]+", re.sub(" ?[-–] ?", "-", " ".join(text.split())))):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part, re.ASCII)
        if not match:
            raise UsageError(f"{part[:40]!r} is not a message number", GUESS_FORM)
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last <= most:
            raise UsageError(f"{part[:40]!r} is not within the {most:,} messages, first to last", GUESS_FORM)
        found.update(range(first, last + 1))
    if not found:
        raise UsageError("name at least one message", GUESS_FORM)
    return frozenset(found)
