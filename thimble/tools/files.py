"""The tools over the files: list_files, read_file, search_files; none of them leaves its folder.

A JSON file is read as one entry per line, whatever its layout, and shown as JSON; lines of other files are numbered.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import tee
from pathlib import Path

from thimble.agent.errors import ToolError
from thimble.agent.protocols import Embedder, Tool
from thimble.corpus.markdown import shorten
from thimble.corpus.observations import FILE_LINE, FILE_PAGE, FOUND_LINE, LISTED_FILE, LONG_LINE, NEAR_LINE
from thimble.corpus.ranking import MAX_QUERY
from thimble.tools.confined import FOLDER_FILES, READ_BYTES, Folder
from thimble.tools.json_lines import lay_out, parse_document
from thimble.tools.lines import (
    LINE_WORDS,
    TABLE_FILES,
    FileLine,
    distinct_words,
    find_lines,
    find_passages,
    split_lines,
)
from thimble.tools.schema import tool
from thimble.tools.wording import PAGE_CHARACTERS, count_noun, format_call, quote

LISTED_FILES = 100
LINES_READ = 80
LINE = 500
EXCERPT = 200
MATCHES = 50
SEARCHED_BYTES = 20_000_000
SEARCH_SECONDS = 5.0
"""Time after which no further file is searched."""
COUNTED_BYTES = 1_000_000


def file_tools(root: Path, embedder: Embedder | None = None) -> list[Tool]:
    """The tools bound to one folder, which is also searched by meaning if there is an embedder."""
    files = FileTools(root, embedder)
    return [tool(files.list_files), tool(files.read_file), tool(files.search_files)]


class FileTools:
    """The tools of a folder. The model reads the docstrings of the methods."""

    def __init__(self, root: Path, embedder: Embedder | None = None) -> None:
        self._folder = Folder(root)
        self._embedder = embedder

    def list_files(self, folder: str = "") -> str:
        """List the files of the folder, with size and lines.

        Args:
            folder: Only below this one.
        """
        where = self._folder.find(folder)
        if not where.is_folder:
            raise ToolError(f"{where.name} is a file: {format_call('read_file', path=where.name)} reads it")
        files, unread = self._folder.files(where.name)
        total = f"more than {FOLDER_FILES:,} files" if len(files) == FOLDER_FILES else count_noun(len(files), "file")
        lines = [total, *map(self._entry, files[:LISTED_FILES])]
        if len(files) > LISTED_FILES:
            below = (name if where.name == "." else name.removeprefix(f"{where.name}/") for name in files)
            folders = sorted({name.partition("/")[0] for name in below if "/" in name})
            here = f"; folders here: {shorten(', '.join(folders), 500)}" if folders else ""
            lines.append(f"[{LISTED_FILES} of {len(files):,} shown{here}]")
        return "\n".join([*lines, *_unread_folders(unread)])

    def read_file(self, path: str, start: int = 1, lines: int = 80) -> str:
        """Read lines of a text file.

        Args:
            path: As listed.
            start: First line.
            lines: How many.
        """
        name, is_folder = self._folder.find(path)
        if is_folder:
            raise ToolError(f"{name} is a folder: {format_call('list_files', folder=name)} lists it")
        text = self._folder.text(name)
        json = parse_document(text)
        every = json.lines if json else split_lines(text)
        unit, units = ("entry", "entries") if json else ("line", "lines")
        if not every:
            return f"{name} · empty"
        if not 1 <= start <= len(every):
            raise ToolError(f"there is no {unit} {start}: {name} has {count_noun(len(every), unit, units)}")
        asked = every[start - 1 : start - 1 + max(1, lines)]
        shown = _fitting(asked) if json else _numbered(asked, start)
        last = start + len(shown) - 1
        page = json.page(start - 1, last) if json else "\n".join(shown)
        head = FILE_PAGE.written(path=name, unit=units, first=start, last=last, of=len(every))
        text = f"{head}\n{page}"
        if last < len(every):
            rest = format_call("read_file", path=name, start=last + 1, lines="" if lines == LINES_READ else lines)
            text += f"\n[{units} {last + 1}-{len(every)} left: {rest}]"
        return text

    def search_files(self, query: str, folder: str = "") -> str:
        """Find lines that hold a phrase or all of its words, or else the passages nearest to it, with their score.

        Args:
            query: A phrase or a question.
            folder: Only below this one.
        """
        phrase = query.strip()[:MAX_QUERY]
        if not phrase:
            raise ToolError("the query is empty")
        where = self._folder.find(folder)
        files, unread = self._folder.files(where.name) if where.is_folder else ([where.name], 0)
        notes = [*_note_shortened_query(query), *_unread_folders(unread)]
        each, again = tee(self._texts(files, notes))
        found, many = find_lines(each, phrase, MATCHES)
        texts = dict(again)
        near, every = ([], True) if found else find_passages(tuple(texts.items()), phrase, self._embedder)
        if not every:
            notes.append("[only the beginning was compared: name a folder or a file to compare the others]")
        if not found and not near:
            return "\n".join([f"No matches for {quote(phrase)}.", *notes])
        head = count_noun(many, "match", "matches") if found else count_noun(len(near), "nearest passage")
        near_ones = [
            NEAR_LINE.written(path=line.path, number=line.number, text=line.text, score=f"{line.score:.2f}")
            for line in near
        ]
        shown = _fitting([*_with_headers(found, texts), *near_ones])
        if found and (many > len(found) or len(shown) < len(found)):
            notes = [f"[the first {min(len(found), len(shown))} of {many:,} shown]", *notes]
        return "\n".join([f"{head} for {quote(phrase)}", *shown, *notes])

    def paths(self) -> list[str]:
        """The paths of the files; none if the folder cannot be read."""
        try:
            return self._folder.files()[0]
        except ToolError:
            return []

    def near(self, query: str) -> list[FileLine]:
        """The lines that have all words of a query, with the score 1; else the passages nearest to it."""
        each, again = tee(self._texts(self.paths(), []))
        found, _ = find_lines(each, query[:MAX_QUERY], MATCHES)
        return [replace(line, score=1.0) for line in found] or find_passages(tuple(again), query, self._embedder)[0]

    def _entry(self, path: str) -> str:
        facts = []
        try:
            size = self._folder.size(path)
            facts.append(count_noun(size, "byte") if size < 1024 else f"{size / 1024:,.1f} KB")
            if size <= COUNTED_BYTES:
                text = self._folder.text(path)
                json = parse_document(text)
                facts.append(
                    count_noun(len(json.lines), "entry", "entries")
                    if json
                    else count_noun(len(split_lines(text)), "line")
                )
        except ToolError as error:
            facts.append("binary" if "binary" in error.what else "not readable")
        return LISTED_FILE.written(path=path, facts=", ".join(facts))

    def _texts(self, files: Sequence[str], notes: list[str]) -> Iterator[tuple[str, str]]:
        """Yield files with their text until time or bytes run out; the notes say how many files were skipped."""
        unread = read_bytes = 0
        until = time.monotonic() + SEARCH_SECONDS
        for number, path in enumerate(files):
            late = time.monotonic() > until
            if late or read_bytes > SEARCHED_BYTES:
                after = f"{SEARCH_SECONDS:g} seconds and " if late else ""
                stopped = f"stopped after {after}{number:,} of {len(files):,} files"
                notes.append(f"[{stopped}: name a folder to search the others]")
                break
            try:
                read_bytes += min(self._folder.size(path), READ_BYTES)
                yield path, lay_out(self._folder.text(path))
            except ToolError:
                unread += 1
        if unread:
            notes.append(f"[{count_noun(unread, 'file')} not searched: binary, too large or not readable]")


def _unread_folders(many: int) -> list[str]:
    return [f"[{count_noun(many, 'folder')} left out: too deep, too large or not readable]"] if many else []


def _note_shortened_query(query: str) -> list[str]:
    """A note, if only a part of the query is searched."""
    if len(query.strip()) > MAX_QUERY or len(distinct_words(query.strip())) > LINE_WORDS:
        return [f"[only the first {LINE_WORDS} words of the query were searched, and of it {MAX_QUERY:,} characters]"]
    return []


def _with_headers(lines: Sequence[FileLine], texts: Mapping[str, str]) -> Iterator[str]:
    """The lines as the model sees them; before the first one of a table file, the names of its columns."""
    headed: set[str] = set()
    for line in lines:
        if line.path.endswith(TABLE_FILES) and line.path not in headed and line.number > 1:
            first = FileLine(line.path, 1, split_lines(texts[line.path])[0])
            yield FOUND_LINE.written(path=line.path, number=1, text=_excerpt(first))
        headed.add(line.path)
        yield FOUND_LINE.written(path=line.path, number=line.number, text=_excerpt(line))


def _numbered(lines: Sequence[str], start: int) -> list[str]:
    """Lines as the model sees them: numbered, very long ones shortened, as many as fit on a page."""
    return _fitting(
        FILE_LINE.written(number=number, text=_line_start(line)) for number, line in enumerate(lines, start)
    )


def _line_start(line: str) -> str:
    return line if len(line) <= LINE else LONG_LINE.written(text=line[:LINE], more=f"{len(line) - LINE:,}")


def _fitting(lines: Iterable[str]) -> list[str]:
    """The first lines that fit on a page; at least one."""
    shown: list[str] = []
    room = PAGE_CHARACTERS
    for line in lines:
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown.append(line)
    return shown


def _excerpt(match: FileLine) -> str:
    """The line, or the part of a long one around the match."""
    line = match.text.strip()
    if len(line) <= EXCERPT:
        return line
    start = max(0, match.at - EXCERPT // 2)
    end = start + EXCERPT
    return ("…" if start else "") + match.text[start:end].strip() + ("…" if end < len(match.text) else "")
