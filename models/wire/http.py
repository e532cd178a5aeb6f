"""HTTP for every model server: connections, the lines of a stream, and the errors that users see."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from agent import foreign
from agent.errors import ModelError
from models.wire.address import is_loopback
from models.wire.bounds import (
    ANSWER_BYTES,
    CONNECT_SECONDS,
    LINE_BYTES,
    REPLY_CHARACTERS,
    TOLD_CHARACTERS,
    Allowance,
    endless,
    silent,
)
from models.wire.retry import Busy

if TYPE_CHECKING:
    import ssl

    import httpx

WHERE = "check the address: --base-url"
LOWER = "lower the budget (/budget N, --budget N)"
CERTIFICATES = "name a file of certificates to trust: SSL_CERT_FILE=FILE"
NO_PROXY = "name hosts to reach without it in NO_PROXY, or unset HTTP_PROXY, HTTPS_PROXY, ALL_PROXY"
LARGEST_FIGURE = 2**53
"""Readers of JSON that use floats cannot tell larger whole numbers apart."""
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")

Piece = TypeVar("Piece")


def client(
    base_url: str,
    allowance: Allowance,
    transport: httpx.BaseTransport | None = None,
    headers: Mapping[str, str] | None = None,
) -> httpx.Client:
    """A client of this server. It uses no proxy to reach this machine, and loads certificates only for https.

    Args:
        base_url: Address as `host_url` writes it.
        allowance: What the answers may use; with `begin` it is the next one's.
        transport: Replaces the network, for tests.
        headers: Sent with each request.

    Raises:
        ModelError: The environment names certificates or a proxy that cannot be used.
    """
    import httpx

    from models.wire.network import bound

    seconds = allowance.bounds.quiet_seconds
    try:
        made = httpx.Client(
            base_url=base_url,
            timeout=httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
            transport=transport,
            headers={**(headers or {}), "Accept-Encoding": "identity"},
            event_hooks={"response": [_plain]},
            trust_env=not is_loopback(base_url),
            verify=httpx.create_ssl_context() if base_url.startswith("https:") else no_tls(),
        )
    except OSError as error:
        raise ModelError(f"the trusted certificates cannot be read: {error}", CERTIFICATES) from error
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        raise ModelError(f"the proxy in the environment cannot be used: {error}", NO_PROXY) from error
    bound(made, allowance)
    allowance.again()  # what it took to load the client is no silence of the server
    return made


@cache
def no_tls() -> ssl.SSLContext:
    """For an address without TLS, which takes a context all the same; to make one takes as long as a short request."""
    import httpx

    return httpx.create_ssl_context(verify=False)


def _plain(response: httpx.Response) -> None:
    """Refuse what is packed: a few bytes may unpack to any number of them."""
    packed = response.headers.get("content-encoding", "").strip().lower()
    if packed not in ("", "identity"):
        what = f"the server packs its answer ({_one_line(packed)[:40]}), though it was asked not to"
        raise ModelError(what, "switch compression off in the server, or in what stands before it")


def lines(chunks: Iterable[bytes], *, blanks: bool = False) -> Iterator[bytes]:
    """The lines of a stream, however it is cut into chunks; blank lines only with `blanks`.

    Only a line feed ends a line: httpx's own splitter also cuts at characters that JSON text may have unescaped,
    such as U+0085. Raises ModelError for a line of more than 4 MB, and for a connection that is lost after the first
    line, when the reply has begun.
    """
    import httpx

    rest: list[bytes] = []  # joined once: a long line may come in many small pieces
    begun, length = False, 0
    try:
        for chunk in chunks:
            first, *more = chunk.split(b"\n")
            rest.append(first)
            length = len(more[-1]) if more else length + len(first)
            if length > LINE_BYTES:
                raise ModelError("the server sends a line without an end", WHERE)
            if more:
                whole = [b"".join(rest), *more]
                rest = [whole.pop()]
                for line in whole if blanks else filter(bytes.strip, whole):
                    begun = True
                    yield line
    except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
        raise (stopped() if begun else lost()) from error
    if last := b"".join(rest).strip():
        yield last


def whole(response: httpx.Response, allowance: Allowance) -> bytes:
    """The whole body of a response, of at most 16 MB; each piece is progress. Raises ModelError."""
    body = bytearray()
    for piece in response.iter_bytes():
        body += piece
        if len(body) > ANSWER_BYTES:
            raise endless()
        allowance.grow(len(body))
    return bytes(body)


def alive(pieces: Iterable[Piece], allowance: Allowance) -> Iterator[Piece]:
    """The pieces of a reply, as long as `allowance.said` grows. Comments and empty pieces do not count as growth.

    The time that our side takes for a piece is no silence of the server.

    Raises:
        ModelError: The reply has not grown for too long, or is longer than a million characters.
    """
    for piece in pieces:
        yield piece
        if allowance.said > REPLY_CHARACTERS:
            raise endless()
        allowance.grow(allowance.said)


def figure(value: object) -> int | None:
    """A figure that a server reports, such as a count of tokens; None if the value cannot be one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_FIGURE else None


def reason(body: str) -> str:
    """The message in the body of an error, as one line of at most 300 characters."""
    text = body.strip()
    try:
        error = foreign.read(text)
    except ValueError:
        error = "a web page" if text.startswith("<") else text
    for key in ("error", "message", "detail"):  # {"error": "..."}, {"error": {"message": "..."}}, {"detail": "..."}
        if isinstance(error, dict) and key in error:
            error = error[key]
    return _one_line(str(error)) or "no reason given"


def moved(base_url: str, location: str) -> ModelError:
    """The error for a redirect, which is not followed: questions go only to the address that the user gave."""
    what = f"the server at {base_url} sends requests on to {_one_line(location) or 'another address'}"
    return ModelError(what, f"{WHERE}, with http:// or https:// and the path before /api or /v1")


def stopped() -> ModelError:
    """The error for a stream that ends too early."""
    return ModelError("the server stopped in the middle of a reply", "ask again; its log may say why it stopped")


def lost() -> Busy:
    """The error for a connection that is lost before a reply has begun, so that the request may be repeated."""
    what, fix = "the server closed the connection without a reply", "ask again; its log may say why"
    return Busy(what, fix, state="the connection was lost")


@contextmanager
def as_model_errors(base_url: str, seconds: float, start: str) -> Iterator[None]:
    """Raise a ModelError for each error of httpx; `start` says how to start such a server.

    A lost connection becomes Busy: `lines` has its own error for a reply that has begun.
    """
    import httpx

    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise _unreachable(base_url, str(error) or "timed out", start) from error
    except httpx.ProxyError as error:
        raise ModelError(f"the proxy before {base_url} refuses: {_one_line(str(error))}", NO_PROXY) from error
    except httpx.TimeoutException as error:
        raise silent(base_url, seconds) from error
    except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
        raise lost() from error
    except httpx.HTTPError as error:
        raise stopped() from error


def _unreachable(base_url: str, why: str, start: str) -> ModelError:
    """The error for a connection that cannot be made."""
    if "CERTIFICATE_VERIFY_FAILED" in why:
        why = why.partition("verify failed: ")[2].partition(" (_ssl")[0] or "it cannot be verified"
        return ModelError(f"the certificate of {base_url} is not trusted: {_one_line(why)}", CERTIFICATES)
    if "ssl" in why.lower():  # a handshake that takes too long names only _ssl.c
        what = f"no secure connection to {base_url}: {_one_line(why)}"
        return ModelError(what, f"{WHERE}: does it begin with http:// rather than https://?")
    why = _one_line(_ERRNO.sub("", why))
    if _has_proxy(base_url):
        return ModelError(f"nothing answers at {base_url}, or the proxy before it does not ({why})", NO_PROXY)
    return ModelError(f"nothing answers at {base_url} ({why})", start)


def _has_proxy(base_url: str) -> bool:
    """Whether the environment names a proxy for this server."""
    from urllib.request import getproxies, proxy_bypass

    url = urlsplit(base_url)
    meant = {url.scheme, "all"} & getproxies().keys()
    return bool(meant) and not is_loopback(base_url) and not proxy_bypass(url.hostname or "")


def _one_line(text: str) -> str:
    line = " ".join(text.split()).encode(errors="replace").decode()  # JSON can spell half a character
    return line if len(line) <= TOLD_CHARACTERS else line[: TOLD_CHARACTERS - 1] + "…"
