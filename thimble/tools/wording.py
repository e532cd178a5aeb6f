"""Wording that observations share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from thimble.corpus.markdown import shorten

PAGE_CHARACTERS = 7_000
"""Characters of a page of an article, a file or an earlier message."""


def count_noun(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 word`, `1,204 words`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def join_names(names: Sequence[str], most: int) -> str:
    """The first few names: `a, b, …`."""
    return ", ".join([*names[:most], *["…"] * (len(names) > most)])


def quote(text: str) -> str:
    """A query in double quotes, on one short line."""
    return f'"{shorten(text, 80)}"'


def format_call(name: str, **arguments: str | int) -> str:
    """A call that the model can copy: `read_article(slug="x", page=2)`; empty arguments are left out."""
    given = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items() if value != "")
    return f"{name}({', '.join(given)})"


def split_pages(text: str) -> Iterator[str]:
    """The text in pieces of at most a page, each cut at a line, a sentence or a word if possible."""
    at = 0
    while len(text) - at > PAGE_CHARACTERS:
        ends = ((mark, text.rfind(mark, at + PAGE_CHARACTERS // 2, at + PAGE_CHARACTERS)) for mark in ("\n", ". ", " "))
        end = next((found + len(mark) for mark, found in ends if found >= 0), at + PAGE_CHARACTERS)
        yield text[at:end]
        at = end
    yield text[at:]
