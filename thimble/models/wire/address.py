"""The address of a model server, and a probe of it. Standard library only: this runs at every start."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from thimble.agent.errors import UsageError

_PORTS = {"http": 80, "https": 443}
_NAME = r"(?:[A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{0,63}"
_ADDRESS = re.compile(rf"(?P<host>\[[0-9A-Fa-f:.]*\]|{_NAME})(?::(?P<port>[0-9]{{1,5}}))?")


def host_url(value: str | None, port: int = 11434) -> str:
    """The address as `scheme://host:port[/path]`, from any form that OLLAMA_HOST may have.

    The forms: empty, host, host:port, :port, a URL, each with or without a path, and IPv6 with or without brackets.
    Without a scheme the port is `port`, with one it is 80 or 443. An address for listening on all interfaces (0.0.0.0,
    ::) becomes this machine's own.

    Raises:
        UsageError: The address is invalid.
    """
    text = (value or "").strip().strip("\"'").strip()
    head, separator, rest = text.partition("://")
    scheme, rest = (head.lower(), rest) if separator else ("", text)
    address, _, path = rest.partition("/")
    bare = address if _is_ip(address) else ""
    parts = _ADDRESS.fullmatch(f"[{bare}]" if ":" in bare else address)
    host = parts["host"] if parts else ""
    odd = not rest.isprintable() or re.search(r"[\s@?#\\]", rest) or (host[:1] == "[" and not _is_ip(host[1:-1]))
    if scheme not in ("", *_PORTS) or not parts or odd or int(parts["port"] or 1) > 65535:
        fix = f"write it as host, host:port, :port or a URL, such as http://127.0.0.1:{port}"
        raise UsageError(f"{hide_login(value or '')!r} is not an address of a model server", fix)
    if host.isdecimal():
        what = f"{text!r} means http://{host}:{parts['port'] or port}, and a number is not a host"
        raise UsageError(what, f"for a port write 127.0.0.1:{host}")
    host = _host_to_connect(host.strip("[]"))
    port = int(parts["port"] or _PORTS.get(scheme, port))
    path = path.strip("/")
    return f"{scheme or 'http'}://{host}:{port}" + (f"/{path}" if path else "")


def hide_login(address: str) -> str:
    """An address without the name and password in it, for display."""
    before, at, host = address.rpartition("@")
    scheme = f"{before.partition('://')[0]}://" if "://" in before else ""
    return f"{scheme}***@{host}" if at else address


def hide_logins(text: str) -> str:
    """A text that may hold an address, such as NAME@URL, without the name and password in it, for display."""
    before, scheme, address = text.partition("://")
    if scheme:
        return before + scheme + hide_login(address)
    return text if text.count("@") < 2 else text[: text.index("@") + 1] + hide_login(text[text.index("@") + 1 :])


def is_loopback(base_url: str) -> bool:
    """Whether an address is this machine's own, which must be reached without a proxy."""
    host = urlsplit(base_url).hostname or ""
    return host == "localhost" or (_is_ip(host) and ip_address(host).is_loopback)


def server_answers(base_url: str, path: str, suits: Callable[[int, Any], bool], seconds: float = 0.3) -> bool:
    """Whether a server answers `path` with a status and JSON that suit, decided within `seconds`.

    `suits` gets None for a body that is not JSON.
    """
    found: list[bool] = []
    # A thread, because nothing else ends the wait for a name server that does not answer.
    probe = Thread(target=lambda: found.append(_server_answers(base_url, path, suits, seconds)), daemon=True)
    probe.start()
    probe.join(seconds)
    return found == [True]


def _server_answers(base_url: str, path: str, suits: Callable[[int, Any], bool], seconds: float) -> bool:
    url = urlsplit(base_url)
    try:
        with socket.create_connection((url.hostname or "", url.port or 80), seconds):
            pass  # usually nothing listens, and then the HTTP client need not be loaded
        from http.client import HTTPConnection, HTTPException, HTTPSConnection

        from thimble.agent import foreign
    except OSError:
        return False
    kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
    connection = kind(url.hostname or "", url.port, timeout=seconds)
    try:
        connection.request("GET", f"{url.path}{path}")
        response = connection.getresponse()
        answer = None
        with suppress(ValueError):
            answer = foreign.parse_json(response.read(1_000_000))
        return suits(response.status, answer)
    except (OSError, HTTPException, ValueError):
        return False
    finally:
        connection.close()


def _is_ip(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _host_to_connect(host: str) -> str:
    """A host to connect to, in brackets if a URL needs them."""
    host = host or "127.0.0.1"
    if _is_ip(host) and ip_address(host).is_unspecified:
        host = "::1" if ":" in host else "127.0.0.1"
    return f"[{host}]" if ":" in host else host
