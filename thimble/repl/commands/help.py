"""/help: the commands on one screen, or one of them in full."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.repl.commands.command import Command, find
from thimble.repl.screen.pager import paged
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import is_drawn, say

KEYS = """\
Enter sends · Ctrl-J, Alt-Enter: new line · Tab completes · Ctrl-R: history
Ctrl-C stops an answer, clears the line · Ctrl-X Ctrl-E: editor · Ctrl-D leaves"""
PLAIN_KEYS = "Enter sends, Ctrl-C stops an answer, Ctrl-D leaves. More on one command: /help COMMAND"

TOGETHER = {
    ("strategy",): "how the context is managed",
    ("budget", "compact"): "the limit of a prompt; fold old turns now",
    ("stats", "timeline"): "tokens and their cost; when each model computed",
    ("compare",): "what other strategies would send, or answer",
    ("context", "why"): "what the last call was sent, and by which rule",
    ("plant", "probe"): "put a fact into the history; ask what is left of it",
    ("fork", "tree"): "go on from an earlier question; all branches",
    ("undo", "retry"): "go back a question; ask it again",
    ("model", "pull", "doctor"): "choose or download a model; find problems",
    ("sessions", "save", "load"): "list the saved sessions; name one, open one",
    ("tour", "help"): "a lesson that leads; this list, or more on one command",
}
"""Commands that share a line of /help, and their common summary."""


def show_help(text: str, commands: Mapping[str, Command], console: Console) -> None:
    """List the commands, or explain one command or strategy. Raises UsageError for an unknown one."""
    word, _, topic = text.partition(" ")
    if topic and find(word, commands) == "strategy":
        from thimble.repl.commands.strategy import show_one

        with paged(console):
            show_one(topic.strip(), console)
    elif topic:
        raise UsageError(f"/help takes one command, not {text[:40]!r}", "write /help COMMAND, or /help strategy NAME")
    elif word:
        command = commands[find(word, commands)]
        say(console, f"{command.usage}  {command.summary}")
        if command.more:
            say(console, command.more, "quiet")
    else:
        rows = _rows(commands) if is_drawn(console) else [(each.usage, each.summary) for each in commands.values()]
        Table("Anything else that you type is asked of the model.", ("command", "what it does"), rows).show(console)
        console.print()
        say(console, KEYS if is_drawn(console) else PLAIN_KEYS, "quiet")


def _rows(commands: Mapping[str, Command]) -> list[tuple[str, str]]:
    """The commands on one screen: related ones share a line."""
    rows = []
    for name, command in commands.items():
        family = next((names for names in TOGETHER if name in names), None)
        if family is None:
            rows.append((command.usage, command.summary))
        elif name == family[0]:
            rows.append((" ".join(f"/{each}" for each in family), TOGETHER[family]))
    return rows
