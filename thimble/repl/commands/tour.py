"""/tour: a guided tour through a session, step by step."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from thimble.agent.errors import UsageError
from thimble.commands.tour import TOURS, Tour, save_progress, start_tour, tour_of
from thimble.repl.commands.command import command, one_of
from thimble.repl.screen.sanitise import clean
from thimble.repl.screen.theme import is_drawn, say
from thimble.session.session import Session

HOW, PLAIN_HOW = "Enter sends the line · Tab edits it", "Enter sends the next line"


@command("tour [NAME]", "thimble", completer=one_of(*TOURS, "skip", "stop"))
def tour(session: Session, text: str, console: Console) -> None:
    """Take a guided tour: context, hour, strategies.

    context takes ten minutes, hour is a lesson for a room, strategies shows the ways to make a prompt fit. Each step
    says what to look for and suggests a line: Enter sends it, Tab opens it for editing. If you type something else, the
    tour waits. /tour shows the step again, /tour skip goes to the next one, /tour stop ends the tour.
    """
    word, there = text.lower(), tour_of(session)
    if session.playback:
        raise UsageError("/tour is not available while a recording is playing", "leave with /quit, then thimble tour")
    if word in ("skip", "stop") and there is None:
        raise UsageError("no tour is running", f"write /tour NAME: {', '.join(TOURS)}")
    if word and word not in (*TOURS, "skip", "stop"):
        raise UsageError(f"there is no tour {text[:40]!r}", f"write /tour NAME: {', '.join(TOURS)}")
    if word == "stop":
        start_tour(session, None)
        say(console, "The tour is over; the session continues.")
        return
    if word == "skip" and there:
        there.advance()
    elif word or there is None:
        there = Tour(word or TOURS[0])
        start_tour(session, there)
    there.said = False
    say(console, f"The tour of {there.title}. Ask anything in between: it waits. /tour comes back, /tour stop ends it.")


def advance_tour(session: Session, console: Console) -> None:
    """Advance past the steps that are done, and print the next one: in full the first time, then in a line."""
    if here := tour_of(session):
        here.on_event(session)
        while here.is_seen:
            if here.step and not here.said:
                say(console, f"Step {here.at + 1} of {len(here.steps)} is done already: {here.step.line}", "quiet")
            if here.step and here.step.after:
                _show(console, Text("✓ " if is_drawn(console) else "seen", "mark"), here.step.after)
            here.advance()
            here.on_event(session)
        if here.step is None:
            others = " and ".join(f"/tour {name}" for name in TOURS if name != here.name)
            _show(console, Text(), f"That was the tour of {here.title}. Next: {others}. The session continues.")
            start_tour(session, None)
            return
        if here.said:
            say(console, waiting_line(here), "quiet")
        else:
            here.said = True
            _show(
                console,
                Text(f" TOUR {here.at + 1} of {len(here.steps)} ", "step"),
                HOW if is_drawn(console) else PLAIN_HOW,
            )
            _show(console, Text(), here.step.say)
        save_progress(session, here)


def waiting_line(tour: Tour) -> str:
    """A line with the step that the tour waits for, and the command to come back."""
    return f"The tour waits for {tour.describe_missing} · resume: /tour (skip, stop)"


def _show(console: Console, head: Text, words: str) -> None:
    """Print text of a tour after its head; indented below it on a terminal."""
    if not is_drawn(console):
        say(console, f"{head.plain.strip()}: {words}" if head else words)
    elif head.style == "step":
        console.print(head.append(f" {words}", "quiet"))
    else:
        console.print(Padding(head.append(clean(words)), (0, 0, 0, 2), expand=False))
