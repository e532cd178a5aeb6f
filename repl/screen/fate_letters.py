"""Fates as they are shown, everywhere alike: a letter each, so that the colour says nothing by itself."""

from __future__ import annotations

FATE_LETTERS = {
    "kept": "K",
    "masked": "M",
    "shortened": "S",
    "summarised": "U",
    "offloaded": "O",
    "inserted": "I",
    "dropped": "D",
}
"""Letters of the fates; each fate is also the name of its style in the theme, as in `fate.masked`."""
