"""prose: running text, such as a page of Markdown; its units are sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence

from thimble.corpus.words import STOPWORDS
from thimble.strategies.kinds.unit import Unit, lines_of
from thimble.strategies.self_information import AROUND

PAUSE = r"[.!?][)\]\"'”’*_]*+\s++(?=[^a-z])"
PROSE_SENTENCE = re.compile(rf".(?:[^.!?]++|(?!{PAUSE}).)*+(?:{PAUSE})?+", re.DOTALL)
PROSE_LINE = re.compile(r"[^\n]*+\n++|[^\n]++")
"""A line and the blank lines after it."""
ENDS_SENTENCE = re.compile(r"[.!?][)\]\"'”’*_]*\Z")
LOOKED_AT = 300
"""Words from which it is decided whether a text is prose."""
COMMON, ENDS = 0.2, 1 / 60
"""Shares in prose, at least: of stop words, of which English has twice as many; of words that end a sentence."""


def units(text: str) -> Sequence[Unit] | None:
    """The sentences of a prose text; None where too few of its words make sentences, or most lines are indented."""
    lines = [line for line in lines_of(text[:20_000]) if line.strip()]
    if 2 * sum(line[0].isspace() for line in lines) > len(lines):
        return None
    read = text[:20_000].split(None, LOOKED_AT)[:LOOKED_AT]
    common = sum(word.strip(AROUND).casefold() in STOPWORDS for word in read)
    ends = sum(bool(ENDS_SENTENCE.search(word)) for word in read)
    if len(read) < 20 or common < COMMON * len(read) or ends < ENDS * len(read):
        return None
    return [Unit(sentence) for line in PROSE_LINE.findall(text) for sentence in PROSE_SENTENCE.findall(line)]
