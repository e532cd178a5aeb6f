"""Whole numbers as the flags of experiments take them."""

from __future__ import annotations

from collections.abc import Callable

from agent.errors import UsageError


def whole(flag: str, least: int, most: int) -> Callable[[str], int]:
    """How this flag reads a number from `least` to `most`. What it makes raises UsageError for any other text."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or not least <= int(text) <= most:
            raise UsageError(f"{flag} {text[:40]} is not possible", f"it takes {least} to {most:,}")
        return int(text)

    return read
