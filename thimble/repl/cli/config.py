"""`thimble config`: each setting, its value and its origin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.streams import write_json, write_output
from thimble.session.settings import FOLDER_FILE, display_value

if TYPE_CHECKING:
    from thimble.session.settings import Settings


def show_settings(settings: Settings, as_json: bool) -> int:
    """Print each setting with its value and origin; as JSON, one setting a line. No password is shown."""
    rows = [(name, getattr(settings, name), origin) for name, origin in settings.origins.items()]
    if as_json:
        for name, value, origin in rows:
            told = value if isinstance(value, int | float | None) else display_value(name, value)
            write_json("setting", name=name, value=told, origin=origin)
        for name in settings.left_out:
            write_json("left_out", name=name, origin=FOLDER_FILE)
        return 0
    texts = [(name, one_line(_in_words(name, value)), origin) for name, value, origin in rows]
    widths = [max(len(row[column]) for row in texts) for column in (0, 1)]
    for name, value, origin in texts:
        left_out = f"; the value in {FOLDER_FILE} is ignored" if name in settings.left_out else ""
        write_output(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {one_line(origin)}{left_out}\n")
    return 0


def _in_words(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return display_value(name, value) if value not in ("", None) else "(automatic)"
