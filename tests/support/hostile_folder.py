"""A hostile folder: what a corpus or a folder of files may hold when somebody else made it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SECRET = "the-secret"
LEVELS = 1_200
SWAPPER = """
import os, sys
os.chdir(sys.argv[1])
for name in ("folder", "file.md"):
    os.symlink(f"../outside/{name}", f"{name}.link")
print(flush=True)
while True:
    for name in ("folder", "file.md"):
        os.rename(name, f"{name}.kept"); os.rename(f"{name}.link", name)
        os.rename(name, f"{name}.link"); os.rename(f"{name}.kept", name)
"""


@contextmanager
def hostile_folder(base: Path) -> Iterator[Path]:
    """A folder with every trap that a file system has, beside a secret; only a.md and in.md can be read."""
    outside, root = base / "outside", base / "root"
    for folder in (outside, root / ".git", root / "sub"):
        folder.mkdir(parents=True)
    for path in (outside / "secret.md", base / "root-secret.md", root / ".env.md", root / ".git" / "c.md"):
        path.write_text(SECRET)
    (root / "a.md").write_text("a plain text\n")
    for name, target in {
        "out": outside,
        "out.md": outside / "secret.md",
        "sub/up.md": "../../outside/secret.md",
        "null.md": "/dev/zero",
        "loop.md": "loop.md",
        "ring": ".",
        "around.md": f"../{root.name}/../outside/secret.md",
        "in.md": "a.md",
        "whole.md": root / "a.md",
        "fifo-link.md": "fifo.md",
    }.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "fifo.md")
    with socket.socket(socket.AF_UNIX) as server:
        before = Path.cwd()
        os.chdir(root)
        server.bind("socket.md")
        os.chdir(before)
    _dig(root)
    try:
        yield root
    finally:
        _fill(root)


@contextmanager
def swapped(base: Path) -> Iterator[Path]:
    """A folder in which another process swaps a file and a folder for links to secrets, as fast as it can."""
    for place, text in ((base / "root", "inside"), (base / "outside", SECRET)):
        (place / "folder").mkdir(parents=True)
        (place / "folder" / "a.md").write_text(text)
        (place / "file.md").write_text(text)
        (place / "still.md").write_text(text)
    command = [sys.executable, "-S", "-c", SWAPPER, str(base / "root")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            process.stdout.readline()
            yield base / "root"
        finally:
            process.kill()


def _dig(root: Path) -> None:
    place = os.open(root, os.O_RDONLY)
    for _ in range(LEVELS):
        os.mkdir("d", dir_fd=place)
        below = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(os.open("deep.md", os.O_CREAT | os.O_WRONLY, dir_fd=place))
    os.close(place)


def _fill(root: Path) -> None:
    """Take the deep folders away from above, since `rmtree` cannot."""
    while (root / "d" / "d").exists():
        (root / "d" / "d").rename(root / "up")
        (root / "d").rmdir()
        (root / "up").rename(root / "d")
    (root / "d" / "deep.md").unlink()
    (root / "d").rmdir()
