"""Files below a folder, opened part by part: nothing outside it is reached, even if folders are swapped for links.

Each part of a path is opened below the descriptor of the folder before it, never as a link: `openat` with O_NOFOLLOW,
on Linux and macOS. A link is read, and its target is followed in the same steps. Windows opens no folders: there the
steps are the same but go by path, so that a folder swapped for a link between two steps would be followed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from thimble.corpus.reading import NEVER_WAIT, text_of

MAX_DEPTH = 64
"""Maximum depth of folders."""
MAX_LINKS = 16
"""Maximum number of links on the way to a file."""
MAX_ENTRIES = 500_000
"""Maximum number of names that are read below a folder."""
OPEN_FLAGS = NEVER_WAIT | getattr(os, "O_NOFOLLOW", 0)
"""Do not follow a link made after the check."""
BY_DESCRIPTOR = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
FOLDER_FLAGS = OPEN_FLAGS | getattr(os, "O_DIRECTORY", 0)
JUNCTION = 0xA0000003
"""The tag of a Windows folder that links to another one."""
FOLDERS_TOO_DEEP = f"it is more than {MAX_DEPTH} folders deep"

Place = int | str
"""An open file or folder: its descriptor. A folder on Windows: its path."""


class OpenedFile(NamedTuple):
    """An open file or folder, the way to it without links, and its status."""

    place: Place
    parts: tuple[str, ...]
    status: os.stat_result

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder; else it is a regular file."""
        return stat.S_ISDIR(self.status.st_mode)


@contextmanager
def open_below(
    folder: Path, parts: Sequence[str], refuse: Callable[[str], object] = lambda part: None
) -> Iterator[OpenedFile]:
    """Open the file or folder that a path below `folder` means.

    Args:
        folder: May be reached by a link itself.
        parts: The names on the way; `..` leads back, but never out.
        refuse: Called with each name on the way, also in the target of a link; raises OSError.

    Raises:
        OSError: A link that leaves the folder or leads to itself, a FIFO, a device, a folder too deep, a part that is
            missing or was swapped; the reason in words is its `strerror`.
    """
    flags = FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0)
    top = OpenedFile(os.open(folder, flags) if BY_DESCRIPTOR else str(folder), (), folder.stat())
    way, ahead, links = [top], [*reversed(parts)], 0
    try:
        while ahead:
            part, here = ahead.pop(), way[-1]
            if part == "..":
                if len(way) == 1:
                    raise OSError(errno.EXDEV, "it is a link that leaves the folder")
                _close(way.pop())
                continue
            refuse(part)
            if not here.is_folder:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            status = os.stat(**_at(here.place, part), follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                links += 1
                if links > MAX_LINKS:
                    raise OSError(errno.ELOOP, "it is a link that leads to itself")
                target = PurePath(os.readlink(**_at(here.place, part)))
                if target.is_absolute():
                    target = _relative_target(target, folder)
                    while len(way) > 1:
                        _close(way.pop())
                ahead += reversed(target.parts)
            else:
                parts = (*here.parts, part)
                way.append(OpenedFile(_open(here.place, parts, status), parts, status))
        yield way[-1]
    finally:
        for each in way:
            _close(each)


def read_below(folder: Path, parts: Sequence[str], limit_bytes: int) -> str:
    """The text of a file below a folder; see `read_text`. Raises OSError."""
    with open_below(folder, parts) as found:
        return read_opened(found, limit_bytes)


def read_opened(found: OpenedFile, limit_bytes: int) -> str:
    """The text of an open file; see `read_text`. Raises OSError."""
    if isinstance(found.place, str):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    return text_of(found.place, limit_bytes)


def walk_folder(
    top: OpenedFile, wanted: Callable[[str, bool], object]
) -> Iterator[tuple[tuple[str, ...], os.stat_result | OSError]]:
    """Every wanted entry below an open folder, in order: a folder's files and links, then the folders in it.

    Each comes with its way (as `OpenedFile.parts`) and its own status, which for a link is not that of its target. A
    folder that cannot be read, or is too deep, comes with the reason.

    Args:
        top: The folder.
        wanted: Called with the name of an entry and whether it is a folder; returns whether to include it.
    """
    left = iter(range(MAX_ENTRIES))

    def below(place: Place, parts: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], os.stat_result | OSError]]:
        folders: list[str] = []
        with os.scandir(place) as entries:
            every = [(entry.name, entry.is_dir(follow_symlinks=False)) for _, entry in zip(left, entries, strict=False)]
        for name, is_folder in sorted(every):
            if wanted(name, is_folder):
                if is_folder:
                    folders.append(name)
                    continue
                try:
                    yield (*parts, name), os.stat(**_at(place, name), follow_symlinks=False)
                except OSError as error:
                    yield (*parts, name), error
        for name in folders:
            way = (*parts, name)
            try:
                inner = _open(place, way, os.stat(**_at(place, name), follow_symlinks=False))
            except OSError as error:
                yield way, error
                continue
            try:
                yield from below(inner, way)
            except OSError as error:
                yield way, error
            finally:
                if isinstance(inner, int):
                    os.close(inner)

    yield from below(top.place, top.parts)
    if next(left, None) is None:
        yield top.parts, OSError(errno.EFBIG, f"it contains more than {MAX_ENTRIES:,} names; the others were left out")


def _at(place: Place, name: str) -> dict[str, Any]:
    return {"path": name, "dir_fd": place} if isinstance(place, int) else {"path": f"{place}{os.sep}{name}"}


def _open(place: Place, way: tuple[str, ...], status: os.stat_result) -> Place:
    """Open the last part of a way, which is in the open folder `place`."""
    there = _at(place, way[-1])
    if getattr(status, "st_reparse_tag", 0) == JUNCTION:
        raise OSError(errno.EXDEV, "it is a link that leaves the folder")
    if stat.S_ISREG(status.st_mode):
        return os.open(**there, flags=OPEN_FLAGS)
    if stat.S_ISDIR(status.st_mode):
        if len(way) > MAX_DEPTH:
            raise OSError(errno.ENAMETOOLONG, FOLDERS_TOO_DEEP)
        return os.open(**there, flags=FOLDER_FLAGS) if BY_DESCRIPTOR else str(there["path"])
    raise OSError(errno.EINVAL, "it is not a regular file")


def _relative_target(target: PurePath, folder: Path) -> PurePath:
    """The part of an absolute target below the folder, by its given or its resolved path."""
    for top in (folder.absolute(), folder.resolve()):
        if target.is_relative_to(top):
            return target.relative_to(top)
    raise OSError(errno.EXDEV, "it is a link that leaves the folder")


def _close(found: OpenedFile) -> None:
    if isinstance(found.place, int):
        os.close(found.place)
