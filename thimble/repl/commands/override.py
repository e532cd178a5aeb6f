"""/pin, /drop and /edit: the user's decisions about a message, under any strategy."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.agent.override import Decision
from thimble.repl.commands.command import Offer, command
from thimble.repl.commands.context.listing import first_words
from thimble.repl.commands.next_prompt import say_next_prompt
from thimble.repl.screen.theme import say
from thimble.repl.screen.trace import speaker_name
from thimble.session.override import override_message
from thimble.session.session import Session

DECISIONS: dict[str, tuple[Decision, str]] = {
    "pin": ("pinned", ": every prompt will hold it whole"),
    "drop": ("dropped", ": no prompt will hold it"),
    "edit": ("edited", ": every prompt will hold your text instead"),
    "off": ("", "left to the strategy again"),
}
"""The user's decisions, and the words for them."""


def messages(session: Session, _: str) -> Iterator[Offer]:
    """The messages by number, the newest first; none while the articles are still loading."""
    history = [] if session.reading.words else session.agent.history
    for place, message in reversed([*enumerate(history, 1)]):
        yield f"{place}", f"{speaker_name(message)}: {first_words(message, 40)}"
        if message.id in session.agent.state.overrides:
            yield f"off {place}", "undo it"


@command("pin N", "Prompt", completer=messages)
def pin(session: Session, rest: str, console: Console) -> None:
    """Keep message N whole in every prompt.

    N is its number in /context. The message stays whole under any strategy, and so does its call. The newest of /pin,
    /drop and /edit counts; /pin off N undoes any of them.
    """
    _decide(session, "pin", rest, console)


@command("drop N", "Prompt", completer=messages)
def drop(session: Session, rest: str, console: Console) -> None:
    """Leave message N out of every prompt from now on.

    N is its number in /context. A call and its results go together. The history keeps them: /drop off N brings them
    back. The system prompt and the first task cannot be dropped; the current question goes once you ask the next one.
    """
    _decide(session, "drop", rest, console)


@command("edit N TEXT", "Prompt", completer=messages)
def edit(session: Session, rest: str, console: Console) -> None:
    """Send your own text in place of message N.

    N is its number in /context. Every prompt holds your text; calls of the message stay unchanged. Ctrl-X Ctrl-E opens
    your editor. The history keeps the original: /edit off N brings it back.
    """
    _decide(session, "edit", rest, console)


def _decide(session: Session, name: str, rest: str, console: Console) -> None:
    deed, effect = DECISIONS["off" if rest.startswith("off ") else name]
    number, _, text = rest.removeprefix("off ").partition(" ")
    if not (number.isdecimal() and len(number) < 10 and bool(text.strip()) == (deed == "edited")):
        what, new = (" and the new text", " TEXT") if name == "edit" else ("", "")
        raise UsageError(
            f"/{name} takes a message number{what}", f"write /{name} 5{new}, or /{name} off 5; /context lists them"
        )
    agent, before = session.agent, session.agent.state.overrides
    turn = override_message(session, int(number), deed, text.strip())
    places, now = {agent.history[at - 1].id: at for at in turn}, agent.state.overrides
    replaced = [f"message {places[id_]} {one.deed}" for id_, one in before.items() if now.get(id_) != one]
    whole = f", with its whole turn, {turn[0]} to {turn[-1]}" if deed == "dropped" and len(turn) > 1 else ""
    undo = f". /{name} off {number} undoes it" if deed else ""
    say(console, f"Message {number} is {deed}{whole}{effect}{undo}.")
    if replaced:
        say(console, f"Undone: {', '.join(replaced)}.")
    say_next_prompt(session, console)
