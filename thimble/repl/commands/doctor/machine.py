"""Checks of this machine: articles, folders, terminal, versions."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from thimble.models.server import Check
from thimble.models.wire.api_key import VARIABLES
from thimble.session.settings import Settings
from thimble.tools.wording import count_noun

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


def articles(folder: Path) -> Iterator[Check]:
    """Read the articles as a session does, and name the skipped ones. Raises UsageError if there are none."""
    from thimble.session.articles import Reading

    library = Reading().read(folder)
    words, many = sum(one.words for one in library.articles), count_noun(len(library.articles), "article")
    yield Check(f"{many} of {words:,} words in {folder}")
    for left in library.skipped:
        yield Check(f"skipped: {left.path}: {left.reason}", f"fix it, or move it out of {folder}")


def folders(settings: Settings) -> Iterator[Check]:
    """The folders of the file tools, the prompt history and the sessions. None is created."""
    from platformdirs import user_state_dir

    state = Path(user_state_dir("thimble"))
    for folder, mode, use, another in (
        (settings.files, os.R_OK | os.X_OK, "for file tools", "--files DIR"),
        (state, os.W_OK, "for what you type", f"export XDG_STATE_HOME={Path.home()}/state"),
        (settings.session_dir, os.W_OK, "for sessions", "--session-dir DIR"),
    ):
        above = next(each for each in (folder, *folder.absolute().parents) if each.exists())
        able = above.is_dir() and os.access(above, mode)
        found = f"{folder} {'can' if able else 'cannot'} be used {use}"
        yield Check(found, "" if able else f"change its permissions, or use another: {another}")


def terminal(console: Console) -> Iterator[Check]:
    """The abilities of the terminal, from the environment alone."""
    term = os.environ.get("TERM", "")
    if not console.is_terminal and not console.file.isatty():  # rich calls only drawable ones terminals
        yield Check("not a terminal: no conversation, only -p TEXT or piped prompts", "start thimble in a terminal")
    elif term in ("dumb", "unknown"):
        yield Check(f"TERM={term}: plain lines only", "export TERM=xterm-256color")
    else:
        size = f"{console.width} columns, {console.height} rows, TERM={term or '(not set)'}"
        yield Check(size, "make it 80 columns wide, or some figures are left out" if console.width < 80 else "")


def versions() -> Iterator[Check]:
    """The versions for a bug report, and the names, not the values, of keys and proxies that are set."""
    from platform import platform, python_version

    from thimble.repl import __version__

    yield Check(f"thimble {__version__}, Python {python_version()} on {platform(terse=True)}, {sys.executable}")
    known = (*VARIABLES, *PROXIES, *map(str.lower, PROXIES))
    yield Check(f"environment: {', '.join(name for name in known if os.environ.get(name)) or 'no key and no proxy'}")
