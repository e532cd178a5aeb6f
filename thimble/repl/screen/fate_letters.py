"""The letter of each fate, the same on every screen, so that nothing depends on colour alone."""

from __future__ import annotations

FATE_LETTERS = {
    "kept": "K",
    "tidied": "E",
    "masked": "M",
    "shortened": "S",
    "summarised": "U",
    "offloaded": "O",
    "inserted": "I",
    "dropped": "D",
}
"""Letters of the fates; each fate is also the name of its style in the theme, as in `fate.masked`."""
