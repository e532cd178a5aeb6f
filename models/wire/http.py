"""HTTP for every model server: connections, the lines of a stream, and the errors that users see."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from agent.errors import ModelError
from models.wire.address import is_loopback
from models.wire.retry import Busy

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 5.0
ASK_SECONDS = 10.0
"""Longest wait for an answer other than a model's reply."""
WHERE = "check the address: --base-url"
LOWER = "lower the budget (/budget N, --budget N)"
CERTIFICATES = "name a file of certificates to trust: SSL_CERT_FILE=FILE"
NO_PROXY = "name hosts to reach without it in NO_PROXY, or unset HTTP_PROXY, HTTPS_PROXY, ALL_PROXY"
TOLD_CHARACTERS = 300
LONGEST = 16_000_000
"""Bytes of a line or an answer, characters of a reply: anything longer counts as endless."""
LARGEST_FIGURE = 2**53
"""Readers of JSON that use floats cannot tell larger whole numbers apart."""
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")

Piece = TypeVar("Piece")


def client(
    base_url: str,
    seconds: float,
    transport: httpx.BaseTransport | None = None,
    headers: Mapping[str, str] | None = None,
) -> httpx.Client:
    """A client of this server. It uses no proxy to reach this machine, and loads certificates only for https.

    Args:
        base_url: Address as `host_url` writes it.
        seconds: Longest wait for the next piece of a reply.
        transport: Replaces the network, for tests.
        headers: Sent with each request.

    Raises:
        ModelError: The environment names certificates or a proxy that cannot be used.
    """
    import httpx

    try:
        return httpx.Client(
            base_url=base_url,
            timeout=httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
            transport=transport,
            headers=dict(headers or {}),
            trust_env=not is_loopback(base_url),
            verify=httpx.create_ssl_context() if base_url.startswith("https:") else False,
        )
    except OSError as error:
        raise ModelError(f"the trusted certificates cannot be read: {error}", CERTIFICATES) from error
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        raise ModelError(f"the proxy in the environment cannot be used: {error}", NO_PROXY) from error


def lines(chunks: Iterable[bytes], *, blanks: bool = False) -> Iterator[bytes]:
    """The lines of a stream, however it is cut into chunks; blank lines only with `blanks`.

    Only a line feed ends a line: httpx's own splitter also cuts at characters that JSON text may have unescaped,
    such as U+0085. Raises ModelError for a line of more than 16 MB, and for a connection that is lost after the first
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
            if length > LONGEST:
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


def whole(response: httpx.Response) -> bytes:
    """The whole body of a response; the first 16 MB of an endless one."""
    body = bytearray()
    for piece in response.iter_bytes():
        body += piece
        if len(body) > LONGEST:
            break
    return bytes(body)


def alive(pieces: Iterable[Piece], said: Callable[[], int], base_url: str, seconds: float) -> Iterator[Piece]:
    """The pieces of a reply, as long as the reply grows. Comments and empty pieces do not count as growth.

    `said` returns the length of the reply so far, in characters or deltas.

    Raises:
        ModelError: The reply has not grown for `seconds`, or is longer than 16 million.
    """
    last, length = perf_counter(), said()
    for piece in pieces:
        if said() > length:
            last, length = perf_counter(), said()
        elif perf_counter() - last > seconds:
            raise silent(base_url, seconds)
        if length > LONGEST:
            raise ModelError("the server does not end its reply", "ask again, or take another model")
        yield piece


def figure(value: object) -> int | None:
    """A figure that a server reports, such as a count of tokens; None if the value cannot be one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_FIGURE else None


def reason(body: str) -> str:
    """The message in the body of an error, as one line of at most 300 characters."""
    text = body.strip()
    try:
        error = json.loads(text)
    except (ValueError, RecursionError):
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


def silent(base_url: str, seconds: float) -> ModelError:
    """The error for a server that sends nothing."""
    what = f"nothing came from {base_url} for {seconds:g} seconds"
    return ModelError(what, "it may be loading the model or answering others: ask again, or choose a smaller model")


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
