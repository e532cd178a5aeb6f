"""The commands: each a function whose docstring is its help. No command and no output of one is sent to a model.

A new command is a file or a folder beside this one, and a row of `FUNCTIONS`. The first prompt
comes without this module: a `/` imports it.
"""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from thimble.agent.errors import ThimbleError, UsageError
from thimble.repl.commands.articles import articles
from thimble.repl.commands.branches.moves import fork, reset, retry, undo
from thimble.repl.commands.branches.tree import tree
from thimble.repl.commands.budget import budget
from thimble.repl.commands.command import Command, find
from thimble.repl.commands.compact import compact
from thimble.repl.commands.compare.compare import compare
from thimble.repl.commands.context.context import context, why
from thimble.repl.commands.doctor.doctor import doctor
from thimble.repl.commands.help import show_help
from thimble.repl.commands.model import model
from thimble.repl.commands.plant import plant
from thimble.repl.commands.predict import predict
from thimble.repl.commands.probe.show_probe import show_probe
from thimble.repl.commands.pull import pull
from thimble.repl.commands.sessions import load, save, sessions
from thimble.repl.commands.stats import show_stats
from thimble.repl.commands.strategy import strategy
from thimble.repl.commands.timeline import show_timeline
from thimble.repl.commands.tour import tour
from thimble.repl.screen.sanitise import line
from thimble.repl.screen.theme import is_drawn, say
from thimble.session.session import Session
from thimble.session.tour import Ran


def run_command(session: Session, text: str, console: Console) -> str | None:
    """As `obey`; what is wrong with the command is printed, never raised."""
    try:
        return obey(session, text, console)
    except ThimbleError as error:
        show_error(console, error)
        return ""


def obey(session: Session, text: str, console: Console) -> str | None:
    """Run a line that begins with `/`. The answer is a question to ask next, "" for none, None to leave.

    Raises:
        ThimbleError: there is no such command, or it cannot do this; nothing has changed then.
    """
    word, rest = [*text.split(None, 1), "", ""][:2]
    if session.playback:
        session.playback.typed(text)  # also where there is no such command, or it would come again for ever
    name = find(word, COMMANDS)
    session.catch_up()
    session.reload()
    session.typed(text)
    command, rest = COMMANDS[name], rest.strip()
    if rest and command.usage == f"/{name}":
        raise UsageError(f"{word[:40]} takes no arguments, not {rest[:40]!r}", f"write {word[:40]}")
    if name == "quit":
        return None
    question = command.run(session, rest, console) or ""
    session.see(Ran(name))
    return question


def show_error(console: Console, error: ThimbleError) -> None:
    """One line what is wrong, one line how to mend it."""
    drawn = is_drawn(console)
    say(console, f"{'✗ ' if drawn else 'error: '}{line(error.what)}", "error")
    if error.fix:
        fix = Text(line(error.fix), style="quiet")
        console.print(Padding(fix, (0, 0, 0, 2), expand=False) if drawn else Text("fix: ").append_text(fix))


def export(session: Session, text: str, console: Console) -> None:
    """/export [FILE]: write the session to a file: a page, Markdown, JSON.

    /export [FORMAT] [FILE]: html, the default, is a page to click through, call by call; the others are md and json.
    The ending of FILE can name the format. An existing file is replaced only with a ! after its name: /export
    lesson.html!
    """
    from thimble.repl.commands.export.export import export  # late: its formats need much

    export(session, text, console)


def help(session: Session, text: str, console: Console) -> None:
    """/help [COMMAND]: this list, or more on one command."""
    show_help(text, COMMANDS, console)


def quit(session: Session, text: str, console: Console) -> None:
    """/quit: leave (also /exit and Ctrl-D)."""


FUNCTIONS = (
    strategy,
    budget,
    compact,
    context,
    why,
    show_stats,
    show_timeline,
    compare,
    plant,
    show_probe,
    predict,
    fork,
    tree,
    undo,
    retry,
    sessions,
    save,
    load,
    export,
    articles,
    model,
    pull,
    doctor,
    reset,
    tour,
    help,
    quit,
)
COMMANDS = {command.name: command for command in map(Command.of, FUNCTIONS)}
"""By name, in the order of /help."""
