"""The lines that the tools print and the reader reads back: one form for each, to write it and to read it.

`read` never raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from thimble.agent.messages import CANCELLED, NO_RESULT
from thimble.corpus.marks import read_marks
from thimble.corpus.passages import split_passages
from thimble.corpus.words import TERMINAL_STYLE


class Form:
    """A line with fields, such as `{slug} — {title}`; `patterns` are those of fields, by default any text."""

    def __init__(self, template: str, **patterns: str) -> None:
        self._template = template
        fields = re.compile(r"\\\{(\w+)\\\}")
        pattern = fields.sub(lambda field: f"(?P<{field[1]}>{patterns.get(field[1], '.+')})", re.escape(template))
        self._pattern = re.compile(pattern)

    def written(self, **values: object) -> str:
        """The line with these values."""
        return self._template.format(**values)

    def read(self, line: str) -> re.Match[str] | None:
        """The fields of a line; None if it has another form."""
        return self._pattern.fullmatch(line)


SLUG = r"[a-z0-9]+(?:-[a-z0-9]+)*"
PRINTED_NUMBER = r"\d{1,9}"
FILE_PATH = r"\S[^:\n]*"
PART = Form("page {page} of {pages}", page=PRINTED_NUMBER, pages=PRINTED_NUMBER)
PAGE_REST = Form("[{place}: {call} has {what}]", place=r"(?:page|lines|entries) [^\[\]:]+", call=r"\w+\(.*\)")
"""The last line of a page, unless it is the last page."""
ARTICLE = Form("slug: {slug} · {place} · {length}", slug=SLUG, length=r"[\d,]+ words?")
"""The second line of an article, below its title; its place is a page, or a section."""
SECTIONS_LINE = Form("sections: {titles}")
LISTED_ARTICLE = Form(
    "{number}. {slug} — {title} ({facts})", number=PRINTED_NUMBER, slug=SLUG, facts=r"[\d,]+ words?\b.*"
)
PASSAGE = Form(
    "{number}. {slug} — {title} — section: {section} (score {score})",
    number=PRINTED_NUMBER,
    slug=SLUG,
    score=r"\d\.\d+",
)
"""The line above a passage that a search found."""
NEAR_ARTICLE = Form("- {slug} — {title}", slug=SLUG)
INDENT = "   "
"""The beginning of a line that belongs to the line above it."""
FILE_PAGE = Form(
    "{path} · {unit} {first}-{last} of {of}",
    path=r"\S.*",
    unit="lines|entries",
    first=PRINTED_NUMBER,
    last=PRINTED_NUMBER,
    of=PRINTED_NUMBER,
)
FILE_LINE = Form("{number}: {text}", number=PRINTED_NUMBER, text=".*")
LONG_LINE = Form("{text}… [+{more} characters]", more=r"[\d,]+")
FOUND_LINE = Form("{path}:{number}: {text}", path=FILE_PATH, number=PRINTED_NUMBER, text=".*")
NEAR_LINE = Form("{path}:{number}: {text} (score {score})", path=FILE_PATH, number=PRINTED_NUMBER, score=r"\d\.\d+")
LISTED_FILE = Form("{path} ({facts})", path=r"\S.*", facts=r"[\d.,]+ (?:bytes?|KB)\b.*|binary|not readable")
CITED_LINE = Form("[{source}] {text}", source=r"[^\[\]\s]+")
"""A passage of an article or a file in a result of `search`, or a title in one of `list`."""
NOTE_LINE = Form("{number}. {title}: {text}", number=PRINTED_NUMBER, title=r"[^:\n]+", text=".*")
SAVED_NOTE = Form("Saved note {number}: {title}", number=PRINTED_NUMBER)
RECALLED = Form("{id} · {of} · {place}", id=r"\w+", of=r"result of \w+|words of the \w+")
SOURCE = re.compile(r"^\[([^\[\]\s]{1,200})\](?: |$)", re.MULTILINE)
"""A source at the beginning of a line of a result, as `search` and `list` write it."""
NO_RESULTS = Form("No results for {query}.")
NOTHING_FITS = Form("Nothing fits {query} well. The nearest:")
"""The first line of a search result in which nothing answers the query."""

USER = "user"
"""The source of the user's own words."""
FULL_SCORE = 1.0
"""The score of a line with every word of the query."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Words that can be quoted, and their source: a slug, `path:line`, `USER`, or "" if it is not known."""

    text: str
    source: str = ""
    section: str = ""
    score: float = 0.0

    @property
    def path(self) -> str:
        """The file that it is from, "" if it is not from a file."""
        return self.source.rpartition(":")[0]

    @property
    def line(self) -> int:
        """The line of the file on which it starts, 0 if it is not from a file."""
        return int(self.source.rpartition(":")[2]) if self.path else 0


@dataclass(frozen=True, slots=True)
class Entry:
    """An article that a result names, and its summary if that is shown."""

    slug: str
    title: str
    gist: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """The content of a result, as far as it is in view.

    `form` is page, hits, listing, lines, matches, list, error, text or gone; `head` its first line. It has the pages of
    an article, or the lines of a file, from `first` to `last` of `of`; 0 if not known. `whole`: no part is left out.
    `more`: the id by which `recall` shows all of it, "" for none.
    """

    form: str
    said: tuple[Quote, ...] = ()
    entries: tuple[Entry, ...] = ()
    head: str = ""
    first: int = 1
    last: int = 1
    of: int = 0
    whole: bool = True
    more: str = ""

    def has_line(self, line: int) -> bool:
        """Whether it is the page of a file with this line; if parts are left out, the line itself must be shown."""
        if self.form != "lines" or self.whole:
            return self.form == "lines" and self.first <= line <= max(self.last, self.first)
        return any(one.line == line for one in self.said) or (line == 1 and self.first == 1 and bool(self.said))


def is_useful(content: str) -> bool:
    """Whether a result answers its call: not an error, and not a search without a passage that fits."""
    head = content.partition("\n")[0]
    return bool(head) and not (
        head.startswith("Error: ") or head in (CANCELLED, NO_RESULT) or NO_RESULTS.read(head) or NOTHING_FITS.read(head)
    )


def find_sources(content: str) -> list[str]:
    """The articles and files that a result of `search` or `list` names at the beginnings of its lines, each once."""
    return list(dict.fromkeys(re.sub(r":\d+$", "", source) for source in SOURCE.findall(content)))


@lru_cache(maxsize=512)
def parse_observation(content: str, tool: str = "", path: str = "", copy_of: str = "") -> Result:
    """The content of a tool result in view; `copy_of` is the id of the message that it copies, see `corpus.marks`."""
    view = read_marks(TERMINAL_STYLE.sub("", content.replace("\r\n", "\n")), copy_of)
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
    return Result("text", tuple(Quote(passage.text) for passage in split_passages(text)))


def _page(text: str, path: str) -> Result:
    """The sections of a page, each a piece with its title."""
    title, facts, *body = [*text.split("\n"), ""]
    found = ARTICLE.read(facts)
    if not found:
        return _text(text, path)
    rest = "\n".join(line for line in body if not (PAGE_REST.read(line) or SECTIONS_LINE.read(line)))
    slug, said = found["slug"], list[Quote]()
    part = PART.read(found["place"].rpartition(" · ")[2])
    section = "" if PART.read(found["place"]) else found["place"].partition(" · ")[0].removeprefix("section: ")
    for at, piece in enumerate(re.split(r"^## ", rest, flags=re.MULTILINE)):
        heading, _, below = piece.partition("\n") if at else (section, "", piece)
        said += [Quote(passage.text, slug, heading) for passage in split_passages(below)]
    page, pages = (int(part["page"]), int(part["pages"])) if part else (1, 1)
    entry = Entry(slug, title.removeprefix("# "))
    return Result("page", tuple(said), (entry,), found["length"], page, page, pages)


def _hits(text: str, path: str) -> Result:
    said, entries = [], []
    for line, below in pairwise([*text.split("\n"), ""]):
        if found := PASSAGE.read(line):
            entries.append(Entry(found["slug"], found["title"]))
            if below.startswith(INDENT):
                said.append(Quote(below.strip(), found["slug"], found["section"], float(found["score"])))
        elif found := NEAR_ARTICLE.read(line):
            entries.append(Entry(found["slug"], found["title"]))
    return Result("hits", tuple(said), tuple(dict.fromkeys(entries)), text.split("\n")[0].rstrip("."))


def _listing(text: str, path: str) -> Result:
    entries: list[Entry] = []
    for line, below in pairwise([*text.split("\n"), ""]):
        if found := LISTED_ARTICLE.read(line):
            entries.append(Entry(found["slug"], found["title"], below.strip() if below.startswith(INDENT) else ""))
    rest = PAGE_REST.read(text.rpartition("\n")[2])
    part = PART.read(rest["place"]) if rest else None
    last, of = (int(part["page"]), int(part["pages"])) if part else (1, 0)
    return Result("listing", (), tuple(entries), text.split("\n")[0].rstrip("."), last=last, of=of)


def _lines(text: str, path: str) -> Result:
    """The lines of a file; the entries of a JSON file are counted."""
    head, _, body = text.partition("\n")
    if not (found := FILE_PAGE.read(head)):
        return Result("lines", tuple(_numbered(path, text)), head=path)
    first, last, of = (int(found[name]) for name in ("first", "last", "of"))
    every = _numbered(found["path"], body) if found["unit"] == "lines" else ()
    if found["unit"] == "entries":
        entries = [line for line in body.split("\n") if line.strip() and not line.startswith("[entries ")]
        counted = len(entries) == last - first + 1  # in a table of them, no line is an entry
        every = (Quote(line, f"{found['path']}:{first + at}" if counted else "") for at, line in enumerate(entries))
    return Result("lines", tuple(every), head=found["path"], first=first, last=last, of=of)


def _numbered(path: str, text: str) -> Iterator[Quote]:
    for line in filter(None, map(FILE_LINE.read, text.split("\n"))):
        long = LONG_LINE.read(line["text"])
        if line["text"].strip():
            yield Quote(long["text"] if long else line["text"].rstrip(), f"{path}:{line['number']}")


def _matches(text: str, path: str) -> Result:
    """Lines of files; before the first line of a table are the names of its columns."""
    said = []
    for line in text.split("\n")[1:]:
        if found := NEAR_LINE.read(line):
            said.append(Quote(found["text"], f"{found['path']}:{found['number']}", score=float(found["score"])))
        elif found := FOUND_LINE.read(line):
            said.append(Quote(found["text"], f"{found['path']}:{found['number']}", score=FULL_SCORE))
    return Result("matches", tuple(said), head=text.split("\n")[0].rstrip("."))


def _listed(text: str, path: str) -> Result:
    found = filter(None, map(CITED_LINE.read, text.split("\n")))
    return Result("listing", (), tuple(Entry(line["source"], line["text"]) for line in found), text.split("\n")[0])


def _either(text: str, path: str) -> Result:
    return (_lines if FILE_PAGE.read(text.partition("\n")[0]) else _page)(text, path)


def _cited(text: str, path: str) -> Result:
    found = filter(None, map(CITED_LINE.read, text.split("\n")))
    return Result("text", tuple(Quote(piece["text"], piece["source"]) for piece in found))


def _read_text(text: str, path: str) -> Result:
    return Result("list", tuple(Quote(line) for line in text.split("\n") if line.strip()), head=text.split("\n")[0])


_FORMS: Mapping[str, Callable[[str, str], Result]] = {
    "search": _cited,
    "list": _listed,
    "read": _either,
    "search_articles": _hits,
    "list_articles": _listing,
    "read_article": _page,
    "search_files": _matches,
    "list_files": _read_text,
    "read_file": _lines,
}
"""The function that reads the results of each tool; those of any other are text."""
