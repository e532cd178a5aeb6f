"""A verdict on the screen: why, and the messages before and after, as in `/context`, the wrong one marked."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import say
from thimble.workshop.judge import WorkshopVerdict

COLUMNS = ("", "message", ">before", ">after", "fate", "begins")
BESIDE = 48
"""Terminal columns used besides the first words of a message."""


def show_verdict(name: str, verdict: WorkshopVerdict, printed: Sequence[str], out: Console) -> None:
    """Show the rows, the file's output, and last, at the end of the screen, one line why."""
    if verdict.rows:
        rows: list[list[str | Text]] = []
        for at, (number, *cells, fate, text) in enumerate(verdict.rows):
            mark = "✗" if at == verdict.wrong else " "
            rows.append(
                [f"{mark} {number}", *cells, Text(fate, style=f"fate.{fate}"), text[: max(9, out.width - BESIDE)]]
            )
        Table(f"{verdict.check}: {verdict.head}", COLUMNS, rows, verdict.wrong if verdict.wrong >= 0 else None).show(
            out
        )
    for line in printed:
        say(out, f"printed: {line}", "quiet")
    if verdict.passed:
        say(out, f"✓ {name}" + f": {verdict.why}" * bool(verdict.why), "mark")
    else:
        say(out, f"✗ {name}: {verdict.why}", "error")
        if verdict.fix:
            say(out, f"  {verdict.fix}", "quiet")
