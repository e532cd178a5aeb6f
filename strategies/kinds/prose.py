"""prose: running text; its units are sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from corpus.words import STOPWORDS
from strategies.kinds.kind import Kind, Unit
from strategies.self_information import AROUND

PAUSE = r"[.!?][)\]\"'”’*_]*+\s++(?=[^a-z])"
SENTENCE = re.compile(rf".(?:[^.!?]++|(?!{PAUSE}).)*+(?:{PAUSE})?+", re.DOTALL)
LINE = re.compile(r"[^\n]*+\n++|[^\n]++")
"""A line and the blank lines after it."""
AFTER, END = ")]\"'”’*_", (".", "!", "?")
SAMPLE, LOOKED_AT = 20_000, 300
"""Characters and words from which it is decided whether a text is prose."""
COMMON, ENDS = 0.2, 1 / 60
"""Shares in prose, at least: of stop words, of which English has twice as many; of words that end a sentence."""


def units(text: str) -> Sequence[Unit] | None:
    """The sentences of a prose text; None where too few of its words make sentences, or most lines are indented."""
    lines = [line for line in text[:SAMPLE].split("\n") if line.strip()]
    if 2 * sum(line[0].isspace() for line in lines) > len(lines):
        return None
    read = text[:SAMPLE].split(None, LOOKED_AT)[:LOOKED_AT]
    common = sum(word.strip(AROUND).casefold() in STOPWORDS for word in read)
    if len(read) < 20 or common < COMMON * len(read):
        return None
    if sum(word.rstrip(AFTER)[-1:] in END for word in read) < ENDS * len(read):
        return None
    return [unit for line in LINE.findall(text) for unit in sentences(line)]


def sentences(line: str) -> Iterator[Unit]:
    """The sentences of a line."""
    for sentence in SENTENCE.findall(line):
        yield Unit(sentence, prose=True)


PROSE = Kind("prose", "sentences", units)
