"""The doctor's report: a table, lines to read aloud, or JSON Lines."""

from __future__ import annotations

import io
import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from thimble.agent.errors import UsageError
from thimble.models import READER
from thimble.plugins import plugins
from thimble.repl.commands.command import command, one_of
from thimble.repl.commands.doctor.examine import WAIT_SECONDS, Report, examine
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.streams import write_error_line, write_json, write_output
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import console_for, is_drawn, is_plain, say, show_progress
from thimble.repl.screen.wrapping import stream_width, wrap_text
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.session.settings_table import BACKENDS

STATES = {"ok": ("✓", "ok", "calm"), "warn": ("!", "warning", "warn"), "fail": ("✗", "error", "error")}
"""The symbol of a state, its word, and its style."""
WAIT = f"checking; waiting up to {WAIT_SECONDS:g} seconds for each server"


def run_doctor(settings: Settings, as_json: bool, warms: bool = False) -> int:
    """Print the report and return the exit code. With `warms`, warm up the model too."""
    console = console_for(as_json or is_plain(settings.plain), color=settings.color)
    for notice in settings.notices:
        write_error_line(notice)
    with show_progress(console, WAIT):
        report = examine(settings, console, warms)
    if as_json:
        write_fields(report)
    elif console.is_terminal:
        print_report(report, console)
    else:
        shown = io.StringIO()
        print_report(report, console_for(plain=True, file=shown))
        write_output(wrap_text(shown.getvalue(), stream_width(sys.stdout)))  # `write` reports a closed pipe
    return report.code


@command("doctor [all]", "Models and articles", completer=one_of("all"))
def doctor(session: Session, rest: str, console: Console) -> None:
    """Check servers, model, terminal and folders.

    Each problem comes with the command that fixes it; nothing is changed. /doctor all also lists the checks that
    passed.
    """
    if session.playback:
        raise UsageError(
            "/doctor is not available while a recording is playing", "leave with /quit, then thimble doctor"
        )
    with show_progress(console, WAIT):
        report = examine(current_settings(session), console)
    print_report(report, console, whole=bool(rest))


def current_settings(session: Session) -> Settings:
    """The settings that would open a session like this one."""
    if not session.is_ready:
        return session.settings
    backend = session.agent.backend
    now: dict[str, Any] = {key: value for key, value in session.values.items() if key not in ("model", "system")}
    if backend.name in BACKENDS or backend.name in plugins("backends"):  # a script may have brought its own
        now |= {"backend": backend.name, "model": "" if backend.name == READER else backend.model}
    return session.settings.replace(**now)


def write_fields(report: Report) -> None:
    """Print a line of JSON for each finding, then one for the verdict."""
    for name, state, check in report.findings:
        write_json("check", name=name, state=state, found=check.found, fix=check.fix or None)
    backend, end = report.backend, report.end
    model = {"backend": backend and backend.name, "model": backend and backend.model}
    write_json("doctor", verdict=end.found, fix=end.fix or None, **model, code=report.code)


def print_report(report: Report, console: Console, whole: bool = True) -> None:
    """Print a row for each finding, then the verdict; passed checks only in a `whole` report."""
    drawn = is_drawn(console) and console.encoding.lower().startswith("utf")
    mend = "→ " if drawn else "to fix it: "
    rows = []
    for name, state, check in report.findings:
        if state == "ok" and not whole:
            continue
        sign, word, style = STATES[state]
        head = Text.assemble((sign, style), f" {name}") if drawn else Text(f"{word}: {name}")
        rows.append((head, f"{one_line(check.found)}\n{mend}{check.fix}" if check.fix else one_line(check.found)))
    Table("What a session needs", ("", ""), rows).show(console)
    if well := len(report.findings) - len(rows):
        say(console, f"{well} more {'are' if well > 1 else 'is'} fine: /doctor all lists them", "quiet")
    say(console, one_line(report.end.found), "error" if report.code else "calm")
    if report.end.fix:
        say(console, f"{mend}{one_line(report.end.fix)}")
