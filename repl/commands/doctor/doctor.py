"""The doctor's report: a table, lines to read aloud, or JSON Lines."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import groupby

from rich.console import Console
from rich.text import Text

from agent.errors import UsageError
from models.server import Check
from repl.commands.doctor.examine import SECONDS, Report, examine
from repl.commands.doctor.machine import can_show, looks
from repl.screen.sanitise import line
from repl.screen.streams import write
from repl.screen.theme import console_for, is_drawn, is_plain, moving
from session import jsonl
from session.session import Session
from session.settings import Settings

STATE_MARKS = {"ok": "✓", "warn": "!", "fail": "✗"}
STATE_WORDS = {"ok": "ok", "warn": "warning", "fail": "error"}
STATE_STYLES = {"ok": "calm", "warn": "warn", "fail": "error"}
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
        write(shown.getvalue())  # to whoever may have stopped reading
    return report.verdict.code


def doctor(session: Session, _: str, console: Console) -> None:
    """/doctor: check servers, model, terminal and folders.

    Each problem comes with the command that solves it, for a session as this one was opened. Nothing is changed.
    """
    if session.playback:
        raise UsageError("a cassette is played: no server is looked for", "leave, and type thimble doctor")
    show(look(session.settings, console), console)


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
    """Print the report by group, the verdict last. Words are wrapped; commands are not, so that they can be copied."""
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
    console.print(Text(line(report.verdict.text), style=STATE_STYLES[state] if drawn else ""))
    _mend(report.verdict.fix, "→ " if drawn else "to mend it: ", console)


def _draw(check: Check, width: int, console: Console) -> None:
    from rich.table import Table

    row = Table.grid(padding=(0, 1))
    row.add_column(no_wrap=True)
    row.add_column(no_wrap=True, width=width)
    row.add_column(overflow="fold")
    mark = Text(f"  {STATE_MARKS[check.state]}", style=STATE_STYLES[check.state])
    row.add_row(mark, line(check.name), Text(line(check.found)))
    console.print(row)


def _mend(fix: str, label: str, console: Console) -> None:
    if fix:
        console.print(Text(f"{label}{line(fix)}"), soft_wrap=True)
