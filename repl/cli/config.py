"""`thimble config`: each setting, its value and where the value comes from; then what waits for the user's word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent import figures
from repl.screen.sanitise import line
from repl.screen.streams import write
from session import jsonl
from session.confirmed import shown

if TYPE_CHECKING:
    from session.settings import Settings


def show_settings(settings: Settings, as_json: bool) -> int:
    """Print each setting, its value and where it comes from; as JSON, one setting a line. No password is shown."""
    rows = [(name, getattr(settings, name), origin) for name, origin in settings.origins.items()]
    waiting = settings.unconfirmed.values()
    if as_json:
        for name, value, origin in rows:
            told = value if isinstance(value, int | float | None) else shown(name, value)
            write(jsonl.to_line({"type": "setting", "name": name, "value": told, "origin": origin}))
        for claim in waiting:
            told = shown(claim.name, claim.value)
            write(jsonl.to_line({"type": "unconfirmed", "name": claim.name, "value": told, "origin": claim.file}))
        return 0
    texts = [(name, line(_in_words(name, value)), origin) for name, value, origin in rows]
    widths = [max(len(row[column]) for row in texts) for column in (0, 1)]
    for name, value, origin in texts:
        write(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {line(origin)}\n")
    for claim in waiting:
        write(f"not used before you type thimble trust: {line(str(claim))} ({claim.file})\n")
    return 0


def _in_words(name: str, value: object) -> str:
    if isinstance(value, bool):
        return figures.switch(value)
    return shown(name, value) if value not in ("", None) else "(automatic)"
