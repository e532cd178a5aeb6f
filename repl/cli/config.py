"""`thimble config`: each setting, its value and where the value comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from repl.screen.sanitise import line
from repl.screen.streams import write
from session import jsonl

if TYPE_CHECKING:
    from session.settings import Settings


def show_settings(settings: Settings, as_json: bool) -> int:
    """Print each setting, its value and where it comes from; as JSON, one setting a line."""
    rows = [(name, getattr(settings, name), origin) for name, origin in settings.origins.items()]
    if as_json:
        for name, value, origin in rows:
            shown = value if isinstance(value, str | int | float) else str(value)
            write(jsonl.to_line({"type": "setting", "name": name, "value": shown, "origin": origin}))
        return 0
    texts = [(name, line(_in_words(value)), origin) for name, value, origin in rows]
    widths = [max(len(row[column]) for row in texts) for column in (0, 1)]
    for name, value, origin in texts:
        write(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {line(origin)}\n")
    return 0


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if value != "" else "(automatic)"
