"""/help and /quit: list the commands by family, explain one of them, or leave."""

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
Enter sends, even while an answer runs · Ctrl-J, Alt-Enter: new line · Tab completes · Ctrl-R: history
Ctrl-C stops an answer, clears the line · Ctrl-X Ctrl-E: editor · Ctrl-D leaves"""
PLAIN_KEYS = "Enter sends, Ctrl-C stops an answer, Ctrl-D leaves. /help COMMAND explains a command."


def topics(session: Session, text: str) -> Iterable[Offer]:
    """The commands; after `strategy` its strategies."""
    if text.startswith("strategy "):
        return [(f"strategy {name}", meaning) for name, meaning in strategies()]
    from thimble.repl.commands.table import COMMANDS  # late: it imports this file

    return [(name, known.summary) for name, known in COMMANDS.items()]


@command("help [COMMAND]", "thimble", aliases=("?",), completer=topics)
def help(session: Session, text: str, console: Console) -> None:
    """List the commands, or explain one."""
    from thimble.repl.commands.table import COMMANDS, find_command

    word, _, topic = text.partition(" ")
    if topic and find_command(word).name == "strategy":
        show_one(topic.strip(), console)
    elif topic:
        raise UsageError(f"/help explains one command, not {text[:40]!r}", "write /help COMMAND or /help strategy NAME")
    elif word:
        known = find_command(word)
        say(console, f"{known.usage}  {known.summary}")
        if known.more:
            say(console, known.more, "quiet")
    else:
        _show_all([*COMMANDS.values()], console)


@command("quit", "thimble", aliases=("exit",))
def quit(session: Session, text: str, console: Console) -> None:
    """Leave (also /exit and Ctrl-D)."""


def _show_all(commands: Sequence[Command], console: Console) -> None:
    """Print every command by family, then the keys."""
    longest = max(len(each.usage) for each in commands) if is_drawn(console) else 0
    say(console, "Any other line is a question to the model. /help COMMAND explains a command.")
    for family in dict.fromkeys(each.family for each in commands):
        its = [each for each in commands if each.family == family]
        rows = [(Text(each.usage.ljust(longest), style="name"), each.summary) for each in its]
        Table(family, ("", ""), rows).show(console)
    console.print()
    say(console, KEYS if is_drawn(console) else PLAIN_KEYS, "quiet")
