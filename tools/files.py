"""The tools over the files: list_files, read_file, search_files; none of them leaves its folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from agent.errors import ToolError
from agent.protocols import Embedder, Tool
from corpus.markdown import shorten
from tools.confined import FILE_LIMIT_BYTES, MAX_FILES, Folder
from tools.lines import TABLES, Line, nearest, split, with_words
from tools.schema import tool
from tools.wording import call, counted, quoted

LISTED = 100
LINES = 80
LINE = 500
EXCERPT = 200
MATCHES = 50
SEARCHED_FILES = 2_000
SEARCHED_BYTES = 20_000_000
COUNTED_BYTES = 1_000_000
PAGE = 7_000


def file_tools(root: Path, embedder: Embedder | None = None) -> list[Tool]:
    """The tools bound to one folder, which is searched by meaning too where there is an embedder."""
    files = FileTools(root, embedder)
    return [tool(files.list_files), tool(files.read_file), tool(files.search_files)]


class FileTools:
    """What a model may do with a folder. The docstrings of the methods are written for the model."""

    def __init__(self, root: Path, embedder: Embedder | None = None) -> None:
        self._folder = Folder(root)
        self._embedder = embedder

    def list_files(self, folder: str = "") -> str:
        """List the files of the folder, with size and lines.

        Args:
            folder: Only below this one.
        """
        where = self._folder.resolve(folder)
        if not where.is_dir():
            path = self._folder.name(where)
            raise ToolError(f"{path} is a file: {call('read_file', path=path)} reads it")
        files = self._folder.files(where)
        total = f"more than {MAX_FILES:,} files" if len(files) == MAX_FILES else counted(len(files), "file")
        lines = [total, *(self._entry(path) for path in files[:LISTED])]
        if len(files) > LISTED:
            folders = sorted({path.relative_to(where).parts[0] for path in files if path.parent != where})
            below = f"; folders here: {shorten(', '.join(folders), 500)}" if folders else ""
            lines.append(f"[{LISTED} of {len(files):,} shown{below}]")
        return "\n".join(lines)

    def read_file(self, path: str, start: int = 1, lines: int = 80) -> str:
        """Read lines of a text file.

        Args:
            path: As listed.
            start: First line.
            lines: How many.
        """
        where = self._folder.resolve(path)
        name = self._folder.name(where)
        if where.is_dir():
            raise ToolError(f"{name} is a folder: {call('list_files', folder=name)} lists it")
        every = split(self._folder.text(where))
        if not every:
            return f"{name} · empty"
        if not 1 <= start <= len(every):
            raise ToolError(f"there is no line {start}: {name} has {counted(len(every), 'line')}")
        shown = _numbered(every[start - 1 : start - 1 + max(1, lines)], start)
        last = start + len(shown) - 1
        text = "\n".join([f"{name} · lines {start}-{last} of {len(every)}", *shown])
        if last < len(every):
            rest = call("read_file", path=name, start=last + 1, lines="" if lines == LINES else lines)
            text += f"\n[lines {last + 1}-{len(every)} left: {rest}]"
        return text

    def search_files(self, query: str, folder: str = "") -> str:
        """Find lines that hold a phrase or all of its words, or else the passages nearest to it, with their score.

        Args:
            query: A phrase or a question.
            folder: Only below this one.
        """
        if not query.strip():
            raise ToolError("the query is empty")
        where = self._folder.resolve(folder)
        files = self._folder.files(where) if where.is_dir() else [where]
        texts, notes = self._texts(files)
        every = [line for path, text in texts for line in with_words(path, text, query)]
        found = [line for line in every if line.at >= 0] or every
        near = [] if found else nearest(tuple(texts), query, self._embedder)
        if not found and not near:
            return "\n".join([f"No matches for {quoted(query)}.", *notes])
        head = counted(len(found), "match", "matches") if found else counted(len(near), "nearest passage")
        lines = [f"{head} for {quoted(query)}"]
        near_ones = [f"{line.path}:{line.number}: {line.text} (score {line.score:.2f})" for line in near]
        shown = _fitting([*_with_headers(found[:MATCHES], dict(texts)), *near_ones])
        if (left := len(found) - min(len(found), MATCHES)) or len(shown) < len(found):
            notes = [f"[the first {min(len(found) - left, len(shown))} of {len(found):,} shown]", *notes]
        return "\n".join([*lines, *shown, *notes])

    def _entry(self, path: Path) -> str:
        facts = []
        try:
            size = self._folder.size(path)
            facts.append(counted(size, "byte") if size < 1024 else f"{size / 1024:,.1f} KB")
            if size <= COUNTED_BYTES:
                facts.append(counted(len(split(self._folder.text(path))), "line"))
        except ToolError as error:
            facts.append("binary" if "binary" in error.what else "not readable")
        return f"{self._folder.name(path)} ({', '.join(facts)})"

    def _texts(self, files: Sequence[Path]) -> tuple[list[tuple[str, str]], list[str]]:
        """The files by name with their text; and what was not searched."""
        texts: list[tuple[str, str]] = []
        left_out: list[str] = []
        unread = read_bytes = 0
        for number, path in enumerate(files):
            if number == SEARCHED_FILES or read_bytes > SEARCHED_BYTES:
                left_out = [f"[stopped after {number:,} of {len(files):,} files: name a folder to search the others]"]
                break
            try:
                read_bytes += min(self._folder.size(path), FILE_LIMIT_BYTES)
                texts.append((self._folder.name(path), self._folder.text(path)))
            except ToolError:
                unread += 1
        if unread:
            left_out.append(f"[{counted(unread, 'file')} not searched: binary, too large or not readable]")
        return texts, left_out


def _with_headers(lines: Sequence[Line], texts: Mapping[str, str]) -> Iterator[str]:
    """The lines as the model sees them; before the first one of a table file, the names of its columns."""
    headed: set[str] = set()
    for line in lines:
        if line.path.endswith(TABLES) and line.path not in headed and line.number > 1:
            yield f"{line.path}:1: {_excerpt(Line(line.path, 1, split(texts[line.path])[0]))}"
        headed.add(line.path)
        yield f"{line.path}:{line.number}: {_excerpt(line)}"


def _numbered(lines: Sequence[str], start: int) -> list[str]:
    """Lines as the model sees them: numbered, very long ones shortened, no more of them than a page holds."""
    return _fitting(
        f"{number}: {line[:LINE]}" + (f"… [+{len(line) - LINE:,} characters]" if len(line) > LINE else "")
        for number, line in enumerate(lines, start)
    )


def _fitting(lines: Iterable[str]) -> list[str]:
    """The first lines that fit on a page; at least one."""
    shown: list[str] = []
    room = PAGE
    for line in lines:
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown.append(line)
    return shown


def _excerpt(match: Line) -> str:
    """The line, or of a long one the part around the match."""
    line = match.text.strip()
    if len(line) <= EXCERPT:
        return line
    start = max(0, match.at - EXCERPT // 2)
    end = start + EXCERPT
    return ("…" if start else "") + match.text[start:end].strip() + ("…" if end < len(match.text) else "")
