"""html_page: a page of HTML; its units are the pieces of text between the tags of blocks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape

from thimble.strategies.kinds.unit import Unit, parted

PAGE_BEGINS = re.compile(r"\s*+<(?:!doctype html|html|body|div|main|article|p|h[1-6])\b", re.IGNORECASE)
BLOCK = re.compile(
    r"(?=<(?:p|div|section|article|h[1-6]|ul|ol|li|dl|dt|dd|table|tr|pre|script|style|nav|header|footer|main)\b)",
    re.IGNORECASE,
)
HIDDEN_BLOCK = re.compile(r"<(?:script|style|nav|footer)\b", re.IGNORECASE)
TAG = re.compile(r"<[^<>]*+>")
ASIDE_BITS = -8.0
"""Bits of a script, a style or the navigation."""


def units(text: str) -> Sequence[Unit] | None:
    """The pieces of text of a page, shown without their markup; None where the text does not begin with a tag."""
    return [_piece(part) for part in BLOCK.split(text) if part] if PAGE_BEGINS.match(text) else None


def _piece(part: str) -> Unit:
    line = " ".join(unescape(TAG.sub(" ", part)).split())
    return Unit(part, *parted(line), ASIDE_BITS * bool(HIDDEN_BLOCK.match(part)), f"{line}\n" if line else "")
