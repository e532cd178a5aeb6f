"""Prose out of Markdown: the sentences of a page, each with the section it stands in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from corpus.markdown import ITEM, marked_lines, sentences

CUT = re.compile(r"\[… [\d,.]+ tokens cut …\]")
LINK = re.compile(r"!?\[([^\[\]]{1,300})\]\([^()\s]{1,500}\)")
EMPHASIS = re.compile(r"(\*{1,3}|(?<!\w)_{1,2})(?=\S)([^*_\n]{1,300})(?<=\S)\1(?!\w)")
COMPOSITE_WORDS = 90
"""A list is quoted whole with the sentence that introduces it, up to this many words."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence that can be quoted. Pieces with the same block stand in one paragraph or list."""

    text: str
    section: str
    block: int
    context: str = ""
    """What is printed above it: the names of a table's columns."""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list item or table row on one line."""

    kind: str
    text: str
    section: str
    context: str = ""


def unmarked(text: str) -> str:
    """The text without emphasis, and with links as their words; code keeps its ticks."""
    return EMPHASIS.sub(r"\2", LINK.sub(r"\1", text))


@lru_cache(maxsize=512)
def pieces(text: str) -> tuple[Piece, ...]:
    """The sentences of a Markdown text in order; code and headings are left out, a table row is one sentence."""
    found: list[Piece] = []
    blocks = list(_blocks(_uncut(text)))
    number = 0
    for index, block in enumerate(blocks):
        items = [] if block.kind == "item" else _items_after(blocks, index)
        number += block.kind != "item" or blocks[index - 1].kind != "item"
        for sentence in sentences(block.text):
            if sentence.endswith(":") and items:
                sentence = _with_items(sentence, items)
            found.append(Piece(sentence, block.section, number, block.context))
    return tuple(found)


def _uncut(text: str) -> str:
    """The text without the halves of sentences that a cut has left, and with no section after it."""
    head, *tails = CUT.split(text)
    whole = [head]
    for tail in tails:
        before = whole[-1].rstrip()
        if not before.endswith((".", "?", "!")):
            before = before[: max(before.rfind(end) + 1 for end in (". ", "? ", "! ", "\n"))]
        whole[-1] = before
        ends = (at for end in (". ", ".\n", "\n\n") if (at := tail.find(end)) >= 0)
        whole.append(tail[min(ends, default=len(tail)) + 1 :])
    return "\n\n## \n\n".join(whole)


def _items_after(blocks: list[Block], index: int) -> list[str]:
    items = []
    for block in blocks[index + 1 :]:
        if block.kind != "item":
            break
        items.append(sentences(block.text)[0].rstrip(".;,"))
    return items


def _with_items(lead: str, items: list[str]) -> str:
    whole = f"{lead} {'; '.join(items)}."
    return whole if len(whole.split()) <= COMPOSITE_WORDS else lead


def _blocks(text: str) -> Iterator[Block]:
    """Paragraphs, items and rows; lines that a writer wrapped are joined."""
    kind, open_text, section = "", "", ""
    header: list[str] = []
    for line, in_code in marked_lines(text):
        bare = line.strip()
        starts = in_code or not bare or bare.startswith(("#", "|")) or ITEM.match(line)
        if starts and open_text:
            yield Block(kind, unmarked(open_text), section)
            kind, open_text = "", ""
        header = header if bare.startswith("|") else []
        if in_code or not bare:
            continue
        if bare.startswith("#"):
            section = bare.strip("# ")
        elif bare.startswith("|"):
            cells = [unmarked(cell.strip()) for cell in bare.strip("|").split("|")]
            row = _row(header, cells)
            header = header or cells
            if row:
                yield Block("row", row, section, " ".join(header))
        elif item := ITEM.match(line):
            kind, open_text = "item", line[item.end() :].strip()
        else:
            kind, open_text = kind or "paragraph", f"{open_text} {bare.removeprefix('> ')}".strip()
    if open_text:
        yield Block(kind, unmarked(open_text), section)


def _row(header: list[str], cells: list[str]) -> str:
    """A table row as words, `a: b` for two columns; "" for the header and for the rule below it."""
    if not header or not any(cell.strip("-: ") for cell in cells) or len(cells) < 2:
        return ""
    if len(cells) == 2:
        return f"{cells[0]}: {cells[1]}."
    rest = "; ".join(f"{name} {cell}".strip() for name, cell in zip(header[1:], cells[1:], strict=False) if cell)
    return f"{cells[0]}: {rest}."
