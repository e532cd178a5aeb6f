"""HTTP as every model server is spoken to: connections, lines of a stream, and failures said plainly."""

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
"""Longest wait for an answer that is no reply of a model."""
WHERE = "check the address: --base-url"
LOWER = "lower the budget (/budget N, --budget N)"
CERTIFICATES = "name a file of certificates to trust: SSL_CERT_FILE=FILE"
NO_PROXY = "name hosts to reach without it in NO_PROXY, or unset HTTP_PROXY, HTTPS_PROXY, ALL_PROXY"
TOLD_CHARACTERS = 300
LONGEST = 16_000_000
"""Bytes of a line or an answer, characters of a reply: what is longer has no end."""
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
    """A client of this server: to this machine never through a proxy, and without certificates where none are used.

    Args:
        base_url: Address as `host_url` writes it.
        seconds: Longest wait for the next piece of a reply.
        transport: Carries the requests instead of the network.
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
    """The lines of a stream, wherever its chunks end; without those that are blank, unless `blanks` are wanted.

    Only a line feed ends a line: httpx's own splitter also cuts at characters that JSON text may hold unescaped,
    such as U+0085. A connection that is lost after the first line raises ModelError: the reply had begun. So does a
    line of more than 16 MB.
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
    """All that a response holds; of one without an end, the first 16 MB."""
    body = bytearray()
    for piece in response.iter_bytes():
        body += piece
        if len(body) > LONGEST:
            break
    return bytes(body)


def alive(pieces: Iterable[Piece], said: Callable[[], int], base_url: str, seconds: float) -> Iterator[Piece]:
    """The pieces of a reply, as long as it grows: comments and empty pieces keep a connection alive, not a reply.

    `said` tells how much there is of it by now, in characters or deltas.

    Raises:
        ModelError: It has not grown for so many seconds, or is longer than 16 million.
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
    """A figure that a server reports, such as a count of tokens; None where it is none that a server can mean."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_FIGURE else None


def reason(body: str) -> str:
    """What the body of an error says, as one line of at most 300 characters."""
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
    """The error for a server that answers with a redirect: no question is sent where the user did not point."""
    what = f"the server at {base_url} sends requests on to {_one_line(location) or 'another address'}"
    return ModelError(what, f"{WHERE}, with http:// or https:// and the path before /api or /v1")


def stopped() -> ModelError:
    """The error for a stream that ends too early."""
    return ModelError("the server stopped in the middle of a reply", "ask again; its log may say why it stopped")


def silent(base_url: str, seconds: float) -> ModelError:
    """The error for a server that sends nothing."""
    what = f"nothing came from {base_url} for {seconds:g} seconds"
    return ModelError(what, "the model may still be loading: ask again, or choose a smaller one")


def lost() -> Busy:
    """The error for a connection that is lost before a reply has begun: it may be asked for again."""
    what, fix = "the server closed the connection without a reply", "ask again; its log may say why"
    return Busy(what, fix, state="the connection was lost")


@contextmanager
def as_model_errors(base_url: str, seconds: float, start: str) -> Iterator[None]:
    """Turn what httpx raises into ModelErrors; `start` says how to start such a server.

    A connection that is lost is a Busy, since what has begun is read by `lines`, which says otherwise.
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
    """Whether the environment puts a proxy before this server."""
    from urllib.request import getproxies, proxy_bypass

    url = urlsplit(base_url)
    meant = {url.scheme, "all"} & getproxies().keys()
    return bool(meant) and not is_loopback(base_url) and not proxy_bypass(url.hostname or "")


def _one_line(text: str) -> str:
    line = " ".join(text.split()).encode(errors="replace").decode()  # JSON can spell half a character
    return line if len(line) <= TOLD_CHARACTERS else line[: TOLD_CHARACTERS - 1] + "…"
