"""Sanitise: no text from a model, a tool, an article or a file can steer the terminal.

Control sequences are removed with their text: CSI, OSC, DCS, APC, PM and SOS, in 7-bit and 8-bit form. So are the other
C0 and C1 controls except newline and tab, DEL, and the controls that reorder text (bidi embeddings, overrides,
isolates). A carriage return becomes a newline. A lone surrogate, which no stream can write, becomes U+FFFD. A sequence
without an end is dropped after 4,096 characters: hostile text cannot hide the rest of an answer.

On a stage (`hide_words`) private words are replaced here too, because all text passes here before it is wrapped into
lines.

Source: ECMA-48, 5th edition, sections 5 and 8.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[\x00-\x08\x0b\x0c\x0e-\x17\x19\x1c-\x1f -?]{0,4096}([@-~])?"  # CSI
    r"|(?:\x1b\]|\x9d)[^\x07\x9c\x1b\x18\x1a\r\n]{0,4096}([\x07\x9c])?"  # OSC: a title or a link, in one line
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x07\x9c\x1b\x18\x1a]{0,4096}([\x07\x9c])?"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]{0,4096}([0-~])?"
    r"|\r(\n)?"
    r"|([\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff])"
)
"""Text that must not be shown. A group matches if the sequence is complete, so that no further text belongs to it."""


class Sanitiser:
    """Takes text in pieces, split anywhere, and returns the printable text.

    The results of `feed` and `flush` add up to that of the whole text. They are final: an incomplete sequence is held
    back, and so is a tail that may be the start of a hidden word.
    """

    def __init__(self) -> None:
        self._open = self._held = ""

    def feed(self, text: str) -> str:
        """Take the next piece, and return the text that can be printed now."""
        text, self._open = self._open + text, ""
        if CONTROL_CHARACTER.search(text):
            *_, last = SEQUENCE.finditer(text)
            if last.end() == len(text) and last.lastindex is None:
                text, self._open = text[: last.start()], last[0]
            text = SEQUENCE.sub(_shown, text)
        if not _hidden:
            return text
        shown, self._held = _hidden.split(self._held + text)
        return shown

    def flush(self) -> str:
        """End the text, and return the part that was held back; an open sequence ends here."""
        rest, self._open, self._held = self._held + SEQUENCE.sub(_shown, self._open), "", ""
        return _hidden.replace(rest) if _hidden else rest


def _shown(found: re.Match[str]) -> str:
    first = found[0][0]
    return "\n" if first == "\r" else "\ufffd" if "\ud800" <= first <= "\udfff" else ""


class Hidden:
    """Texts with substitutes. A name is replaced only as a whole word, a folder wherever it starts."""

    def __init__(self, shown: Mapping[str, str]) -> None:
        self._shown = shown
        self._longest = max(map(len, shown)) + 1
        longest_first = sorted(shown, key=len, reverse=True)
        either = "|".join(("" if text[0] in "/\\" else "(?<![A-Za-z0-9])") + re.escape(text) for text in longest_first)
        self._pattern = re.compile(f"(?:{either})(?![A-Za-z0-9])")

    def replace(self, text: str) -> str:
        """Replace all hidden texts."""
        return self._pattern.sub(lambda found: self._shown[found[0]], text)

    def split(self, text: str) -> tuple[str, str]:
        """Split an unfinished text into the part that is certain, with substitutes, and the rest."""
        end, at, pieces = len(text) - self._longest, 0, []
        for found in self._pattern.finditer(text):
            if found.start() < end:
                pieces += [text[at : found.start()], self._shown[found[0]]]
                at = found.end()
        end = max(at, end)
        return "".join([*pieces, text[at:end]]), text[end:]


_hidden: Hidden | None = None


def hide_words(shown: Mapping[str, str]) -> None:
    """Replace these texts by their substitutes from now on; an empty mapping hides nothing."""
    global _hidden
    _hidden = Hidden(shown) if shown else None


def without_controls(text: str) -> str:
    """Remove control sequences from a whole text; hidden words stay."""
    return SEQUENCE.sub(_shown, text)


def clean(text: str) -> str:
    """Remove control sequences from a whole text, and replace hidden words."""
    return _hidden.replace(without_controls(text)) if _hidden else without_controls(text)


def one_line(text: str) -> str:
    """A text on one line: clean, with every run of white space as a single space."""
    return " ".join(clean(text).split())
