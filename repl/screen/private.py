"""Private: what names the person and the machine, and what a stage shows instead."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from agent.errors import UsageError
from models.wire.address import host_url, is_loopback
from session.settings import ADDRESSES, Settings

PROJECT = Path(__file__).parents[2]
USERS = ("USER", "LOGNAME", "USERNAME")
PLACES = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "VIRTUAL_ENV")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
NO_SECRETS = ("", "root", "localhost")
"""Names that every machine has."""


def private(settings: Settings | None = None) -> dict[str, str]:
    """Private words and their substitutes: folders, names of user and host, addresses of servers."""
    shown = dict.fromkeys((name for name in _names(settings) if name not in NO_SECRETS and len(name) > 1), "…")
    places = [PROJECT, Path(sys.prefix), Path(sys.base_prefix), *(Path(os.environ.get(name, "/")) for name in PLACES)]
    places += [settings.corpus, settings.files, settings.session_dir] if settings else []
    places += [Path(settings.notes)] if settings and settings.notes else []
    for place in places:
        shown |= dict.fromkeys(_forms(place), f"…/{place.name}")
    shown |= dict.fromkeys(_forms(Path()), ".")
    homes = {form for home in _homes() for form in (str(Path(home).absolute()), os.path.realpath(home))}
    return shown | dict.fromkeys(homes - {"/"}, "~")


def _forms(place: Path) -> list[str]:
    """A folder as it may be written; nothing where it is one that every machine has, such as /usr."""
    forms = {str(place.absolute()), os.path.realpath(place)}
    return [form for form in forms if len(Path(form).parts) > 2]


def _homes() -> Iterator[str]:
    with suppress(RuntimeError):  # nobody has a home here
        yield str(Path.home())
    with suppress(ImportError, AttributeError, KeyError):
        from pwd import getpwuid

        yield getpwuid(os.getuid()).pw_dir


def _names(settings: Settings | None) -> Iterator[str]:
    yield from (os.environ.get(name, "") for name in USERS)
    yield from (Path(home).name for home in _homes())
    with suppress(ImportError, AttributeError, KeyError):
        from pwd import getpwuid

        yield getpwuid(os.getuid()).pw_name
    import socket

    host = socket.gethostname()
    yield from (host, host.partition(".")[0])
    addresses = [os.environ.get(name, "") for name in (*ADDRESSES, *PROXIES)]
    if settings:
        addresses += [settings.base_url, *(name.partition("@")[2] for name in (settings.summariser, settings.memory))]
    for address in addresses:
        yield _far(address.rpartition("@")[2])


def _far(address: str) -> str:
    """The host of a server that is not this machine; "" for one that is, or for no address."""
    try:
        url = host_url(address)
    except UsageError:
        return ""
    return "" if is_loopback(url) else urlsplit(url).hostname or ""
