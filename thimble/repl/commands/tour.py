"""/tour: a lesson that leads through a session, step by step."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from thimble.agent.errors import UsageError
from thimble.commands.tour import TOURS, Tour, keep, put_on, tour_of
from thimble.repl.commands.command import command, one_of
from thimble.repl.screen.sanitise import clean
from thimble.repl.screen.theme import is_drawn, say
from thimble.session.session import Session

HOW, PLAIN_HOW = "Enter sends the line · Tab edits it", "Enter sends the next line"


@command("tour [NAME]", "thimble", completer=one_of(*TOURS, "skip", "stop"))
def tour(session: Session, text: str, console: Console) -> None:
    """A lesson that leads: context, hour, strategies.

    context takes ten minutes, hour is the lesson for a room, strategies goes through the ways to make a prompt fit.
    Each step says what to look for and offers a line: Enter sends it, Tab takes it to be edited. Ask anything else
    meanwhile: the tour waits. /tour shows the step again, /tour skip goes to the next one, /tour stop ends it.
    """
    word, there = text.lower(), tour_of(session)
    if session.playback:
        raise UsageError("a cassette is played here", "leave it, and write thimble tour")
    if word in ("skip", "stop") and there is None:
        raise UsageError("there is no tour", f"write /tour NAME: {', '.join(TOURS)}")
    if word and word not in (*TOURS, "skip", "stop"):
        raise UsageError(f"there is no tour {text[:40]!r}", f"write /tour NAME: {', '.join(TOURS)}")
    if word == "stop":
        put_on(session, None)
        say(console, "The tour is over; the session goes on.")
        return
    if word == "skip" and there:
        there.go_on()
    elif word or there is None:
        there = Tour(word or TOURS[0])
        put_on(session, there)
    there.said = False
    say(console, f"The tour of {there.title}. Wander as you like: it waits. /tour comes back, /tour stop ends it.")


def guide(session: Session, console: Console) -> None:
    """Go on as far as the tour was seen, and print the step that waits: in full at first, then in a line."""
    if here := tour_of(session):
        here.see(session)
        while here.is_seen:
            if here.step and not here.said:
                say(console, f"Step {here.at + 1} of {len(here.steps)} is so already: {here.step.line}", "quiet")
            if here.step and here.step.after:
                _show(console, Text("✓ " if is_drawn(console) else "seen", "mark"), here.step.after)
            here.go_on()
            here.see(session)
        if here.step is None:
            others = " and ".join(f"/tour {name}" for name in TOURS if name != here.name)
            _show(console, Text(), f"That was the tour of {here.title}. There are {others}. The session goes on.")
            put_on(session, None)
            return
        if here.said:
            say(console, waiting(here), "quiet")
        else:
            here.said = True
            _show(
                console,
                Text(f" TOUR {here.at + 1} of {len(here.steps)} ", "step"),
                HOW if is_drawn(console) else PLAIN_HOW,
            )
            _show(console, Text(), here.step.say)
        keep(session, here)


def waiting(tour: Tour) -> str:
    """The line that says what the tour waits for, and how to come back."""
    return f"The tour waits for {tour.missing} · back: /tour (skip, stop)"


def _show(console: Console, head: Text, words: str) -> None:
    """Words of a tour behind their head; where lines are drawn, on lines of their own and set in."""
    if not is_drawn(console):
        say(console, f"{head.plain.strip()}: {words}" if head else words)
    elif head.style == "step":
        console.print(head.append(f" {words}", "quiet"))
    else:
        console.print(Padding(head.append(clean(words)), (0, 0, 0, 2), expand=False))
