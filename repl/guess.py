"""A guess: which messages the next prompt will hold as they are, and how right that was."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from agent.errors import UsageError
from agent.events import Event, Prepared
from agent.messages import Message
from agent.view import View
from agent.why import why
from repl import figures
from repl.sanitise import line

if TYPE_CHECKING:
    from repl.session import Session

FORM = "write /predict 1-4 9 12, the numbers of those that stay as they are, or /predict all, none, off"
SURPRISES = 8
"""Lines of surprises that are shown at most."""


@dataclass
class Guess:
    """What the room says: of the messages that stood there, those at the places `stays`, counted from 1, will stay.

    It is fed the events of the next exchange: `first` is the view of its first call, `last` that of its newest.
    """

    messages: Sequence[Message]
    stays: frozenset[int]
    first: View | None = None
    last: View | None = None

    def see(self, event: Event) -> None:
        """Take note of a view that is sent."""
        if isinstance(event, Prepared):
            self.first, self.last = self.first or event.view, event.view

    def stayed(self, view: View) -> frozenset[int]:
        """The places whose messages are in this view as they were."""
        kept = {message.id for message, fate in view.fated if fate == "kept"}
        return frozenset(place for place, message in enumerate(self.messages, 1) if message.id in kept)

    def right(self, view: View) -> int:
        """Of how many messages the guess was right."""
        return len(self.messages) - len(self.stays ^ self.stayed(view))


def take(session: Session, text: str) -> Guess:
    """The guess that a text makes, which replaces the one before.

    Raises:
        UsageError: there is no message to guess at, or the text is no list of numbers of messages.
    """
    messages = tuple(session.agent.history)
    if not messages:
        raise UsageError("there is no message yet to guess at", "ask a question first, or /plant a fact")
    session.guess = Guess(messages, places(text, len(messages)))
    return session.guess


def places(text: str, most: int) -> frozenset[int]:
    """The places that `1-4 9 12`, `all` or `none` names, of so many. Raises UsageError for anything else."""
    if text.lower() in ("all", "none"):
        return frozenset(range(1, most + 1) if text.lower() == "all" else ())
    found: set[int] = set()
    for part in filter(None, re.split(r"[\s,]+", re.sub(" ?[-–] ?", "-", " ".join(text.split())))):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part, re.ASCII)
        if not match:
            raise UsageError(f"{part[:40]!r} is no number of a message", FORM)
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last <= most:
            raise UsageError(f"{part[:40]!r} is not within the {most:,} messages, first to last", FORM)
        found.update(range(first, last + 1))
    if not found:
        raise UsageError("no message is named", FORM)
    return frozenset(found)


def ranges(numbers: Sequence[int]) -> str:
    """Numbers in ascending order, as a person writes them: `1-4, 9, 12`."""
    runs = ([number for _, number in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]))
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def reveal(session: Session) -> list[str]:
    """How right the guess was, in lines; none while it waits for its prompt. It is told once."""
    guess = session.guess
    if guess is None or guess.first is None or guess.last is None:
        return []
    session.guess = None
    return list(_told(guess, guess.first, guess.last))


def _told(guess: Guess, first: View, last: View) -> Iterator[str]:
    yield f"Predicted: {_score(guess, first)} for the next prompt"
    yield from _surprises(guess, first, range(1, len(guess.messages) + 1))
    changed = guess.stayed(first) ^ guess.stayed(last)
    if changed:
        yield f"Predicted: {_score(guess, last)} for the last prompt of the exchange, where more had changed"
        yield from _surprises(guess, last, sorted(changed))


def _score(guess: Guess, view: View) -> str:
    right, of = guess.right(view), len(guess.messages)
    return f"{right:,} of {of:,} right ({figures.share(right, of)})"


def _surprises(guess: Guess, view: View, among: Sequence[int]) -> Iterator[str]:
    """The messages that went, by what became of them and why; then those that stayed: as nobody had said."""
    stayed = guess.stayed(view)
    place = {message.id: at for at, message in enumerate(view.history)}
    went: dict[str, list[int]] = {}
    for number in among:
        if number in guess.stays and number not in stayed:
            at = place.get(guess.messages[number - 1].id)
            rule = "gone from the history" if at is None else f"{view.fates[at]}: {line(why(view, at))}"
            went.setdefault(rule, []).append(number)
    lines = [f"  said to stay, but {ranges(numbers)} {rule}" for rule, numbers in went.items()]
    if kept := [number for number in among if number in stayed and number not in guess.stays]:
        lines.append(f"  said to go, and stayed: {ranges(kept)}")
    yield from lines[:SURPRISES]
    if len(lines) > SURPRISES:
        yield f"  and {len(lines) - SURPRISES} more surprises"
