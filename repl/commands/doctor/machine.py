"""Checks of this machine: articles, files, terminal, our own folders, settings, environment, packages."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from rich.console import Console

from agent.errors import UsageError
from agent.messages import Message
from agent.protocols import Text
from models import SERVERS
from models.openai.api_key import VARIABLES
from models.server import Check
from models.wire.address import hidden, host_url, is_loopback
from repl.commands.doctor.examine import Look
from session import figures
from session.settings import ADDRESSES, Settings, address_of

NAMED = 3
"""Of many things, so many are named."""
MOST_FILES = 10_000
LEAST_DISK_BYTES = 50_000_000
LEAST_COLUMNS = 80
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
GLYPHS = "›≡▤✂✓✗…─"
WIDTHS = (("é", 1), ("漢", 2), ("🧵", 2))
"""Columns that letters are taken for. No terminal is asked: the answer of a slow one would land in what is typed."""
PACKAGES = ("httpx", "rich", "prompt_toolkit", "pydantic", "tiktoken")


def looks(settings: Settings, console: Console) -> list[Look]:
    """All that is looked at beside the servers."""
    return [
        Look("reader", "reader", reader),
        Look("corpus", "articles", partial(articles, settings.corpus)),
        Look("corpus", "files", partial(files, settings.files)),
        Look("tokens", "vocabulary", vocabulary),
        Look("terminal", "terminal", partial(terminal, console, settings.color)),
        Look("folders", "folders", partial(folders, settings.session_dir)),
        Look("settings", "settings", partial(sources, settings)),
        Look("environment", "environment", partial(environment, settings)),
        Look("versions", "versions", versions),
    ]


def reader() -> Iterator[Check]:
    """Ask the built-in reader a question, which costs nothing."""
    from models import built_in

    said = built_in().stream([Message("m1", "user", "What is a thimble?")], [])
    answer = "".join(delta.text for delta in said if isinstance(delta, Text))
    found = "built in, needs no server; answers with extracts from the articles"
    yield Check("reader", "ok", found) if answer else Check("reader", "fail", "it answers nothing")


def articles(folder: Path) -> Iterator[Check]:
    """Read as a session reads them. Raises UsageError where there are none."""
    from session.articles import Reading

    started = time.perf_counter()
    library = Reading().read(folder)
    seconds = figures.duration(time.perf_counter() - started)
    words = sum(article.words for article in library.articles)
    many = figures.several(len(library.articles), "article")
    yield Check("articles", "ok", f"{many} of {words:,} words in {folder}, read in {seconds}")
    if library.skipped:
        named = "; ".join(f"{left.path}: {left.reason}" for left in library.skipped[:NAMED])
        more = f"; and {len(library.skipped) - NAMED:,} more" if len(library.skipped) > NAMED else ""
        fix = f"mend them or move them out of {folder}"
        yield Check("left out", "warn", f"{figures.several(len(library.skipped), 'file')}: {named}{more}", fix)


def files(folder: Path) -> Iterator[Check]:
    """The folder that the file tools may read."""
    if not os.access(folder, os.R_OK | os.X_OK):
        yield Check("files", "warn", f"{folder} cannot be read: the file tools will not work", "--files DIR")
        return
    every = (name for _, _, names in os.walk(folder) for name in names if not name.startswith("."))
    many = sum(1 for _ in islice(every, MOST_FILES))
    count = f"more than {MOST_FILES:,} files" if many == MOST_FILES else figures.several(many, "file")
    yield Check("files", "ok", f"{count} in {folder}; nothing outside it is read")


def vocabulary() -> Iterator[Check]:
    """Whether tokens of Qwen models can be counted exactly before a server has reported any."""
    from models.counting.vocabulary import qwen_file

    found = "that of the Qwen models is here: their tokens are counted exactly"
    otherwise = "that of the Qwen models is not here: all counts are estimates, shown with ~"
    yield Check.of("vocabulary", qwen_file(), found, otherwise, "pip install --no-deps dashscope")


def terminal(console: Console, color: bool) -> Iterator[Check]:
    """The abilities of the terminal, as far as they are known without asking it."""
    term = os.environ.get("TERM", "")
    if not console.is_terminal and not console.file.isatty():  # it is one to rich only where it may be drawn on
        found = "output does not go to a terminal: no conversation there, only -p TEXT or piped prompts"
        yield Check("terminal", "warn", found, "start thimble in a terminal")
    elif term in ("dumb", "unknown"):
        yield Check("terminal", "warn", f"TERM={term}: plain lines only", "export TERM=xterm-256color")
    else:
        yield Check("terminal", "ok", f"TERM={term or '(not set)'}")
        size, wide = f"{console.width} columns, {console.height} rows", console.width >= LEAST_COLUMNS
        narrow = f"{size}: some figures are left out"
        yield Check.of("size", wide, size, narrow, f"make it {LEAST_COLUMNS} columns wide")
    yield _colours(console, color)
    found = f"{console.encoding} cannot show {len(GLYPHS)} signs that thimble draws: they come as ?"
    fix = "export LC_ALL=C.UTF-8, or take --plain"
    yield Check.of("letters", can_show(console, GLYPHS), console.encoding, found, fix)
    yield _widths()


def can_show(console: Console, signs: str) -> bool:
    """Whether the terminal's encoding has these signs."""
    try:
        signs.encode(console.encoding)
    except (UnicodeError, LookupError):
        return False
    return True


def _colours(console: Console, color: bool) -> Check:
    if not color or os.environ.get("NO_COLOR"):
        return Check("colours", "ok", "off, as asked (NO_COLOR or the setting color)")
    depth = {"standard": "16", "256": "256", "truecolor": "16 million"}.get(console.color_system or "", "none")
    return Check("colours", "ok", f"{depth}; only the terminal's own 16 are used" if depth != "none" else depth)


def _widths() -> Check:
    """Whether prompt and answers agree on how wide letters are; a terminal that differs shows it in this very line."""
    from prompt_toolkit.utils import get_cwidth
    from rich.cells import cell_len

    told = ", ".join(f"{letter} {columns}" for letter, columns in WIDTHS)
    agreed = all(cell_len(letter) == get_cwidth(letter) == columns for letter, columns in WIDTHS)
    found, otherwise = f"columns that letters are taken for: {told}", f"prompt and answers do not agree on {told}"
    return Check.of("widths", agreed, found, otherwise, "take ASCII in what you type")


def folders(session_dir: Path) -> Iterator[Check]:
    """Where prompt history and sessions are kept. Nothing is made: whether it can be is read off the folder above."""
    from shutil import disk_usage

    from platformdirs import user_state_dir

    state = Path(user_state_dir("thimble"))
    other_state = f"export XDG_STATE_HOME={Path.home()}/state"
    yield _writable("state", state, state / "history", "what you type is not remembered", other_state)
    yield _writable("sessions", session_dir, session_dir, "no session outlives its end", "--session-dir DIR")
    above = _above(session_dir)
    free = disk_usage(above).free
    told = f"{free / 1e9:,.1f} GB free"
    yield Check.of("disk", free >= LEAST_DISK_BYTES, told, told, f"make room on the disk of {above}")


def _writable(name: str, folder: Path, inner: Path, otherwise: str, another: str) -> Check:
    above = _above(folder)
    target = inner if inner.exists() else above
    writable = above.is_dir() and os.access(target, os.W_OK)
    found = f"{folder} ({'writable' if folder.is_dir() else 'will be made'})"
    fix = f"make it yours, or name another: {another}"
    return Check.of(name, writable, found, f"{target} cannot be written: {otherwise}", fix)


def _above(folder: Path) -> Path:
    """The folder, or its nearest existing parent."""
    return next((each for each in (folder, *folder.parents) if each.exists()), folder)


def sources(settings: Settings) -> Iterator[Check]:
    """Which settings are not the usual ones. A file that cannot be read stops thimble before this, with its name."""
    from session.settings import FOLDERS, HOW_TO_SET, settings_files

    for called, path in settings_files().items():
        used = ", ".join(name for name, origin in settings.origins.items() if origin == called)
        yield Check("file", "ok", f"{called}: {used or ('nothing used of it' if path.exists() else 'not there')}")
    if settings.left_out:
        yield Check("left out", "warn", f"{FOLDERS}: {', '.join(settings.left_out)}, as it could do harm", HOW_TO_SET)
    given = (origin for origin in settings.origins.values() if origin.startswith(("flag", "environment")))
    yield Check("given", "ok", ", ".join(given) or "no flags, no environment variables")


def environment(settings: Settings) -> Iterator[Check]:
    """Variables that change where requests go. For keys it says only whether they are set."""
    addresses = (f"{name} {hidden(os.environ.get(name, '')) or 'not set'}" for name in ADDRESSES)
    yield Check("addresses", "ok", ", ".join(addresses))
    keys = (f"{name} {'set' if os.environ.get(name) else 'not set'}" for name in VARIABLES)
    yield Check("keys", "ok", ", ".join(keys))
    yield _proxies(settings)


def _proxies(settings: Settings) -> Check:
    """Whether a proxy stands before a server. Never before this machine's own addresses."""
    from urllib.request import proxy_bypass

    named = [name for name in PROXIES if os.environ.get(name) or os.environ.get(name.lower())]
    if not named:
        return Check("proxy", "ok", "none")
    hosts = []
    for backend in SERVERS:
        with suppress(UsageError):
            url = host_url(address_of(backend, settings))
            host = urlsplit(url).hostname or ""
            if not is_loopback(url) and not proxy_bypass(host):
                hosts.append(host)
    told = f"{', '.join(named)} set; this machine's own addresses never go through it"
    host = next(iter(hosts), "")
    return Check.of("proxy", not host, told, f"{told}, {host} does", f"if it must not: export NO_PROXY={host}")


def versions() -> Iterator[Check]:
    """Versions, as a bug report needs them."""
    from importlib.metadata import PackageNotFoundError, version
    from platform import platform, python_version

    from repl import __version__

    yield Check("thimble", "ok", __version__)
    yield Check("Python", "ok", f"{python_version()} on {platform(terse=True)}, {sys.executable}")
    told, missing = [], []
    for package in PACKAGES:
        try:
            told.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    yield Check("packages", "ok", ", ".join(told))
    if missing:
        yield Check("missing", "fail", ", ".join(missing), f"pip install {' '.join(missing)}")
