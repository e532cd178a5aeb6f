"""Sanitise: no text from a model, a tool, an article or a file can steer the terminal.

Control sequences go whole, their text with them: CSI, OSC, DCS, APC, PM and SOS, in 7-bit and 8-bit form. So do the
other C0 and C1 controls but newline and tab, DEL, and the controls that reorder what is read (bidi embeddings,
overrides, isolates). A carriage return is a newline. A lone surrogate, which no stream can write, becomes U+FFFD. A
sequence that never ends is given up after 4,096 characters: hostile text cannot hide the rest of an answer.

On a stage (`hide`) what is private goes here too: all text passes here, and before it is wrapped into lines.

Source: ECMA-48, 5th edition, sections 5 and 8.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[\x00-\x08\x0b\x0c\x0e-\x17\x19\x1c-\x1f -?]{0,4096}([@-~])?"  # CSI
    r"|(?:\x1b\]|\x9d)[^\x07\x9c\x1b\x18\x1a\r\n]{0,4096}([\x07\x9c])?"  # OSC: a title or a link, in one line
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x07\x9c\x1b\x18\x1a]{0,4096}([\x07\x9c])?"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]{0,4096}([0-~])?"
    r"|\r(\n)?"
    r"|([\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff])"
)
"""What must not be shown. A group matches where it has its end, and no further text can belong to it."""


class Sanitiser:
    """Takes text in pieces, split anywhere, and gives back what may be shown.

    The pieces together, and what `flush` gives, are what the whole text gives. What comes out is final: a sequence is
    held back until its end is there, and where something is hidden, as much as may be the beginning of it.
    """

    def __init__(self) -> None:
        self._open = self._held = ""

    def feed(self, text: str) -> str:
        """The part of the next piece that may be shown."""
        text, self._open = self._open + text, ""
        if STEERS.search(text):
            *_, last = SEQUENCE.finditer(text)
            if last.end() == len(text) and last.lastindex is None:
                text, self._open = text[: last.start()], last[0]
            text = SEQUENCE.sub(_shown, text)
        if not _hidden:
            return text
        shown, self._held = _hidden.split(self._held + text)
        return shown

    def flush(self) -> str:
        """End the text, and return the rest that was held back; an open sequence ends here."""
        rest, self._open, self._held = self._held + SEQUENCE.sub(_shown, self._open), "", ""
        return _hidden.replace(rest) if _hidden else rest


def _shown(found: re.Match[str]) -> str:
    first = found[0][0]
    return "\n" if first == "\r" else "\ufffd" if "\ud800" <= first <= "\udfff" else ""


class Hidden:
    """Texts that are shown as others. A name is not looked for inside a longer word, a folder is wherever it begins."""

    def __init__(self, shown: Mapping[str, str]) -> None:
        self._shown = shown
        self._longest = max(map(len, shown)) + 1
        longest_first = sorted(shown, key=len, reverse=True)
        either = "|".join(("" if text[0] in "/\\" else "(?<![A-Za-z0-9])") + re.escape(text) for text in longest_first)
        self._pattern = re.compile(f"(?:{either})(?![A-Za-z0-9])")

    def replace(self, text: str) -> str:
        """A text with all of them replaced."""
        return self._pattern.sub(lambda found: self._shown[found[0]], text)

    def split(self, text: str) -> tuple[str, str]:
        """The part of an unfinished text that is certain by now, and the rest."""
        end, at, pieces = len(text) - self._longest, 0, []
        for found in self._pattern.finditer(text):
            if found.start() < end:
                pieces += [text[at : found.start()], self._shown[found[0]]]
                at = found.end()
        end = max(at, end)
        return "".join([*pieces, text[at:end]]), text[end:]


_hidden: Hidden | None = None


def hide(shown: Mapping[str, str]) -> None:
    """Never show these texts again, but what is given for each. None of them: hide nothing."""
    global _hidden
    _hidden = Hidden(shown) if shown else None


def without_controls(text: str) -> str:
    """A whole text without what would steer a terminal; nothing in it is hidden."""
    return SEQUENCE.sub(_shown, text)


def clean(text: str) -> str:
    """A whole text without its control sequences."""
    return _hidden.replace(without_controls(text)) if _hidden else without_controls(text)


def line(text: str) -> str:
    """A text as one line: what may be shown of it, every run of white space a single space."""
    return " ".join(clean(text).split())
