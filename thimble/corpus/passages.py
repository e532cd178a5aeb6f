"""Passages: a text cut into runs of whole sentences, short enough to be quoted as an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from thimble.corpus.markdown import (
    HEADING_CHARACTERS,
    ITEM,
    MARKDOWN_FENCE,
    marked_lines,
    split_sentences,
    strip_markup,
)

MOST_WORDS, LEAST_WORDS = 60, 30
"""A passage with fewer words than the minimum includes the next sentence, however long."""
SENTENCE_CHARACTERS = 2_000
"""Maximum characters of a sentence; a longer one is cut, since it may be a whole file without a full stop."""
MAX_COLUMN_NAME = 100
"""Maximum characters of the name of a column, which each row repeats."""
MIN_PROSE_SHARE = 0.6
"""A text is sentences if more than this share of its words are nothing but letters."""
CHARACTERS_PER_WORD = 12
"""Characters that count as one word, for scripts without blanks."""
RUN_IN = re.compile(r"\*\*([^*]{2,60}?)[.:]?\*\*[.:]?\s")
"""Bold words at the start of a paragraph: a heading for this paragraph, as in a glossary."""


PLAIN_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
NEEDS_PREVIOUS = re.compile(
    r"(?:It|Its|This|That|These|Those|They|Their|He|She|His|Her|Such|Both|Here|There|Then|But|And|So|Or|Yet|Most of|"
    r"Nobody|However|Instead|Otherwise|Also|Thus|Hence|Nor|Within|One of|"
    r"The (?:same|latter|former|second|other|first))\b"
)
"""The start of a sentence that needs the previous one."""


class Sentence(NamedTuple):
    """A sentence, a list item, a table row or a line of code; `line` is its first line, from 1."""

    text: str
    line: int
    heading: str = ""


class Passage(NamedTuple):
    """Some sentences in a row, without markup; `heading` is that of their paragraph, if it has one."""

    text: str
    line: int = 1
    heading: str = ""


def is_prose(path: str, text: str) -> bool:
    """Whether a file is sentences: Markdown, or a text of words; the lines of any other file are not joined."""
    if path.endswith((".md", ".markdown")):
        return True
    said = text[:20_000].split() if path.endswith(".txt") else []
    return sum(bool(PLAIN_WORD.fullmatch(word.strip("\"'“”‘’().,;:!?"))) for word in said) > MIN_PROSE_SHARE * len(said)


def split_passages(text: str) -> Iterator[Passage]:
    """The passages of a Markdown text, of at most 60 words if sentences allow it. Neighbours share half of their text.

    Only one heading's sentences are in a passage. A table row has the names of its columns, if the text has the header.
    """
    for heading, run in groupby(_sentences(text), lambda sentence: sentence.heading):
        said = list(run)
        lengths = [max(len(sentence.text.split()), len(sentence.text) // CHARACTERS_PER_WORD) for sentence in said]
        start = end = 0
        while end < len(said):
            end = start + 1
            while end < len(said) and (
                sum(lengths[start : end + 1]) <= MOST_WORDS or sum(lengths[start:end]) < LEAST_WORDS
            ):
                end += 1
            yield Passage(" ".join(sentence.text for sentence in said[start:end]), said[start].line, heading)
            before, start = start, _next_start(said, start, end)
            while start - 1 > before and sum(lengths[start : start + LEAST_WORDS]) < LEAST_WORDS:
                start -= 1


def _next_start(said: list[Sentence], start: int, end: int) -> int:
    """The first sentence of the next passage: half-way, or one before or after it that can be understood alone."""
    middle = start + (end - start + 1) // 2
    near = (at for at in (middle, middle - 1, middle + 1) if start < at <= end and at < len(said))
    return next((at for at in near if not NEEDS_PREVIOUS.match(said[at].text)), middle)


def _sentences(text: str) -> Iterator[Sentence]:
    """Every sentence in order; lines that a writer wrapped are joined."""
    above, run_in, columns, begun, joined = "", "", list[str](), 0, list[str]()
    lines = [*marked_lines(f"{text}\n")]
    for number, (line, in_code) in enumerate(lines, 1):
        bare = line.strip()
        row, item = bare.startswith("|") and not in_code, ITEM.match(line)
        title = bare.startswith("#") and len(bare) <= HEADING_CHARACTERS
        if joined and (in_code or not bare or row or item or title):
            yield from (Sentence(one, begun, run_in or above) for one in _cut(" ".join(joined)))
            joined = []
        columns = columns if row else []
        if in_code:
            if bare and not MARKDOWN_FENCE.match(line):
                yield Sentence(bare[:SENTENCE_CHARACTERS], number, run_in or above)
        elif row:
            cells = [strip_markup(cell.strip()) for cell in bare.strip("|").split("|")]
            below = lines[number][0].strip()  # the last line is empty
            if not columns and below.startswith("|") and not below.strip("|:- "):  # not a row of a table cut in two
                columns = [cell[:MAX_COLUMN_NAME] for cell in cells]
            elif any(cell.strip("-: ") for cell in cells):
                yield Sentence(format_row(columns or [""] * len(cells), cells), number, run_in or above)
        elif title:
            above, run_in = bare.strip("# "), ""
        elif bare:
            if not joined:
                begun = number
                if not item:
                    run_in = found[1] if (found := RUN_IN.match(bare)) else ""
                    bare = bare[found.end() :] if found else bare
            words = line[item.end() :] if item else bare.removeprefix("> ")
            if words.strip():
                joined.append(words.rstrip() if joined else words.strip())


def _cut(text: str) -> Iterator[str]:
    for sentence in split_sentences(strip_markup(text)):
        yield from (sentence[at : at + SENTENCE_CHARACTERS] for at in range(0, len(sentence), SENTENCE_CHARACTERS))


def format_row(columns: list[str], cells: list[str]) -> str:
    """A table row with the names of its columns, such as `Qwen2.5-7B · layers: 28 · heads: 4.`."""
    first, *rest = cells
    named = (f"{name}: {cell}" if name else cell for name, cell in zip(columns[1:], rest, strict=False) if cell)
    return " · ".join(filter(None, (first, *named)))[:SENTENCE_CHARACTERS] + "."
