"""A JSON document with one entry a line, however it is written, and pages of it that are JSON themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from agent import foreign

ENTRY = 3_500
"""The most characters of an entry. A list or object that is longer is opened: what is in it are entries."""
MOST = 100_000
"""The most entries of a document."""
TEXT = 3_000
"""The characters that are shown of a text that is longer than an entry."""
BLANKS = re.compile(r"[ \t\r\n]*+")
BREAK = re.compile(r"(?<![ \t\r])[ \t\r]*+\n[ \t\r\n]*+")
ENDS = re.compile(r"[ \t\r\n\]}]*+,?")
"""What stands between the end of an entry and the next line."""
CLOSING = {"[": "]", "{": "}"}
DECODER = json.JSONDecoder()

Open = tuple[tuple[int, str], ...]
"""The lists and objects that are open at a place: where each begins, and its name with its bracket."""
Entry = tuple[Open, int, int, str]
"""What is open at an entry, where its value begins and ends, and what is shown of it."""


@dataclass(frozen=True, slots=True)
class Document:
    """The lines of a JSON list or object, and for each what is open where it begins; at the end nothing is."""

    lines: Sequence[str]
    opened: Sequence[Open]

    def page(self, start: int, stop: int) -> str:
        """Lines `start` up to `stop`, counted from 0, in the lists and objects that they stand in."""
        before = "".join(begins for _, begins in self.opened[start])
        after = "".join(CLOSING[begins[-1]] for _, begins in reversed(self.opened[stop]))
        return before + "\n".join(self.lines[start:stop]).removesuffix(",") + after


@lru_cache(maxsize=4)
def document(text: str) -> Document | None:
    """The document that a text is; None where it is none with 1 to `MOST` entries, or beyond `agent.foreign`."""
    begins = _after_blanks(text, 0)
    try:
        if text[begins : begins + 1] not in CLOSING or not foreign.read(text):
            return None
    except ValueError:
        return None
    entries = [*islice(_entries(text, begins, ((begins, text[begins]),)), MOST + 1)]
    lines, opened, at, before = list[str](), list[Open](), 0, Open()
    for open_now, start, end, shown in entries:
        ends = ENDS.match(text, end)
        assert ends
        lines.append(_in_line(text[at:start] + shown + ends[0]))
        same = before is open_now
        both = zip(before, open_now, strict=False)
        opened.append(before if same else tuple(one for one, other in both if one == other))
        at, before = ends.end(), open_now
    return Document(lines, [*opened, ()]) if len(lines) <= MOST else None


def laid_out(text: str) -> str:
    """The text; that of a JSON document with one entry a line."""
    found = document(text)
    return "\n".join(found.lines) if found else text


def _entries(text: str, at: int, opened: Open) -> Generator[Entry, None, int]:
    """The entries of the list or object that begins here, which is open then; returns where it ends."""
    named, at = text[at] == "{", _after_blanks(text, at + 1)
    while text[at] not in "]}":
        begins = at
        if named:
            at = _after_blanks(text, _after_blanks(text, DECODER.raw_decode(text, at)[1]) + 1)
        end = _end(text, at)
        if end:
            yield opened, at, end, _shown(text[at:end])
        else:
            end = yield from _entries(text, at, (*opened, (at, _in_line(text[begins : at + 1]))))
        at = _after_blanks(text, end)
        at = _after_blanks(text, at + 1) if text[at] == "," else at
    return at + 1


def _end(text: str, at: int) -> int:
    """Where the value ends that begins here; 0 for a list or object that is longer than an entry."""
    if text[at] not in CLOSING:
        return DECODER.raw_decode(text, at)[1]
    try:
        return at + DECODER.raw_decode(text[at : at + ENTRY])[1]
    except ValueError:
        return 0


def _shown(written: str) -> str:
    """A value as it is written; a long text as far as it is shown."""
    if len(written) <= ENTRY or written[0] != '"':
        return written
    text = json.loads(written)
    more = f"… [+{len(text) - TEXT:,} characters]" if len(text) > TEXT else ""
    return json.dumps(text[:TEXT] + more, ensure_ascii=False)


def _in_line(text: str) -> str:
    """A part of the document without line breaks, and without blanks at its ends."""

    def blank(found: re.Match[str]) -> str:
        return "" if text[found.start() - 1] in "[{" or text[found.end() : found.end() + 1] in "]}" else " "

    return BREAK.sub(blank, text).strip(" \t\r\n")


def _after_blanks(text: str, at: int) -> int:
    found = BLANKS.match(text, at)
    assert found
    return found.end()
