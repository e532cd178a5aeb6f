"""A value of a report as people read it, and exactly. What is not known is None or NaN, shown as `?`."""

from __future__ import annotations

import math
import re
from html import escape

Value = str | int | float | None
LETTERS = 34
"""The most characters of a label in a figure; the table has it in full."""
NOT_SHOWN = re.compile(r"[^\t\n -~\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Signs that XML cannot hold, or that steer a terminal."""


def finite(value: Value) -> float | None:
    """The number to draw; None for text and for what is unknown, infinite or beyond a float."""
    try:
        number = math.nan if value is None or isinstance(value, str) else float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def shown(value: Value) -> str:
    """The value for people: whole numbers in full, others to four digits."""
    if value is None or isinstance(value, str):
        return "?" if value is None else value
    if isinstance(value, int):
        text = f"{value:,}"
    elif not math.isfinite(value):
        text = "?" if math.isnan(value) else "∞" if value > 0 else "-∞"
    else:
        text = f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"
    return text.replace("-", "−")


def exact(value: Value) -> str:
    """The value in full: what is read back from it is equal. The unknown is empty."""
    if value is None or isinstance(value, str):
        return value or ""
    return repr(float(value)) if isinstance(value, float) else str(int(value))


def safe(text: str) -> str:
    """Foreign text as it can stand in XML and in an attribute."""
    return escape(NOT_SHOWN.sub("\ufffd", text))


def cut(text: str) -> str:
    """At most `LETTERS` characters."""
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"
