"""The table of commands, and the function that runs one. Neither a command nor its output is sent to a model.

The first `/` imports this module, so that the first prompt does not wait for it.
"""

from __future__ import annotations

from importlib import import_module

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from thimble.agent.errors import ThimbleError, UsageError, did_you_mean
from thimble.commands.tour import CommandRan
from thimble.repl.commands.command import Command
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.theme import is_drawn, say
from thimble.session.session import Session

FILES = (
    "strategy",
    "budget",
    "compact",
    "override",
    "context.context",
    "stats",
    "timeline",
    "compare.compare",
    "plant",
    "probe.show_probe",
    "predict",
    "branches.moves",
    "branches.tree",
    "sessions",
    "export.export",
    "articles",
    "model",
    "pull",
    "doctor.doctor",
    "tour",
    "help",
)
"""The files of this folder that define commands, in the order of /help."""

COMMANDS: dict[str, Command] = {
    value.name: value
    for file in FILES
    for value in vars(import_module(f"thimble.repl.commands.{file}")).values()
    if isinstance(value, Command)
}
"""By name, in the order of /help."""
SUGGESTED_COMMANDS = {
    "recall": "/context N shows message N",
    "show": "/context N shows message N",
    "fit": "/help budget explains fit",
}
"""Words that are not commands, with the command that the user probably wants."""


def find_command(word: str) -> Command:
    """The command of this name or alias, with or without `/`. Raises UsageError, with the nearest name."""
    name = word.removeprefix("/")
    known = {f"/{each}": one for one in COMMANDS.values() for each in (one.name, *one.aliases)}
    if f"/{name}" in known:
        return known[f"/{name}"]
    rest = "/help lists the commands; nothing was sent"
    fix = (
        f"{SUGGESTED_COMMANDS[name]}; {rest}"
        if name in SUGGESTED_COMMANDS
        else did_you_mean(name and f"/{name}", known, rest)
    )
    raise UsageError(f"there is no command /{name[:40]}", fix)


def run_command(session: Session, text: str, console: Console) -> str | None:
    """Run a line that starts with `/`. Returns a question to ask next, "" for none, None to leave.

    Raises:
        ThimbleError: there is no such command, or it failed; nothing has changed.
    """
    word, rest = [*text.split(None, 1), "", ""][:2]
    if session.playback:
        session.playback.note_input(text)  # even for an unknown command, or the recording would offer it for ever
    command, rest = find_command(word), rest.strip()
    session.catch_up()
    session.reload()
    session.note_command(text)
    if rest and command.takes in ("", "[all]") and f"[{rest}]" != command.takes:
        takes = "only the argument all" if command.takes else "no arguments"
        fix = f"write {word[:40]}{f' or {word[:40]} all' * bool(command.takes)}"
        raise UsageError(f"{word[:40]} takes {takes}, not {rest[:40]!r}", fix)
    if command.name == "quit":
        return None
    question = command.run(session, rest, console) or ""
    session.notify_watchers(CommandRan(command.name))
    return question


def show_error(console: Console, error: ThimbleError) -> None:
    """Print an error, a line for the problem and a line for the fix."""
    drawn = is_drawn(console)
    say(console, f"{'✗ ' if drawn else 'error: '}{one_line(error.what)}", "error")
    if error.fix:
        fix = Text(one_line(error.fix), style="quiet")
        console.print(Padding(fix, (0, 0, 0, 2), expand=False) if drawn else Text("fix: ").append_text(fix))
