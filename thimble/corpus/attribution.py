"""Attribution: the sources of an answer's words, found by code in the results that were read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from thimble.agent.messages import Message
from thimble.corpus.marks import read_marks
from thimble.corpus.observations import SOURCE
from thimble.corpus.words import content_terms

ENOUGH, SECOND = 0.35, 0.5
"""Minimum share of an answer that its source has, and of that share that a second source adds."""
READ_BEGINNING = re.compile(r"# .*\nslug: (\S+)|(\S.*) · (?:lines|entries) \d")
"""The beginning of an article that was read, or of a file."""
SOURCES_AT_END = re.compile(r"(?: \[[^\[\]\s]+\])+$", re.MULTILINE)
"""The sources at the end of an answer, or of each part of it."""


def collect_sources(messages: Iterable[Message]) -> Iterator[tuple[str, str]]:
    """Each piece of the results in these messages, after its source: an article's slug, a path, `path:line`, or "".

    Masked text and errors are left out. An earlier answer with one source is a piece too.
    """
    for message in messages:
        if message.role == "assistant" and (
            cited := re.fullmatch(r"(.*) \[([^\[\]\s]+)\]", message.content, re.DOTALL)
        ):
            yield cited[2], cited[1]
        text = read_marks(message.content or "", message.id if message.why else "").text
        if message.role != "tool" or text.startswith("Error:"):
            continue
        if read := READ_BEGINNING.match(text):
            yield read[1] or read[2], text
        else:
            before, *sourced = SOURCE.split(text)
            yield from zip(sourced[::2], sourced[1::2], strict=True)
            if message.name != "search":  # there it quotes the query
                yield "", before


def attribute_answer(answer: str, pieces: Iterable[tuple[str, str]]) -> list[str]:
    """The source that shares most words and runs of three words with an answer; on a tie, the last.

    A second one is named if it adds half as much. Empty if no source has enough of the answer.
    """
    said = _words_and_runs(SOURCES_AT_END.sub("", answer))
    shares = dict[str, set[tuple[str, ...]]]()
    for source, text in pieces:
        shares[source] = shares.pop(source, set()) | said & _words_and_runs(text)
    first = max(reversed(shares), key=lambda source: len(shares[source]), default="")
    if len(shares.get(first, ())) < max(1, ENOUGH * len(said)):
        return []
    adds = {source: len(its - shares[first]) for source, its in shares.items()}
    second = max(adds, key=adds.__getitem__)
    return [first, second] if adds[second] >= SECOND * len(shares[first]) else [first]


def _words_and_runs(text: str) -> set[tuple[str, ...]]:
    """The content words of a text, and its runs of three of them."""
    said = content_terms(text)
    return {*zip(said, strict=True), *zip(said, said[1:], said[2:], strict=False)}
