"""Sanitise: no text from a model, a tool, an article or a file can steer the terminal.

Control sequences go whole, their text with them: CSI, OSC, DCS, APC, PM and SOS, in 7-bit and 8-bit form. So do the
other C0 and C1 controls but newline and tab, DEL, and the controls that reorder what is read (bidi embeddings,
overrides, isolates). A carriage return is a newline. A lone surrogate, which no stream can write, becomes U+FFFD.

On a stage (`hide`) what is private goes here too: all text passes here, and before it is wrapped into lines.

Source: ECMA-48, 5th edition, sections 5 and 8.3; the states are those of Paul Williams' VT500 parser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

LIMIT = 4096
"""Characters after which a sequence that never ends is given up: hostile text cannot hide the rest of an answer."""

STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_ESC, _CSI = "\x1b", "\x9b"
_OSC = "]\x9d"
_STRINGS = "PX^_\x90\x98\x9e\x9f"
_ABORT = "\x18\x1a"

State = Literal["text", "escape", "csi", "osc", "string"]


class Sanitiser:
    """Takes text in pieces, split anywhere, and gives back what may be shown.

    The pieces together, and what `flush` gives, are what the whole text gives. What comes out is final. Only where
    something is hidden is an end held back: as much as may be the beginning of it.
    """

    def __init__(self) -> None:
        self._state: State = "text"
        self._taken = 0
        self._last = ""
        self._held = ""

    def feed(self, text: str) -> str:
        """The part of the next piece that may be shown."""
        if self._state != "text" or self._last == "\r" or STEERS.search(text):
            text = "".join(map(self._take, text))
        if not _hidden:
            return text
        text = self._held + text
        shown, self._held = _hidden.split(text)
        return shown

    def flush(self) -> str:
        """End the text, and return the rest that was held back; an open sequence ends here."""
        rest, self._held = self._held, ""
        self._state, self._taken, self._last = "text", 0, ""
        return _hidden.replace(rest) if _hidden else rest

    def _take(self, char: str) -> str:
        last, self._last = self._last, char
        if self._state == "text":
            return self._text(char, last)
        self._taken += 1
        if char == _ESC:
            self._state = "escape"
            return ""
        if char in _ABORT or self._taken > LIMIT:
            self._state = "text"
            return self._text(char, last)
        if self._state == "escape":
            return self._escape(char, last)
        return self._csi(char, last) if self._state == "csi" else self._string(char, last)

    def _text(self, char: str, last: str) -> str:
        if not STEERS.match(char):
            return "" if char == "\n" and last == "\r" else char
        if char == "\r":
            return "\n"
        if char == _ESC:
            self._enter("escape")
        elif char == _CSI:
            self._enter("csi")
        elif char in _OSC or char in _STRINGS:
            self._enter("osc" if char in _OSC else "string")
        return "\ufffd" if "\ud800" <= char <= "\udfff" else ""

    def _enter(self, state: State) -> None:
        self._state, self._taken = state, 0

    def _escape(self, char: str, last: str) -> str:
        if last == _ESC and char in "[" + _OSC[0] + _STRINGS[:4]:
            self._enter("csi" if char == "[" else "osc" if char in _OSC else "string")
            return ""
        if " " <= char <= "/":
            return ""
        self._state = "text"
        return "" if "0" <= char <= "~" else self._text(char, last)

    def _csi(self, char: str, last: str) -> str:
        if char <= "?" and char not in "\n\r\t":
            return ""
        self._state = "text"
        return "" if "@" <= char <= "~" else self._text(char, last)

    def _string(self, char: str, last: str) -> str:
        """BEL or ST ends it (ESC has its own state); a title or a link (OSC) never runs over a line's end."""
        if char in "\x07\x9c":
            self._state = "text"
        elif self._state == "osc" and char in "\r\n":
            self._state = "text"
            return self._text(char, last)
        return ""


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


def clean(text: str) -> str:
    """A whole text without its control sequences."""
    sanitiser = Sanitiser()
    return sanitiser.feed(text) + sanitiser.flush()


def line(text: str) -> str:
    """A text as one line: what may be shown of it, every run of white space a single space."""
    return " ".join(clean(text).split())
