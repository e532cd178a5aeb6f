"""Private words: names of the person and the machine, and the substitutes that a stage shows."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from thimble.agent.errors import UsageError
from thimble.models.wire.address import host_url, is_loopback
from thimble.session.settings import ADDRESSES, Settings


def private_words(settings: Settings | None = None) -> dict[str, str]:
    """Private words and their substitutes: folders, names of user and host, addresses of servers."""
    known = ("", "root", "localhost")  # too common to be private
    shown = dict.fromkeys((name for name in _names(settings) if name not in known and len(name) > 1), "…")
    places = [Path(__file__).resolve().parents[3]]
    places += [settings.corpus, settings.files, settings.session_dir] if settings else []
    for place in places:
        shown |= dict.fromkeys(_forms(place), f"…/{place.name}")
    homes = {form for form in _forms(Path.home(), least=1)} if "HOME" in os.environ else set()
    return shown | dict.fromkeys(_forms(Path()), ".") | dict.fromkeys(homes, "~")


def _forms(place: Path, least: int = 2) -> list[str]:
    """The absolute spellings of a folder; [] for a common one, such as /usr."""
    forms = {str(place.absolute()), os.path.realpath(place)}
    return [form for form in forms if len(Path(form).parts) > least]


def _names(settings: Settings | None) -> Iterator[str]:
    yield from (os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME"))
    with suppress(ImportError, KeyError):
        from pwd import getpwuid

        yield getpwuid(os.getuid()).pw_name
    with suppress(RuntimeError):  # no home folder
        yield Path.home().name
    host = socket.gethostname()
    yield from (host, host.partition(".")[0])
    addresses = [os.environ.get(name, "") for name in ADDRESSES]
    if settings:
        addresses += [settings.base_url, *(name.partition("@")[2] for name in (settings.summariser, settings.memory))]
    for address in addresses:
        with suppress(UsageError):
            url = host_url(address.rpartition("@")[2])
            yield "" if is_loopback(url) else urlsplit(url).hostname or ""
