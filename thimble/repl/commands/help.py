"""/help and /quit: the commands by family, or one of them in full; and the way out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from thimble.agent.errors import UsageError
from thimble.repl.commands.command import Command, Offer, command
from thimble.repl.commands.strategy import show_one, strategies
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import is_drawn, say
from thimble.session.session import Session

KEYS = """\
Enter sends, also behind a running answer · Ctrl-J, Alt-Enter: new line · Tab completes · Ctrl-R: history
Ctrl-C stops an answer, clears the line · Ctrl-X Ctrl-E: editor · Ctrl-D leaves"""
PLAIN_KEYS = "Enter sends, Ctrl-C stops an answer, Ctrl-D leaves. More on one command: /help COMMAND"


def topics(session: Session, text: str) -> Iterable[Offer]:
    """The commands; after `strategy` its strategies."""
    if text.startswith("strategy "):
        return [(f"strategy {name}", meaning) for name, meaning in strategies()]
    from thimble.repl.commands.table import COMMANDS  # late: it imports this file

    return [(name, known.summary) for name, known in COMMANDS.items()]


@command("help [COMMAND]", "thimble", aliases=("?",), completer=topics)
def help(session: Session, text: str, console: Console) -> None:
    """This list, or more on one command."""
    from thimble.repl.commands.table import COMMANDS, find

    word, _, topic = text.partition(" ")
    if topic and find(word).name == "strategy":
        show_one(topic.strip(), console)
    elif topic:
        raise UsageError(f"/help takes one command, not {text[:40]!r}", "write /help COMMAND, or /help strategy NAME")
    elif word:
        known = find(word)
        say(console, f"{known.usage}  {known.summary}")
        if known.more:
            say(console, known.more, "quiet")
    else:
        _show_all([*COMMANDS.values()], console)


@command("quit", "thimble", aliases=("exit",))
def quit(session: Session, text: str, console: Console) -> None:
    """Leave (also /exit and Ctrl-D)."""


def _show_all(commands: Sequence[Command], console: Console) -> None:
    """Every command by family, then the keys."""
    longest = max(len(each.usage) for each in commands) if is_drawn(console) else 0
    say(console, "Anything else that you type is asked of the model.")
    for family in dict.fromkeys(each.family for each in commands):
        its = [each for each in commands if each.family == family]
        rows = [(Text(each.usage.ljust(longest), style="name"), each.summary) for each in its]
        Table(family, ("", ""), rows).show(console)
    console.print()
    say(console, KEYS if is_drawn(console) else PLAIN_KEYS, "quiet")
