"""The tools over the files: list_files, read_file, search_files; none of them leaves its folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.errors import ToolError
from agent.protocols import Tool
from corpus.markdown import shorten
from tools.confined import FILE_LIMIT_BYTES, MAX_FILES, Folder
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


def file_tools(root: Path) -> list[Tool]:
    """The tools bound to one folder."""
    files = FileTools(root)
    return [tool(files.list_files), tool(files.read_file), tool(files.search_files)]


@dataclass(frozen=True, slots=True)
class Match:
    """A line that was found; `at` is where in it, in characters, or -1."""

    path: str
    line: int
    text: str
    at: int


class FileTools:
    """What a model may do with a folder. The docstrings of the methods are written for the model."""

    def __init__(self, root: Path) -> None:
        self._folder = Folder(root)

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
        every = _lines(self._folder.text(where))
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
        """Find lines that hold a phrase, or else all of its words; case does not matter.

        Args:
            query: A phrase.
            folder: Only below this one.
        """
        if not query.strip():
            raise ToolError("the query is empty")
        where = self._folder.resolve(folder)
        files = self._folder.files(where) if where.is_dir() else [where]
        found, notes = self._matches(query, files)
        if not found:
            return "\n".join([f"No matches for {quoted(query)}.", *notes])
        lines = [f"{counted(len(found), 'match', 'matches')} for {quoted(query)}"]
        lines += _fitting([f"{match.path}:{match.line}: {_excerpt(match)}" for match in found[:MATCHES]])
        if len(lines) - 1 < len(found):
            notes = [f"[the first {len(lines) - 1} of {len(found):,} shown]", *notes]
        return "\n".join(lines + notes)

    def _entry(self, path: Path) -> str:
        facts = []
        try:
            size = self._folder.size(path)
            facts.append(counted(size, "byte") if size < 1024 else f"{size / 1024:,.1f} KB")
            if size <= COUNTED_BYTES:
                facts.append(counted(len(_lines(self._folder.text(path))), "line"))
        except ToolError as error:
            facts.append("binary" if "binary" in error.what else "not readable")
        return f"{self._folder.name(path)} ({', '.join(facts)})"

    def _matches(self, query: str, files: Sequence[Path]) -> tuple[list[Match], list[str]]:
        """The lines with the whole phrase, or without any those with every word; and what was not searched."""
        exact: list[Match] = []
        loose: list[Match] = []
        left_out: list[str] = []
        unread = read_bytes = 0
        for number, path in enumerate(files):
            if number == SEARCHED_FILES or read_bytes > SEARCHED_BYTES:
                left_out = [f"[stopped after {number:,} of {len(files):,} files: name a folder to search the others]"]
                break
            try:
                read_bytes += min(self._folder.size(path), FILE_LIMIT_BYTES)
                text = self._folder.text(path)
            except ToolError:
                unread += 1
                continue
            for match in _with_words(text, query, self._folder.name(path)):
                (exact if match.at >= 0 else loose).append(match)
        if unread:
            left_out.append(f"[{counted(unread, 'file')} not searched: binary, too large or not readable]")
        return exact or loose, left_out


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


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


def _with_words(text: str, query: str, path: str) -> Iterator[Match]:
    """The lines that hold every word of the query; `at` is -1 in those that do not hold it as a phrase."""
    phrase, words = query.strip().casefold(), query.casefold().split()
    folded = text.casefold()
    if all(word in folded for word in words):
        for number, line in enumerate(_lines(text), 1):
            folded = line.casefold()
            if all(word in folded for word in words):
                yield Match(path, number, line, folded.find(phrase))


def _excerpt(match: Match) -> str:
    """The line, or of a long one the part around the match."""
    line = match.text.strip()
    if len(line) <= EXCERPT:
        return line
    start = max(0, match.at - EXCERPT // 2)
    end = start + EXCERPT
    return ("…" if start else "") + match.text[start:end].strip() + ("…" if end < len(match.text) else "")
