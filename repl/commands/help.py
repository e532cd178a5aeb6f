"""/help and /articles: what can be typed, and what can be asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from agent import figures
from agent.errors import UsageError
from repl.commands.table import COMMANDS, named
from repl.screen.sanitise import line
from repl.screen.tables import Table
from repl.screen.theme import is_drawn, say

if TYPE_CHECKING:
    from session.session import Session

KEYS = """\
Enter sends · Ctrl-J, Alt-Enter: new line · Tab completes · Ctrl-R: history
Ctrl-C stops an answer, clears the line · Ctrl-X Ctrl-E: editor · Ctrl-D leaves"""
PLAIN_KEYS = "Enter sends, Ctrl-C stops an answer, Ctrl-D leaves. More on one command: /help COMMAND"

TOGETHER = {
    ("context", "why"): "what the last call was sent, and by which rule",
    ("plant", "probe"): "put a fact into the history; ask what is left of it",
    ("fork", "tree"): "go on from an earlier question; all branches",
    ("undo", "retry"): "go back a question; ask it again, as you like",
    ("model", "pull", "doctor"): "choose or download a model; look what is wrong",
    ("sessions", "save", "load"): "list the sessions that are kept; name, open one",
}
"""What commands that share a line of /help do."""


def help_(session: Session, text: str, console: Console) -> None:
    """List the commands, or tell more on one, or on a strategy. Raises UsageError for one that there is not."""
    word, _, topic = text.partition(" ")
    if topic and named(word) == "strategy":
        from repl.commands.strategies import show_one

        show_one(topic.strip(), console)
    elif topic:
        raise UsageError(f"/help takes one command, not {text[:40]!r}", "write /help COMMAND, or /help strategy NAME")
    elif word:
        command = COMMANDS[named(word)]
        say(console, f"{command.usage}  {command.summary}")
        if command.more:
            say(console, command.more, "quiet")
    else:
        rows = _rows() if is_drawn(console) else [(command.usage, command.summary) for command in COMMANDS.values()]
        Table("Anything else that you type is asked of the model.", ("command", "what it does"), rows).show(console)
        console.print()
        say(console, KEYS if is_drawn(console) else PLAIN_KEYS, "quiet")


def articles(session: Session, topic: str, console: Console) -> None:
    """List the articles, or those about a topic. Raises UsageError where there is none."""
    library = session.library
    found = library.matching(topic) if topic else library.articles
    if not found:
        topics = f"the topics are {', '.join(library.tags)}" if library.tags else "/articles lists them all"
        raise UsageError(f"no article about {topic[:40]!r}", topics)
    rows = [(article.slug, article.title, f"{article.words:,}") for article in found]
    about = f" about {line(topic)}" if topic else ""
    Table(f"{figures.several(len(rows), 'article')}{about}", ("slug", "title", ">words"), rows).show(console)


def _rows() -> list[tuple[str, str]]:
    """The commands on one screen: those that go together on a line."""
    rows = []
    for name, command in COMMANDS.items():
        family = next((names for names in TOGETHER if name in names), None)
        if family is None:
            rows.append((command.usage, command.summary))
        elif name == family[0]:
            rows.append((" ".join(f"/{each}" for each in family), TOGETHER[family]))
    return rows
