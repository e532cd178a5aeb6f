"""Checks of this machine: articles, files, terminal, our own folders, environment, versions."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from thimble.agent.errors import UsageError
from thimble.models.server import Check
from thimble.models.wire.api_key import VARIABLES
from thimble.session import figures

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def articles(folder: Path) -> Iterator[Check]:
    """Read as a session reads them, and name all that is left out. Raises UsageError where there are none."""
    from thimble.corpus.folder import File, Skipped, look, read
    from thimble.session.articles import Reading

    fix = f"mend it or move it out of {folder}"
    try:
        library = Reading().read(folder)
    except UsageError:
        for one in look(folder):
            left = read(one) if isinstance(one, File) else one
            if isinstance(left, Skipped):
                yield Check("left out", "warn", f"{left.path}: {left.reason}", fix)
        raise
    words, many = sum(one.words for one in library.articles), figures.several(len(library.articles), "article")
    yield Check("articles", "ok", f"{many} of {words:,} words in {folder}")
    for left in library.skipped:
        yield Check("left out", "warn", f"{left.path}: {left.reason}", fix)


def files(folder: Path) -> Iterator[Check]:
    """The folder that the file tools may read."""
    found = f"{folder}; nothing outside it is read"
    otherwise = f"{folder} cannot be read: the file tools will not work"
    yield Check.of("files", os.access(folder, os.R_OK | os.X_OK), found, otherwise, "--files DIR")


def vocabulary() -> Iterator[Check]:
    """Whether tokens of Qwen models can be counted exactly before a server has reported any."""
    from thimble.models.counting.vocabulary import qwen_file

    found = "that of the Qwen models is here: their tokens are counted exactly"
    otherwise = "that of the Qwen models is not here: all counts are estimates, shown with ~"
    yield Check.of("vocabulary", qwen_file(), found, otherwise, "pip install --no-deps dashscope")


def terminal(console: Console) -> Iterator[Check]:
    """The abilities of the terminal, as far as they are known without asking it."""
    term = os.environ.get("TERM", "")
    if not console.is_terminal and not console.file.isatty():  # it is one to rich only where it may be drawn on
        found = "output does not go to a terminal: no conversation there, only -p TEXT or piped prompts"
        yield Check("terminal", "warn", found, "start thimble in a terminal")
    elif term in ("dumb", "unknown"):
        yield Check("terminal", "warn", f"TERM={term}: plain lines only", "export TERM=xterm-256color")
    else:
        size = f"{console.width} columns, {console.height} rows, TERM={term or '(not set)'}"
        narrow = f"{size}: some figures are left out"
        yield Check.of("terminal", console.width >= 80, size, narrow, "make it 80 columns wide")


def folders(session_dir: Path) -> Iterator[Check]:
    """Where prompt history and sessions are kept. Nothing is made: whether it can be is read off the folder above."""
    from platformdirs import user_state_dir

    state = Path(user_state_dir("thimble"))
    yield _writable("state", state, "what you type is not remembered", f"export XDG_STATE_HOME={Path.home()}/state")
    yield _writable("sessions", session_dir, "no session outlives its end", "--session-dir DIR")


def _writable(name: str, folder: Path, otherwise: str, another: str) -> Check:
    above = next((each for each in (folder, *folder.parents) if each.exists()), folder)
    found = f"{folder} ({'writable' if folder.is_dir() else 'will be made'})"
    fix = f"make it yours, or name another: {another}"
    writable = above.is_dir() and os.access(above, os.W_OK)
    return Check.of(name, writable, found, f"{above} cannot be written: {otherwise}", fix)


def environment() -> Iterator[Check]:
    """Keys and proxies: only whether they are set."""
    keys = (f"{name} {'set' if os.environ.get(name) else 'not set'}" for name in VARIABLES)
    yield Check("keys", "ok", ", ".join(keys))
    proxies = ", ".join(name for name in PROXIES if os.environ.get(name) or os.environ.get(name.lower()))
    told = f"{proxies} set; this machine's own addresses never go through it"
    yield Check.of("proxy", not proxies, "none", told, "if a server must not go through it: export NO_PROXY=HOST")


def versions() -> Iterator[Check]:
    """What a bug report needs."""
    from platform import platform, python_version

    from thimble.repl import __version__

    yield Check("thimble", "ok", __version__)
    yield Check("Python", "ok", f"{python_version()} on {platform(terse=True)}, {sys.executable}")
