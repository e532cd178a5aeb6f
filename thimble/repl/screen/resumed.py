"""A resumed session on the screen: its name, its losses and its last exchange."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from thimble.agent.events import ReplyPiece
from thimble.repl.screen.sanitise import clean, one_line
from thimble.repl.screen.theme import GLYPH, is_drawn, say
from thimble.repl.screen.trace import cut_line
from thimble.session import figures
from thimble.session.story import group_exchanges, iter_records
from thimble.tools.wording import count_noun

if TYPE_CHECKING:
    from thimble.session.session import Session
    from thimble.session.settings import Settings

UNANSWERED = "(no answer: it was interrupted)"


def show_resumed(session: Session, console: Console) -> None:
    """Print the lines of `resumed`, then the last exchange as the conversation shows it."""
    from thimble.repl.screen.exchange import Lines, Screen

    drawn = is_drawn(console)
    for text, style in resume_lines(session):
        say(console, text, style)
    question, answer = last_exchange(session)
    if not question:
        return
    if drawn:
        console.print()
    shown = clean(question).replace("\n", "\n" + " " * len(GLYPH) if drawn else "\n")
    console.print(Text(GLYPH if drawn else "you: ", style="mark") + Text(shown, style="none"))
    with (Screen if drawn else Lines)(console) as renderer:
        renderer.history = lambda: session.saved.history if session.saved else ()
        renderer.show(ReplyPiece("text", answer))
    if drawn:
        console.print()


def resume_lines(session: Session) -> list[tuple[str, str]]:
    """Lines, each with a style: the resumed session, its own folders, and the damage to its file."""
    past = session.saved
    if past is None:
        return []
    called = f"“{one_line(past.name)}” ({session.journal.id})" if past.name else session.journal.id
    under = one_line(past.strategy) + (
        f", from now on {one_line(session.spec)}" if session.spec != past.strategy else ""
    )
    tree = session.journal.tree
    words = [f"branch {tree.current} of {len(tree.branches)}"] if len(tree.branches) > 1 else []
    words += [count_noun(past.ledger.exchanges, "exchange"), under]
    words += [f"left {figures.format_age(time.time() - past.at)}"] if past.at else []
    lines = [(f"Resumed {called}: {', '.join(words)}.", "quiet")]
    lines += [(f"It uses its own {name}: {one_line(folder)}", "quiet") for name, folder in _folders(session.settings)]
    if past.lost:
        lost = cut_line(one_line(", ".join(past.lost)), 400)
        lines.append(
            (f"The session file is damaged: {lost} lost. The rest was read; the file was not changed.", "warn")
        )
    return lines


def _folders(settings: Settings) -> list[tuple[str, str]]:
    """The saved folders of the session that differ from the user's settings."""
    asked = settings.asked or settings
    both = [(name, getattr(settings, name)) for name in ("corpus", "files")]
    return [(f"--{name}", str(folder)) for name, folder in both if folder != getattr(asked, name)]


def last_exchange(session: Session) -> tuple[str, str]:
    """The last question and its answer; both "" if nothing was asked."""
    tree = session.journal.tree
    there = [one for one in group_exchanges(iter_records(tree.path(tree.current))) if one.ending != "withdrawn"]
    if not session.saved or not there:
        return "", ""
    answer = there[-1].answered.text
    return there[-1].question.content, answer if answer.strip() else UNANSWERED
