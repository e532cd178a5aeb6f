"""The doctor's report: a table, lines to read aloud, or JSON Lines."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from agent.errors import UsageError
from models import READER
from models.server import Check
from repl.commands.doctor.examine import SECONDS, Report, examine
from repl.commands.doctor.machine import can_show, looks
from repl.screen.sanitise import line
from repl.screen.streams import write
from repl.screen.theme import console_for, is_drawn, is_plain, moving
from repl.screen.wrapping import columns, wrapped
from session import jsonl
from session.session import Session
from session.settings import Settings
from session.settings_table import BACKENDS

STATE_MARKS = {"ok": "✓", "warn": "!", "fail": "✗"}
STATE_WORDS = {"ok": "ok", "warn": "warning", "fail": "error"}
STATE_STYLES = {"ok": "calm", "warn": "warn", "fail": "error"}
INDENT = 4
WAIT = f"looking; a server that does not answer is waited for {SECONDS:g} seconds"


def run(settings: Settings, as_json: bool) -> int:
    """Print it; the exit code."""
    console = console_for(is_plain(settings.plain), color=settings.color)
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
    for finding in report.findings:
        check = finding.check
        fields = {"name": check.name, "state": check.state, "found": check.found, "fix": check.fix or None}
        yield {"type": "check", "group": finding.group, **fields}
    verdict = report.verdict
    session = {"backend": verdict.backend or None, "model": verdict.model or None}
    yield {"type": "doctor", "verdict": verdict.text, "fix": verdict.fix or None, **session, "code": verdict.code}


def show(report: Report, console: Console) -> None:
    """Print the report by group, the verdict last; where it is drawn, lines are broken between words."""
    drawn = is_drawn(console) and can_show(console, "→".join(STATE_MARKS.values()))
    width = max(len(line(finding.check.name)) for finding in report.findings)
    for group, findings in groupby(report.findings, lambda finding: finding.group):
        console.print(Text(line(group), style="bold" if drawn else ""))
        for finding in findings:
            if drawn:
                _draw(finding.check, width, console)
            else:
                check = finding.check
                console.print(Text(f"  {STATE_WORDS[check.state]}: {line(check.name)}: {line(check.found)}"))
            _mend(finding.check.fix, "    → " if drawn else "    to mend it: ", console)
        if drawn:
            console.print()
    state = "fail" if report.verdict.code else "warn" if report.verdict.backend == "reader" else "ok"
    width = console.width if drawn else 0
    console.print(Text(wrapped(line(report.verdict.text), width), style=STATE_STYLES[state] if drawn else ""))
    _mend(report.verdict.fix, "→ " if drawn else "to mend it: ", console)


def _draw(check: Check, width: int, console: Console) -> None:
    head = f"  {STATE_MARKS[check.state]} {line(check.name):<{width}} "
    found = line(check.found)
    hang = len(head) if max(map(len, found.split()), default=0) <= console.width - len(head) else INDENT
    shown = Text(wrapped(head + found, console.width, hang - INDENT // 2))
    shown.stylize(STATE_STYLES[check.state], 0, INDENT)
    console.print(shown, soft_wrap=True)


def _mend(fix: str, label: str, console: Console) -> None:
    if fix:
        indent = len(label) - len(label.lstrip())
        text = wrapped(f"{label}{line(fix)}", console.width if is_drawn(console) else 0, len(label) - indent)
        console.print(Text(text), soft_wrap=True)
