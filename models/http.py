"""HTTP as every model server is spoken to: connections, lines of a stream, and failures said plainly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent.errors import ModelError
from models.address import is_loopback

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 10.0
WHERE = "check the address: --base-url"
TOLD_CHARACTERS = 300


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
    """
    import httpx

    return httpx.Client(
        base_url=base_url,
        timeout=httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
        transport=transport,
        headers=dict(headers or {}),
        trust_env=not is_loopback(base_url),
        verify=base_url.startswith("https:"),
    )


def lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a stream, wherever its chunks end.

    Only a line feed ends a line: httpx's own splitter also cuts at characters that JSON text may hold unescaped,
    such as U+0085.
    """
    rest: list[bytes] = []  # joined once: a long line may come in many small pieces
    for chunk in chunks:
        first, *more = chunk.split(b"\n")
        rest.append(first)
        if more:
            whole = [b"".join(rest), *more]
            rest = [whole.pop()]
            yield from filter(bytes.strip, whole)
    if last := b"".join(rest).strip():
        yield last


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
    line = " ".join(str(error).split()) or "no reason given"
    return line if len(line) <= TOLD_CHARACTERS else line[: TOLD_CHARACTERS - 1] + "…"


def stopped() -> ModelError:
    """The error for a stream that ends too early."""
    return ModelError("the server stopped in the middle of a reply", "ask again; its log may say why it stopped")


@contextmanager
def said_plainly(base_url: str, seconds: float, start: str) -> Iterator[None]:
    """Turn what httpx raises into ModelErrors; `start` says how to start such a server."""
    import httpx

    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise ModelError(f"nothing answers at {base_url} ({str(error) or 'timed out'})", start) from error
    except httpx.TimeoutException as error:
        what = f"nothing came from {base_url} for {seconds:g} seconds"
        raise ModelError(what, "the model may still be loading: ask again, or choose a smaller one") from error
    except httpx.HTTPError as error:
        raise stopped() from error
