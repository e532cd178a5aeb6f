"""Observations: what a tool's result shows, by the form of its first lines. Never raises, whatever the text."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from corpus.markdown import ITEM, sentences
from corpus.words import ISO_DATE, spelled_dates
from models.reader.prose import pieces, unmarked

SLUG = r"[a-z0-9]+(?:-[a-z0-9]+)*"
SLUG_LIKE = re.compile(SLUG)
PAGE = re.compile(
    rf"^# (?P<title>.+)\nslug: (?P<slug>{SLUG}) · (?:page (?P<page>\d+) of (?P<pages>\d+)|section: (?P<section>.+?))"
    r" · (?P<words>[\d,]+) words.*\n?(?:sections: (?P<sections>.*)\n?)?",
    re.MULTILINE,
)
HIT = re.compile(rf"^\d+\. (?P<slug>{SLUG}) — (?P<title>.+) — section: (?P<section>.+)$")
ENTRY = re.compile(rf"^\d+\. (?P<slug>{SLUG}) — (?P<title>.+) \((?P<about>[\d,]+ words.*)\)$")
LINES = re.compile(r"^(?P<path>\S.*) · lines \d+-\d+ of [\d,]+$", re.MULTILINE)
LINE = re.compile(r"^(?P<number>\d+): ?(?P<text>.*)$")
MATCH = re.compile(r"^(?P<path>[^\s:][^:]*):(?P<number>\d+): ?(?P<text>.*)$")
FILE = re.compile(r"^(?P<path>\S.*) \((?P<about>[\d.,]+ ?(?:bytes?|[KM]i?B).*)\)$")
NOTE = re.compile(r"^\d+\. (?P<title>[^:\n]+): (?P<text>.*)$")
CITED = re.compile(rf"\s*\[({SLUG}|[^\[\]\s]+:\d+)\]")
LISTED = re.compile(rf"^(?P<title>[^\[\]]+?) \[(?P<slug>{SLUG})\](?:: (?P<gist>.*)|)$")
NAMED = re.compile(rf"“(?P<title>[^“”]+)” \((?P<slug>{SLUG})[,)]")
GONE = re.compile(r"^\s*(?:\[(?:masked|cancelled|offloaded|dropped|shortened)\b.*|)\s*$", re.DOTALL)
SUMMARY, TOLD = "Summary", "Told"
"""The sections of what a list says of an article, and of what the user said."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence in view and what it is cited by: a slug, `path:line`, or "" for text of unknown origin."""

    text: str
    source: str = ""
    section: str = ""
    title: str = ""
    block: int = 0
    context: str = ""

    @property
    def place(self) -> str:
        """The article or file that it stands in."""
        return self.title if self.in_file else self.source

    @property
    def in_file(self) -> bool:
        """Whether it stands on a line of a file."""
        return ":" in self.source


@dataclass(frozen=True, slots=True)
class Entry:
    """An article, file or note that a result names."""

    slug: str
    title: str
    gist: str = ""
    section: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a result shows. `form` is page, hits, listing, lines, matches, files, notes, error, text or gone."""

    form: str
    sentences: tuple[Sentence, ...] = ()
    entries: tuple[Entry, ...] = ()
    head: str = ""
    section: str = ""
    sections: tuple[str, ...] = ()
    page: int = 1
    pages: int = 1


@lru_cache(maxsize=512)
def observe(text: str) -> Observation:
    """What a tool result shows; what was masked or cancelled shows nothing."""
    text = text.replace("\r\n", "\n")
    if GONE.match(text):
        return Observation("gone")
    if text.startswith("Error: "):
        return Observation("error", head=text.removeprefix("Error: ").split("\n")[0])
    for opening, parse in FORMS:
        if found := opening.search(text[:600]):
            return parse(text, found)
    return Observation("text", tuple(Sentence(piece.text, block=piece.block) for piece in pieces(text)))


def _page(text: str, found: re.Match[str]) -> Observation:
    slug, title = found["slug"], found["title"]
    only = found["section"] or ""
    body = re.sub(r"^\[page \d+ of \d+: .*\]$", "", text[found.end() :], flags=re.MULTILINE)
    return Observation(
        "page",
        tuple(
            Sentence(piece.text, slug, piece.section or only, title, piece.block, piece.context)
            for piece in pieces(body)
        ),
        (Entry(slug, title),),
        head=f"{found['words']} words",
        section=only,
        sections=tuple(filter(None, map(str.strip, (found["sections"] or "").split(";")))),
        page=int(found["page"] or 1),
        pages=int(found["pages"] or 1),
    )


def _numbered(text: str, form: str, first: re.Pattern[str]) -> Observation:
    """A numbered list of articles, each with indented text below it."""
    entries: list[Entry] = []
    shown: list[Sentence] = []
    for line in text.split("\n"):
        if found := first.match(line):
            section = found.groupdict().get("section") or ""
            entries.append(Entry(found["slug"], found["title"], section=section))
        elif entries and line.startswith(" "):
            last = entries[-1]
            entries[-1] = Entry(last.slug, last.title, f"{last.gist} {line.strip()}".strip(), last.section)
    for block, entry in enumerate(entries):
        whole = [part for part in sentences(unmarked(entry.gist)) if _whole(part)]
        shown += [Sentence(part, entry.slug, entry.section or SUMMARY, entry.title, block) for part in whole]
    more = re.search(r"^\[page (\d+) of (\d+): ", text, re.MULTILINE)
    page, pages = (int(more[1]), int(more[2])) if more else (1, 1)
    return Observation(form, tuple(shown), tuple(entries), text.split("\n")[0], page=page, pages=pages)


def _whole(sentence: str) -> bool:
    """Whether a snippet's sentence was not cut, and is not a table row flattened into it."""
    return "…" not in (sentence[0], sentence[-1]) and sentence.count(" · ") < 2


def _lines(text: str, found: re.Match[str]) -> Observation:
    path = found["path"]
    shown = [line for line in map(LINE.match, text[found.end() :].split("\n")) if line]
    numbered = [(line["number"], line["text"]) for line in shown]
    if path.endswith((".md", ".markdown", ".txt")):
        said = list(_prose_lines(path, numbered))
    else:
        names = _cells(numbered[0][1]) if _is_table(path) and numbered and numbered[0][0] == "1" else []
        said = [
            Sentence(_record(names, line), f"{path}:{number}", _under(path, line=line), path)
            for number, line in numbered
            if line.strip()
        ]
    return Observation("lines", tuple(said), (Entry(path, path),), found[0])


def _prose_lines(path: str, numbered: Sequence[tuple[str, str]]) -> Iterator[Sentence]:
    """The sentences of a Markdown file under the number of the line where their paragraph or item begins."""
    section, start, text = "", "", ""
    for number, line in (*numbered, ("", "")):
        begins = not line.strip() or line.startswith(("#", "|")) or ITEM.match(line)
        if begins and text:
            yield from (
                Sentence(unmarked(one), f"{path}:{start}", _under(path, section), path) for one in sentences(text)
            )
            text = ""
        if line.startswith("#"):
            section = line.strip("# ")
        elif line.strip("|-: "):
            start = start if text else number
            text = f"{text} {_bare(line).strip()}".strip()


def _bare(line: str) -> str:
    """The line without the mark of a list item."""
    mark = ITEM.match(line)
    return line[mark.end() :] if mark else line


def _is_table(path: str) -> bool:
    return path.endswith((".csv", ".tsv"))


def _under(path: str, heading: str = "", line: str = "") -> str:
    """What a line stands under: the heading above it, and the dates of its file and its own, spelled out."""
    return spelled_dates(" ".join([*ISO_DATE.findall(f"{path} {line}"), heading])).strip()


def _cells(row: str) -> list[str]:
    return next(csv.reader([row], skipinitialspace=True), [])


def _record(names: list[str], row: str) -> str:
    """A row of a table file with the names of its columns; any other line as it is."""
    cells = _cells(row) if names else []
    if len(cells) != len(names) or cells == names:
        return row.strip()
    return "; ".join(f"{name}: {cell}" for name, cell in zip(names, cells, strict=True))


def _matches(text: str, found: re.Match[str]) -> Observation:
    shown = [line for line in map(MATCH.match, text.split("\n")[1:]) if line]
    names = {line["path"]: _cells(line["text"]) for line in shown if line["number"] == "1" and _is_table(line["path"])}
    said = [
        Sentence(
            _record(names.get(line["path"], []), _bare(line["text"])),
            f"{line['path']}:{line['number']}",
            section=_under(line["path"], line=line["text"]),
            title=line["path"],
        )
        for line in shown
    ]
    paths = dict.fromkeys(line["path"] for line in shown)
    return Observation("matches", tuple(said), tuple(Entry(path, path) for path in paths), found[0])


def _files(text: str, found: re.Match[str]) -> Observation:
    shown = [line for line in map(FILE.match, text.split("\n")) if line]
    return Observation("files", (), tuple(Entry(line["path"], line["path"], line["about"]) for line in shown), found[0])


def _notes(text: str, found: re.Match[str]) -> Observation:
    shown = [line for line in map(NOTE.match, text.split("\n")) if line]
    entries = tuple(Entry(line["title"], line["title"], line["text"]) for line in shown)
    said = [sentence for entry in entries for sentence in own_words(entry.gist).sentences]
    return Observation("notes", tuple(said), entries, found[0])


def _nothing(text: str, found: re.Match[str]) -> Observation:
    return Observation("nothing", head=text.split("\n")[0])


Parse = Callable[[str, "re.Match[str]"], Observation]
FORMS: tuple[tuple[re.Pattern[str], Parse], ...] = (
    (PAGE, _page),
    (re.compile(r"^[\d,]+ results? for ", re.MULTILINE), lambda text, _: _numbered(text, "hits", HIT)),
    (re.compile(r"^[\d,]+ articles?\b.*\n", re.MULTILINE), lambda text, _: _numbered(text, "listing", ENTRY)),
    (LINES, _lines),
    (re.compile(r"^[\d,]+ (?:match(?:es)?|nearest lines?) for .*$", re.MULTILINE), _matches),
    (re.compile(r"^[\d,]+ files?\b.*$", re.MULTILINE), _files),
    (re.compile(r"^[\d,]+ notes?\b.*$", re.MULTILINE), _notes),
    (re.compile(r"\A(?:No (?:results|articles|matches|files|notes)\b|Saved note )"), _nothing),
)


@lru_cache(maxsize=512)
def own_words(text: str) -> Observation:
    """What earlier words of the assistant, or a summary of them, still say: sentences with a citation, and lists."""
    shown: list[Sentence] = []
    entries: list[Entry] = []
    for block, raw in enumerate(text.replace("\r\n", "\n").split("\n")):
        line = re.sub(r"^\s*(?:(?:[-*•]|\d+[.)])\s+(?:“[^”]*”: )?|Found: )", "", raw).strip()
        listed = LISTED.match(line)
        if listed and not listed["title"].endswith((".", "!")):
            entries.append(Entry(listed["slug"], listed["title"], listed["gist"] or ""))
            shown += [Sentence(part, listed["slug"], block=block) for part in sentences(listed["gist"] or "")]
        else:
            shown += _cited(line, block)
            entries += (Entry(found["slug"], found["title"]) for found in NAMED.finditer(line))
    return Observation("own", tuple(shown), tuple(entries))


def _cited(line: str, block: int) -> Iterator[Sentence]:
    """The sentences of a line, each run of them with the citation that follows it."""
    start = 0
    for cite in CITED.finditer(line):
        run = line[start : cite.start()].lstrip(" .;,")
        start = cite.end()
        yield from (Sentence(part, cite[1], block=block) for part in sentences(run))
