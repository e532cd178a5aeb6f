"""The doctor's report: a table for each group, lines to read aloud, or JSON Lines."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from thimble.agent.errors import UsageError
from thimble.models import READER
from thimble.repl.commands.doctor import machine
from thimble.repl.commands.doctor.examine import SECONDS, Look, Report, examine
from thimble.repl.screen.sanitise import line
from thimble.repl.screen.streams import tell, write
from thimble.repl.screen.theme import console_for, is_drawn, is_plain, moving
from thimble.repl.screen.wrapping import columns, wrapped
from thimble.session import jsonl
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.session.settings_table import BACKENDS

STATES = {"ok": ("✓", "ok", "calm"), "warn": ("!", "warning", "warn"), "fail": ("✗", "error", "error")}
"""The sign of a state, its word, and its style."""
WAIT = f"looking; a server that does not answer is waited for {SECONDS:g} seconds"


def run(settings: Settings, as_json: bool) -> int:
    """Print it; the exit code."""
    console = console_for(is_plain(settings.plain), color=settings.color)
    for notice in settings.notices:
        tell(notice)
    report = examine(settings, looks(settings, console)) if as_json else look(settings, console)
    if as_json:
        for fields in as_fields(report):
            write(jsonl.to_line(fields))
    elif console.is_terminal:
        show(report, console)
    else:
        shown = io.StringIO()
        show(report, console_for(plain=True, file=shown))
        write(wrapped(shown.getvalue(), columns(sys.stdout)))  # to whoever may have stopped reading
    return report.verdict.code


def doctor(session: Session, _: str, console: Console) -> None:
    """/doctor: check servers, model, terminal and folders.

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
    now: dict[str, Any] = {"strategy": session.spec, "budget": agent.limit, "tidy": agent.state.tidy}
    if name in BACKENDS:  # a script may have brought its own
        now |= {"backend": name, "model": "" if name == READER else agent.backend.model}
    return replace(session.settings, **now)


def look(settings: Settings, console: Console) -> Report:
    """Examine, and say meanwhile that it takes a moment."""
    if console.is_terminal and not is_drawn(console):
        console.print(Text(WAIT))
    with moving(console, WAIT):
        return examine(settings, looks(settings, console))


def as_fields(report: Report) -> Iterator[jsonl.Fields]:
    """A line for each finding, then one for what follows from them."""
    for group, check, _ in report.findings:
        fields = {"name": check.name, "state": check.state, "found": check.found, "fix": check.fix or None}
        yield {"type": "check", "group": group, **fields}
    verdict = report.verdict
    session = {"backend": verdict.backend or None, "model": verdict.model or None}
    yield {"type": "doctor", "verdict": verdict.text, "fix": verdict.fix or None, **session, "code": verdict.code}


def show(report: Report, console: Console) -> None:
    """Print the report by group, the verdict last; where it is drawn, lines are broken between words."""
    drawn = is_drawn(console) and console.encoding.lower().startswith("utf")
    columns = console.width if drawn else 0
    longest = max(len(line(check.name)) for _, check, _ in report.findings)
    for group, findings in groupby(report.findings, lambda finding: finding.group):
        console.print(Text(line(group), style="bold" if drawn else ""))
        for _, check, _ in findings:
            sign, word, style = STATES[check.state]
            head = f"  {sign} {line(check.name):<{longest}} " if drawn else f"  {word}: {line(check.name)}: "
            shown = Text(wrapped(f"{head}{line(check.found)}", columns, longest + 3))
            shown.stylize(style if drawn else "", 0, 4)
            console.print(shown, soft_wrap=True)
            if check.fix:
                mend = f"    {'→' if drawn else 'to mend it:'} {line(check.fix)}"
                console.print(Text(wrapped(mend, columns, 2)), soft_wrap=True)
        if drawn:
            console.print()
    verdict = report.verdict
    style = STATES["fail" if verdict.code else "warn" if verdict.backend == READER else "ok"][2]
    console.print(Text(wrapped(line(verdict.text), columns), style=style), soft_wrap=True)
    if verdict.fix:
        mend = f"{'→' if drawn else 'to mend it:'} {line(verdict.fix)}"
        console.print(Text(wrapped(mend, columns, 2)), soft_wrap=True)


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
