"""Results: what a tool's result shows, by the form of its first lines. Never raises, whatever the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from agent.circles import Circles
from agent.marks import shown
from agent.messages import Message
from corpus.markdown import sentences
from corpus.passages import passages, prose, record
from corpus.words import STYLE
from models.reader.records import entry, records

SLUG = r"[a-z0-9]+(?:-[a-z0-9]+)*"
PAGE = re.compile(
    rf"\A# (?P<title>.+)\nslug: (?P<slug>{SLUG}) · "
    r"(?:page (?P<page>\d{1,6}) of (?P<pages>\d{1,6})|section: (?P<section>.+?))"
    r" · (?P<words>[\d,]+) words.*\n?(?:sections: (?P<sections>.*)\n?)?"
)
HIT = re.compile(rf"^\d+\. (?P<slug>{SLUG}) — (?P<title>.+) — section: (?P<section>.+) \(score (?P<score>\d\.\d+)\)$")
ENTRY = re.compile(rf"^\d+\. (?P<slug>{SLUG}) — (?P<title>.+) \((?P<about>[\d,]+ words.*)\)$")
NEAR = re.compile(rf"^- (?P<slug>{SLUG}) — (?P<title>.+)$")
LINES = re.compile(
    r"^(?P<path>\S.*) · (?:lines|entries) (?P<first>\d{1,9})-(?P<last>\d{1,9}) of (?P<of>\d{1,9})$", re.MULTILINE
)
LINE = re.compile(r"^(?P<number>\d{1,9}): ?(?P<text>.*?)(?:(?<=…) \[\+[\d,]+ characters[^\[\]]*\])?$")
"""A line of a file, without the words that say how much of a long one is left out."""
MATCH = re.compile(r"^(?P<path>[^\s:][^:]*):(?P<number>\d+): ?(?P<text>.*?)(?: \(score (?P<score>\d\.\d+)\))?$")
FILE = re.compile(r"^(?P<path>\S.*) \((?P<about>[\d.,]+ ?(?:bytes?|[KM]i?B).*)\)$")
NOTE = re.compile(r"^\d+\. (?P<title>[^:\n]+): (?P<text>.*)$")
CITED = re.compile(rf"(?<!\w)\[({SLUG}|[^\[\]\s:]+:\d{{1,9}})\]")
"""What stands after a word without a blank is no citation: `web[2]`."""
NAMED = re.compile(rf"“(?P<title>[^“”]+)” [(\[](?P<slug>{SLUG})[,)\]]")
LED_IN = re.compile(r"^(?:[-*•]|\d+[.)])\s+|^Found: ")
TITLE = re.compile(r"(?:and )?“[^“”]+”")
"""A title by itself; it says nothing that can be quoted."""
RECALLED = re.compile(r"\A\s*\w+ · result of \w+ · page \d+ of \d+\n\s*")
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
    """An article, file or note that a result names."""

    slug: str
    title: str
    gist: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What a result shows.

    `form` is page, hits, listing, lines, matches, files, notes, nothing, error, text or gone. `whole`: nothing of it is
    left out. `more`: the id that `recall` shows all of it by, "" where there is none. It goes from `first` to `last` of
    `of`: pages of an article or a list, or lines of a file; `of` is 0 where nothing says so.
    """

    form: str
    said: tuple[Said, ...] = ()
    entries: tuple[Entry, ...] = ()
    head: str = ""
    first: int = 1
    last: int = 1
    of: int = 0

    def has(self, line: int) -> bool:
        """Whether it is the page of a file that shows this line, or where nothing stands in its place."""
        if self.form != "lines" or self.whole:
            return self.form == "lines" and self.first <= line <= max(self.last, self.first)
        return any(one.line == line for one in self.said) or (line == 1 and self.first == 1 and bool(self.said))

    whole: bool = True
    more: str = ""


def result_of(message: Message, tool: str = "", path: str = "") -> Result:
    """What a message shows of the result of a tool; see `read`."""
    return read(message.content, tool, path, message.id if message.why else "")


@lru_cache(maxsize=512)
def read(content: str, tool: str = "", path: str = "", copy_of: str = "") -> Result:
    """What the result of a tool shows. Where its first line is left out, the tool says its form.

    `copy_of`: the id of the message that it is a copy of; see `agent.marks`.
    """
    marked = STYLE.sub("", content.replace("\r\n", "\n"))
    view = shown(marked, copy_of)
    text = RECALLED.sub("", view.text).lstrip("\n")
    result = _read(text, marked, "" if view.whole else tool, path) if text.strip() else Result("gone")
    said = tuple(replace(one, text=once(one.text)) for one in result.said)
    if not (view.whole or said or result.entries):
        result = Result("gone")
    return replace(result, said=said, whole=view.whole, more=view.id)


def once(text: str) -> str:
    """The text up to where it says the same again and again, which in a reply would be taken for a fault."""
    circles = Circles()
    kept = circles.feed(text)
    return f"{kept[:-1]}…" if circles.closed else text


def _read(text: str, marked: str, tool: str, path: str) -> Result:
    first = text.split("\n", 1)[0]
    if text.startswith("Error: "):
        return Result("error", head=first.removeprefix("Error: ").rstrip("."))
    if found := PAGE.match(text):
        return _page(text[found.end() :], found)
    if found := LINES.match(text):
        said = tuple(_lines(found["path"], text[found.end() :]))
        if not said and (page := LINES.search(marked)):
            said = tuple(_records(found["path"], int(found["first"]), marked[page.end() :]))
        start, last, of = (int(found[name]) for name in ("first", "last", "of"))
        return Result("lines", said, head=found["path"], first=start, last=last, of=of)
    for opening, form in FORMS:
        if opening.match(first):
            return form(text)
    if tool == "read_file":
        return Result("lines", tuple(_lines(path, text)), head=path)
    if tool in HEADLESS:
        return HEADLESS[tool](f"\n{text}")
    return Result("text", tuple(Said(passage.text) for passage in passages(text)))


def _page(body: str, found: re.Match[str]) -> Result:
    """The sections of a page, each a piece with its title."""
    slug, section, said = found["slug"], found["section"] or "", []
    body = re.sub(r"\n\[page \d+ of \d+: .*\]\s*\Z", "", body)
    for at, part in enumerate(re.split(r"^## ", body, flags=re.MULTILINE)):
        title, _, rest = part.partition("\n") if at else (section, "", part)
        said += [Said(passage.text, slug, title) for passage in passages(rest)]
    entry = Entry(slug, found["title"], found["sections"] or "")
    page, pages = int(found["page"] or 1), int(found["pages"] or 1)
    return Result("page", tuple(said), (entry,), found["words"], page, page, pages)


def _hits(text: str) -> Result:
    said, entries = [], []
    for line, below in pairwise([*text.split("\n"), ""]):
        if found := HIT.match(line):
            entries.append(Entry(found["slug"], found["title"]))
            if below.startswith("   "):
                said.append(Said(below.strip(), found["slug"], found["section"], float(found["score"])))
    return Result("hits", tuple(said), tuple(dict.fromkeys(entries)), text.split("\n")[0])


def _listing(text: str) -> Result:
    entries: list[Entry] = []
    for line, below in pairwise([*text.split("\n"), ""]):
        if found := ENTRY.match(line):
            entries.append(Entry(found["slug"], found["title"], below.strip() if below.startswith("   ") else ""))
    more = re.search(r"^\[page (\d{1,6}) of (\d{1,6}): ", text, re.MULTILINE)
    page, pages = (int(more[1]), int(more[2])) if more else (1, 1)
    return Result("listing", (), tuple(entries), text.split("\n")[0], page, page, pages)


def _lines(path: str, text: str) -> Iterator[Said]:
    """The lines of a file, those of a table with the names of its columns."""
    every = [line for line in map(LINE.match, text.split("\n")) if line]
    if prose(path, "\n".join(line["text"] for line in every)):
        rows = [(int(line["number"]), line["text"]) for line in every]
        gaps = [at for at in range(len(rows) - 1, 0, -1) if rows[at][0] > rows[at - 1][0] + 1]
        for at in gaps:
            rows.insert(at, (0, ""))
        body = "\n".join(text for _, text in rows)
        yield from (Said(one.text, f"{path}:{rows[one.line - 1][0]}", one.heading) for one in passages(body))
        return
    shown = [line for line in every if line["text"].strip()]
    columns = shown[0]["text"].split(",") if shown and path.endswith(".csv") and shown[0]["number"] == "1" else []
    for line in shown:
        cells = line["text"].split(",")
        row = record(columns, cells) if columns and cells != columns else line["text"].rstrip()
        yield Said(row, f"{path}:{line['number']}")


def _records(path: str, first: int, text: str) -> Iterator[Said]:
    """The entries of a page of JSON, which are counted with those that marks stand for."""
    return (Said(said, f"{path}:{first + place}") for place, said in records(text))


def _matches(text: str) -> Result:
    """Lines of files; one of a table with the names of its columns, which stand before the first one."""
    shown, columns, said = [line for line in map(MATCH.match, text.split("\n")[1:]) if line], dict[str, str](), []
    for line in shown:
        path, row = line["path"], line["text"]
        if path.endswith(".csv") and line["number"] == "1" and len(shown) > 1:
            columns[path] = row
            continue
        row = entry(row) if path.endswith(".json") else row
        row = record(columns[path].split(","), row.split(",")) if path in columns and not line["score"] else row
        said.append(Said(row, f"{path}:{line['number']}", "", float(line["score"] or CERTAIN)))
    return Result("matches", tuple(said), head=text.split("\n")[0])


def _files(text: str) -> Result:
    shown = [line for line in map(FILE.match, text.split("\n")) if line]
    return Result(
        "files", (), tuple(Entry(one["path"], one["path"], one["about"]) for one in shown), text.split("\n")[0]
    )


def _notes(text: str) -> Result:
    shown = [line for line in map(NOTE.match, text.split("\n")) if line]
    entries = tuple(Entry(one["title"], one["title"], one["text"]) for one in shown)
    return Result("notes", tuple(one for entry in entries for one in own(entry.gist)), entries, text.split("\n")[0])


def _nothing(text: str) -> Result:
    near = [line for line in map(NEAR.match, text.split("\n")) if line]
    return Result(
        "nothing", (), tuple(Entry(one["slug"], one["title"]) for one in near), text.split("\n")[0].rstrip(".")
    )


FORMS = (
    (re.compile(r"[\d,]+ results? for "), _hits),
    (re.compile(r"[\d,]+ articles?\b"), _listing),
    (re.compile(r"[\d,]+ (?:match(?:es)?|nearest passages?) for "), _matches),
    (re.compile(r"[\d,]+ files?\b"), _files),
    (re.compile(r"[\d,]+ notes?\b"), _notes),
    (re.compile(r"(?:No (?:results|articles|matches|files|notes)\b|Saved note )"), _nothing),
)


HEADLESS = {"search_articles": _hits, "list_articles": _listing, "search_files": _matches, "list_files": _files}
"""How a result is read whose first line is left out."""


@lru_cache(maxsize=512)
def own(text: str) -> tuple[Said, ...]:
    """What earlier words of the assistant, or a summary of them, still say: each run of sentences with its citation."""
    said: list[Said] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        start = 0
        for cite in CITED.finditer(line):
            run = LED_IN.sub("", line[start : cite.start()].lstrip(" .;,").rstrip(" ;,"))
            start = cite.end()
            said += [Said(run, cite[1])] if run and not TITLE.fullmatch(run) else []
    return tuple(said)


def first_sentences(text: str, most: int) -> str:
    """Whole sentences from the start of a text, of at most `most` words; the first one in any case."""
    chosen: list[str] = []
    for sentence in sentences(text):
        if chosen and len(" ".join((*chosen, sentence)).split()) > most:
            break
        chosen.append(sentence)
    return " ".join(chosen)
