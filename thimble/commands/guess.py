"""A guess: which messages the next prompt will hold as they are, and how right that was."""

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

GUESS_FORM = "write /predict 1-4 9 12, the numbers of those that stay as they are, or /predict all, none, off"


@dataclass
class Guess:
    """What the room says: of the messages that stood there, those at the places `stays`, counted from 1, will stay.

    It watches the session: `view` is that of the first call after it. It is void on another branch.
    """

    messages: Sequence[Message]
    stays: frozenset[int]
    view: View | None = None

    def see(self, session: Session, event: object) -> None:
        """Take note of a view that is sent."""
        if isinstance(event, Prepared):
            self.view = self.view or event.view
        elif isinstance(event, Branched | Switched):
            session.watchers.pop("guess", None)

    @property
    def stayed(self) -> frozenset[int]:
        """The places whose messages are in the view as they were."""
        kept = {message.id for message, fate in self.view.fated if fate == "kept"} if self.view else set()
        return frozenset(place for place, message in enumerate(self.messages, 1) if message.id in kept)


def guess_of(session: Session) -> Guess | None:
    """The guess that waits for its prompt, or to be revealed."""
    found = session.watchers.get("guess")
    return found if isinstance(found, Guess) else None


def take(history: Sequence[Message], text: str) -> Guess:
    """The guess at this history that a text makes.

    Raises:
        UsageError: there is no message to guess at, or the text is no list of numbers of messages.
    """
    if not history:
        raise UsageError("there is no message yet to guess at", "ask a question first, or /plant a fact")
    return Guess(tuple(history), places(text, len(history)))


def places(text: str, most: int) -> frozenset[int]:
    """The places that `1-4 9 12`, `all` or `none` names, of so many. Raises UsageError for anything else."""
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
