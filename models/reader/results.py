"""Results: what the result of a tool shows, line by line, by the forms of `corpus.observations`. Never raises."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from thimble.corpus.markdown import sentences
from thimble.corpus.marks import shown
from thimble.corpus.observations import (
    ARTICLE,
    BELOW,
    FILE_LINE,
    FILE_PAGE,
    FOUND_LINE,
    LISTED_ARTICLE,
    LONG_LINE,
    NEAR_ARTICLE,
    NEAR_LINE,
    PART,
    PASSAGE,
    RECALLED,
    REST,
    SECTIONS,
    SLUG,
)
from thimble.corpus.passages import passages
from thimble.corpus.words import STYLE

CITED = re.compile(rf"(?<!\w)\[({SLUG}|[^\[\]\s:]+:\d{{1,9}})\]")
"""What stands after a word without a blank is no citation: `web[2]`."""
NAMED = re.compile(rf"“(?P<title>[^“”]+)” \[(?P<slug>{SLUG})\]")
"""An article as the reader names it."""
LED_IN = re.compile(r"^(?:(?:[-*•]|\d+[.)])\s+|Found: |Perhaps: )?(?:“[^“”]+”(?: — [^\[\]:]{0,200})?(?:: |$))?")
"""What stands before a quotation: the sign of a list, or its title."""
USER = "user"
"""The source of what the user said."""
CERTAIN = 1.0
"""The score of a line that holds every word that was searched for."""


@dataclass(frozen=True, slots=True)
class Said:
    """Words that can be quoted, and what they are cited by: a slug, `path:line`, `USER`, or "" if nothing is known."""

    text: str
    source: str = ""
    section: str = ""
    score: float = 0.0

    @property
    def path(self) -> str:
        """The file that it stands in, "" if it stands in none."""
        return self.source.rpartition(":")[0]

    @property
    def line(self) -> int:
        """The line of the file where it begins, 0 if it stands in none."""
        return int(self.source.rpartition(":")[2]) if self.path else 0


@dataclass(frozen=True, slots=True)
class Entry:
    """An article that a result names, and its summary where that is shown."""

    slug: str
    title: str
    gist: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What a result shows.

    `form` is page, hits, listing, lines, matches, list, error, text or gone; `head` its first line. It goes from
    `first` to `last` of `of`: pages of an article, or lines of a file; 0 where nothing says so. `whole`: no part is
    left out. `more`: the id by which `recall` shows all of it, "" for none.
    """

    form: str
    said: tuple[Said, ...] = ()
    entries: tuple[Entry, ...] = ()
    head: str = ""
    first: int = 1
    last: int = 1
    of: int = 0
    whole: bool = True
    more: str = ""

    def has(self, line: int) -> bool:
        """Whether it is the page of a file that shows this line, or where nothing stands in its place."""
        if self.form != "lines" or self.whole:
            return self.form == "lines" and self.first <= line <= max(self.last, self.first)
        return any(one.line == line for one in self.said) or (line == 1 and self.first == 1 and bool(self.said))


@lru_cache(maxsize=512)
def read(content: str, tool: str = "", path: str = "", copy_of: str = "") -> Result:
    """What the result of a tool shows; `copy_of` is the id of the message that it is a copy of, see `corpus.marks`."""
    view = shown(STYLE.sub("", content.replace("\r\n", "\n")), copy_of)
    head, _, rest = view.text.lstrip("\n").partition("\n")
    if recalled := RECALLED.read(head):
        tool, view = recalled["of"].split()[-1], replace(view, text=rest)
    text = view.text.lstrip("\n")
    if not text.strip():
        result = Result("gone")
    elif text.startswith("Error: "):
        result = Result("error", head=text.split("\n")[0].removeprefix("Error: ").rstrip("."))
    else:
        result = _FORMS[tool](text, path) if tool in _FORMS else _text(text, path)
    if not (view.whole or result.said or result.entries):
        result = Result("gone")
    return replace(result, whole=view.whole, more=view.id)


def _text(text: str, path: str) -> Result:
    return Result("text", tuple(Said(passage.text) for passage in passages(text)))


def _page(text: str, path: str) -> Result:
    """The sections of a page, each a piece with its title."""
    title, facts, *body = [*text.split("\n"), ""]
    found = ARTICLE.read(facts)
    if not found:
        return _text(text, path)
    rest = "\n".join(line for line in body if not (REST.read(line) or SECTIONS.read(line)))
    slug, said = found["slug"], list[Said]()
    part = PART.read(found["place"].rpartition(" · ")[2])
    section = "" if PART.read(found["place"]) else found["place"].partition(" · ")[0].removeprefix("section: ")
    for at, piece in enumerate(re.split(r"^## ", rest, flags=re.MULTILINE)):
        heading, _, below = piece.partition("\n") if at else (section, "", piece)
        said += [Said(passage.text, slug, heading) for passage in passages(below)]
    page, pages = (int(part["page"]), int(part["pages"])) if part else (1, 1)
    entry = Entry(slug, title.removeprefix("# "))
    return Result("page", tuple(said), (entry,), found["length"], page, page, pages)


def _hits(text: str, path: str) -> Result:
    said, entries = [], []
    for line, below in pairwise([*text.split("\n"), ""]):
        if found := PASSAGE.read(line):
            entries.append(Entry(found["slug"], found["title"]))
            if below.startswith(BELOW):
                said.append(Said(below.strip(), found["slug"], found["section"], float(found["score"])))
        elif found := NEAR_ARTICLE.read(line):
            entries.append(Entry(found["slug"], found["title"]))
    return Result("hits", tuple(said), tuple(dict.fromkeys(entries)), text.split("\n")[0].rstrip("."))


def _listing(text: str, path: str) -> Result:
    entries: list[Entry] = []
    for line, below in pairwise([*text.split("\n"), ""]):
        if found := LISTED_ARTICLE.read(line):
            entries.append(Entry(found["slug"], found["title"], below.strip() if below.startswith(BELOW) else ""))
    return Result("listing", (), tuple(entries), text.split("\n")[0].rstrip("."))


def _lines(text: str, path: str) -> Result:
    """The lines of a file as they stand; the entries of a JSON file are counted."""
    head, _, body = text.partition("\n")
    if not (found := FILE_PAGE.read(head)):
        return Result("lines", tuple(_numbered(path, text)), head=path)
    first, last, of = (int(found[name]) for name in ("first", "last", "of"))
    every = _numbered(found["path"], body) if found["unit"] == "lines" else ()
    if found["unit"] == "entries":
        entries = [line for line in body.split("\n") if line.strip() and not line.startswith("[entries ")]
        counted = len(entries) == last - first + 1  # in a table of them, no line is an entry
        every = (Said(line, f"{found['path']}:{first + at}" if counted else "") for at, line in enumerate(entries))
    return Result("lines", tuple(every), head=found["path"], first=first, last=last, of=of)


def _numbered(path: str, text: str) -> Iterator[Said]:
    for line in filter(None, map(FILE_LINE.read, text.split("\n"))):
        long = LONG_LINE.read(line["text"])
        if line["text"].strip():
            yield Said(long["text"] if long else line["text"].rstrip(), f"{path}:{line['number']}")


def _matches(text: str, path: str) -> Result:
    """Lines of files; of a table, the names of its columns stand before the first one."""
    said = []
    for line in text.split("\n")[1:]:
        if found := NEAR_LINE.read(line):
            said.append(Said(found["text"], f"{found['path']}:{found['number']}", score=float(found["score"])))
        elif found := FOUND_LINE.read(line):
            said.append(Said(found["text"], f"{found['path']}:{found['number']}", score=CERTAIN))
    return Result("matches", tuple(said), head=text.split("\n")[0].rstrip("."))


def _as_it_is(text: str, path: str) -> Result:
    return Result("list", tuple(Said(line) for line in text.split("\n") if line.strip()), head=text.split("\n")[0])


_FORMS: Mapping[str, Callable[[str, str], Result]] = {
    "search_articles": _hits,
    "list_articles": _listing,
    "read_article": _page,
    "search_files": _matches,
    "list_files": _as_it_is,
    "read_file": _lines,
}
"""How the result of each tool is read; that of any other is text."""


@lru_cache(maxsize=512)
def own(text: str) -> tuple[Said, ...]:
    """What earlier words of the assistant, or a summary of them, still say: each run of sentences with its citation."""
    said: list[Said] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        start = 0
        for cite in CITED.finditer(line):
            run = LED_IN.sub("", line[start : cite.start()].lstrip(" .;,").rstrip(" ;,"))
            start = cite.end()
            said += [Said(run, cite[1])] if run else []
    return tuple(said)


def first_sentences(text: str, most: int) -> str:
    """Whole sentences from the start of a text, of at most `most` words; the first one in any case."""
    chosen: list[str] = []
    for sentence in sentences(text):
        if chosen and len(" ".join((*chosen, sentence)).split()) > most:
            break
        chosen.append(sentence)
    return " ".join(chosen)
