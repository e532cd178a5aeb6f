"""The doctor's report: a table for each group, lines to read aloud, or JSON Lines."""

from __future__ import annotations

import io
import sys
from functools import partial
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from thimble.agent.errors import UsageError
from thimble.models import READER
from thimble.plugins import plugins
from thimble.repl.commands.command import command
from thimble.repl.commands.doctor import machine
from thimble.repl.commands.doctor.examine import MOST_WAIT_SECONDS, Look, Report, examine
from thimble.repl.commands.doctor.warm import warm
from thimble.repl.screen.sanitise import line
from thimble.repl.screen.streams import tell, write, write_json
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import console_for, is_drawn, is_plain, moving, say
from thimble.repl.screen.wrapping import columns, wrapped
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.session.settings_table import BACKENDS

STATES = {"ok": ("✓", "ok", "calm"), "warn": ("!", "warning", "warn"), "fail": ("✗", "error", "error")}
"""The sign of a state, its word, and its style."""
WAIT = f"looking; a server that does not answer is waited for {MOST_WAIT_SECONDS:g} seconds"


def run(settings: Settings, as_json: bool, warms: bool = False) -> int:
    """Print it; the exit code. With `warms` the model is made ready too."""
    console = console_for(is_plain(settings.plain), color=settings.color)
    for notice in settings.notices:
        tell(notice)
    last = Look("warm", "model", partial(warm, settings)) if warms else None
    report = examine(settings, looks(settings, console), last=last) if as_json else look(settings, console, last)
    if as_json:
        write_fields(report)
    elif console.is_terminal:
        show(report, console)
    else:
        shown = io.StringIO()
        show(report, console_for(plain=True, file=shown))
        write(wrapped(shown.getvalue(), columns(sys.stdout)))  # to whoever may have stopped reading
    return report.verdict.code


@command("doctor", "Models and articles")
def doctor(session: Session, _: str, console: Console) -> None:
    """Check servers, model, terminal and folders.

    Each problem comes with the command that solves it, for a session as this one is now: with its model, strategy and
    budget. Nothing is changed.
    """
    if session.playback:
        raise UsageError("a cassette is played: no server is looked for", "leave, and type thimble doctor")
    show(look(as_now(session), console), console)


def as_now(session: Session) -> Settings:
    """The settings with which a session like this one would be opened."""
    if not session.is_ready:
        return session.settings
    agent, name = session.agent, session.agent.backend.name
    now: dict[str, Any] = {key: value for key, value in session.values.items() if key not in ("model", "system")}
    if name in BACKENDS or name in plugins("backends"):  # a script may have brought its own
        now |= {"backend": name, "model": "" if name == READER else agent.backend.model}
    return session.settings.replace(**now)


def look(settings: Settings, console: Console, last: Look | None = None) -> Report:
    """Examine, and say meanwhile that it takes a moment."""
    if console.is_terminal and not is_drawn(console):
        console.print(Text(WAIT))
    with moving(console, WAIT):
        return examine(settings, looks(settings, console), last=last)


def write_fields(report: Report) -> None:
    """A line of JSON for each finding, then one for what follows from them."""
    for group, check, _ in report.findings:
        write_json("check", group=group, name=check.name, state=check.state, found=check.found, fix=check.fix or None)
    verdict = report.verdict
    session = {"backend": verdict.backend or None, "model": verdict.model or None}
    write_json("doctor", verdict=verdict.text, fix=verdict.fix or None, **session, code=verdict.code)


def show(report: Report, console: Console) -> None:
    """Print the report by group, the verdict last."""
    drawn = is_drawn(console) and console.encoding.lower().startswith("utf")
    mend = "→ " if drawn else "to mend it: "
    longest = max(len(line(check.name)) for _, check, _ in report.findings) if drawn else 0
    for group, findings in groupby(report.findings, lambda finding: finding.group):
        rows = []
        for _, check, _ in findings:
            sign, word, style = STATES[check.state]
            head = Text.assemble((sign, style), " ") if drawn else Text(f"{word}: ")
            fix = f"\n{mend}{check.fix}" if check.fix else ""
            rows.append((head.append(f"{line(check.name):<{longest}}"), f"{line(check.found)}{fix}"))
        Table(group, ("", ""), rows).show(console)
        if drawn:
            console.print()
    verdict = report.verdict
    style = STATES["fail" if verdict.code else "warn" if verdict.backend == READER else "ok"][2]
    say(console, line(verdict.text), style)
    if verdict.fix:
        say(console, f"{mend}{line(verdict.fix)}")


def looks(settings: Settings, console: Console) -> list[Look]:
    """All that is looked at beside the servers."""
    return [
        Look("corpus", "articles", partial(machine.articles, settings.corpus)),
        Look("corpus", "files", partial(machine.files, settings.files)),
        Look("tokens", "vocabulary", machine.vocabulary),
        Look("terminal", "terminal", partial(machine.terminal, console)),
        Look("folders", "folders", partial(machine.folders, settings.session_dir)),
        Look("environment", "environment", machine.environment),
        Look("versions", "versions", machine.versions),
    ]
