"""Trust: a session that is gone on with, and a cassette, are data; their word is not enough where the user decides.

Code is run, and a server on another machine is sent the conversation, when the user has said so: by a flag, in the
environment or in the settings, or by typing it in this session. The key for servers goes to no address but such a one,
not even on this machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agent.errors import UsageError
from models import READER
from models.wire.address import hidden, host_url, is_loopback
from session.settings import address_of, served_embeddings

if TYPE_CHECKING:
    from session.settings import Settings


def check(asked: Settings, own: Mapping[str, object]) -> None:
    """Raise UsageError where a session brings along what the user has not asked for and only the user may decide."""
    spec = str(own.get("strategy", ""))
    if spec != asked.strategy:
        check_strategy(spec)
    backend = str(own.get("backend", ""))
    named = [asked.base_url, address_of(backend, asked)]
    if backend != READER:
        _check_server(str(own.get("base_url", "")), named, "--base-url")
    for name in ("summariser", "memory"):
        _, at, url = str(own.get(name, "")).rpartition("@")
        if at and own[name] != getattr(asked, name):
            _check_server(url, named, f"--{name}")
    embeddings = str(own.get("embeddings", ""))
    served = served_embeddings(embeddings)
    if served and embeddings != asked.embeddings:
        _check_server(served.url, named, "--embeddings")


def is_named(kind: str, settings: Settings) -> bool:
    """Whether the user has named the server of this kind, by its address or, at its usual address, as the backend."""
    asked, address = settings.asked or settings, address_of(kind, settings)
    return address == address_of(kind, asked) if address else asked.backend == kind


def is_said(name: str, settings: Settings) -> bool:
    """Whether this setting is the user's word, and not a session's."""
    return bool(getattr(settings, name) == getattr(settings.asked or settings, name))


def check_strategy(spec: str) -> None:
    """Raise UsageError for a strategy that is code."""
    from strategies.spec import is_code  # not at the start: it imports all strategies

    if is_code(spec):
        what = f"the session goes on under {spec[:60]}, which is code that its word alone does not run"
        raise UsageError(what, "if it is yours, leave and say thimble --resume ID --strategy with the same behind it")


def _check_server(url: str, named: list[str], flag: str) -> None:
    if url and url not in named and not is_loopback(host_url(url)):
        what = f"the session would be sent to {hidden(url)[:80]}, which only the session itself names"
        raise UsageError(what, f"if you trust that server, say {flag} and the same; else --backend {READER}")
