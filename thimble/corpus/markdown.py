"""Markdown, as far as articles need it: fenced code, paragraphs, prose without markup, sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

HEADING_CHARACTERS = 300
"""Maximum characters of a heading; a longer line is prose."""
MARKDOWN_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
MARKUP = (
    (re.compile(r"!?\[([^\[\]]{0,500})\]\([^()\s]{0,500}\)"), r"\1"),
    (re.compile(r"(`{1,3})([^`]{1,500})\1"), r"\2"),
    (re.compile(r"(\*{1,3})(?=\S)([^*]{1,500})(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<!\w)(_{1,2})(?=\S)([^_]{1,500})(?<=\S)\1(?!\w)"), r"\2"),
)
ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+")
SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]+")
ABBREVIATION = re.compile(r"\b(?:(?i:e\.g|i\.e|al|eqs?|figs?|vs|cf|sec|approx|pp?|dr|mrs?|prof)|[A-Z])\.$")


def marked_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line of a text, and whether it belongs to a fenced code block (its fences included)."""
    fence = ""
    for line in text.split("\n"):
        if not fence:
            opening = MARKDOWN_FENCE.match(line)
            fence = opening[1] if opening else ""
            yield line, bool(fence)
        else:
            yield line, True
            mark = line.strip()
            if mark.startswith(fence) and not mark.strip(fence[0]) and not line.startswith("    "):
                fence = ""


def heading_title(line: str, level: str) -> str:
    """The title of a heading whose mark is `level`, such as `##`; "" for any other line."""
    bare = line.strip()
    if not bare.startswith((f"{level} ", f"{level}\t")) or line.startswith(("    ", "\t")):
        return ""
    if len(bare) > HEADING_CHARACTERS:
        return ""
    title = bare.removeprefix(level)
    unclosed = title.rstrip("#")
    return " ".join((unclosed if unclosed[-1:].isspace() else title).split())


def split_paragraphs(text: str) -> list[str]:
    """The text cut at blank lines, but never inside fenced code."""
    found: list[list[str]] = [[]]
    for line, in_code in marked_lines(text):
        if line.strip() or in_code:
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return ["\n".join(lines) for lines in found if lines]


def strip_markup(text: str) -> str:
    """The text without its markup: a paragraph, list item, table row or line of code becomes one line."""
    found: list[list[str]] = [[]]
    for line, in_code in marked_lines(text):
        bare = line.strip()
        if in_code:
            found += [] if MARKDOWN_FENCE.match(line) else [[bare], []]
        elif not bare or not bare.strip("|:- "):
            found.append([])
        elif bare.startswith(("#", "|")):
            found += [[" · ".join(cell for cell in map(str.strip, bare.strip("#| ").split("|")) if cell)], []]
        elif ITEM.match(line):
            found.append([line[ITEM.match(line).end() :].strip()])  # type: ignore[union-attr]
        else:
            found[-1].append(bare.removeprefix("> "))
    bare_lines = "\n".join(filter(None, (" ".join(words).strip() for words in found)))
    for pattern, kept in MARKUP:
        bare_lines = pattern.sub(kept, bare_lines)
    return bare_lines


def split_sentences(text: str) -> list[str]:
    """The sentences of plain text, in order; the end of a line ends a sentence."""
    found = []
    for line in text.split("\n"):
        start = 0
        for end in SENTENCE_END.finditer(line):
            abbreviated = ABBREVIATION.search(line, max(start, end.start() - 8), end.start() + 1)
            if not abbreviated and not line[end.end() : end.end() + 1].islower():
                found.append(line[start : end.end()])
                start = end.end()
        found.append(line[start:])
    return [sentence.strip() for sentence in found if sentence.strip()]


def first_sentences(text: str, most: int) -> str:
    """Whole sentences from the start of a text, of at most `most` words; the first one in any case."""
    chosen: list[str] = []
    for sentence in split_sentences(text):
        if chosen and len(" ".join((*chosen, sentence)).split()) > most:
            break
        chosen.append(sentence)
    return " ".join(chosen)


def shorten(text: str, limit: int) -> str:
    """The text on one line, cut between words with `…` if it is longer than `limit` characters."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = line[: limit - 1]
    return (head.rsplit(" ", 1)[0] if " " in head[limit // 2 :] else head) + "…"
