"""The manual: thimble's own pages as a library, searched for questions about thimble itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from thimble.corpus.article import Article, Section
from thimble.corpus.library import Library, load_library
from thimble.corpus.markdown import strip_markup

PACKAGE = Path(__file__).parents[1]
PAGES = PACKAGE / "docs" if (PACKAGE / "docs").is_dir() else PACKAGE.parent / "docs"
"""Where the pages are: in the package of a wheel, next to it in a checkout."""
MANUAL_SLUG = "thimble-"
"""The beginning of each page's slug."""
COMMANDS_PAGE = f"[{MANUAL_SLUG}command-line]"
"""The page that is preferred, as if it had been cited: most questions are about a command or a setting."""
RESULT_PAGES = "results/"
"""Pages of measurements, which do not explain how to use thimble."""
TABLES_PAGE = "reference/command-line.md"
"""The page of the tables of commands, keys, flags and settings; each row is a separate section."""
SETTINGS_SECTION = "Settings"
ROW = re.compile(r"^\| (`.+?`) \|(.+)\|$", re.MULTILINE)


@cache
def load_manual() -> Library:
    """The pages of thimble, each cited as `thimble-NAME`; made when the first question needs them."""
    pages = [page for page in load_library(PAGES).articles if not page.path.startswith(RESULT_PAGES)]
    return Library(PAGES, tuple(map(_ours, pages)))


def _ours(page: Article) -> Article:
    sections = tuple(_rows(page)) if page.path == TABLES_PAGE else page.sections
    return replace(page, slug=f"{MANUAL_SLUG}{page.slug}", title=f"thimble: {page.title}", sections=sections)


def _rows(page: Article) -> Iterator[Section]:
    """A section for each row of its tables, named after the row's subject, such as `/stats`; and the rest.

    The table of settings repeats the flags, with fewer words.
    """
    for section in page.sections:
        for name, told in ROW.findall(section.text) if section.title != SETTINGS_SECTION else ():
            cells = filter(None, (cell.strip() for cell in re.split(r"(?<!\\)\|", told)))
            written = strip_markup(name).replace("\\|", "|")
            yield from (Section(written, f"{written}: {cell}".replace("\\|", "|")) for cell in cells)
        yield Section(section.title, re.sub(r"^\|.*\n?", "", section.text, flags=re.MULTILINE))
