"""Answers of a model server over HTTP: the lines of a stream, bodies, and the errors that users see."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from thimble.agent import background, foreign
from thimble.agent.errors import ModelError
from thimble.models.wire import api_key
from thimble.models.wire.bounds import LINE_BYTES, TOLD_CHARACTERS, Allowance, silence_error
from thimble.models.wire.retry import Busy

if TYPE_CHECKING:
    import httpx

WHERE = "check the address: --base-url"
LOWER_THE_BUDGET = "lower the budget (/budget N, --budget N)"
CERTIFICATES = "name a file of certificates to trust: SSL_CERT_FILE=FILE"
NO_PROXY = "name hosts to reach without it in NO_PROXY, or unset HTTP_PROXY, HTTPS_PROXY, ALL_PROXY"
MAX_FIGURE = 2**53
"""Readers of JSON that use floats cannot tell larger whole numbers apart."""
WORD_CHARACTERS = 40
FINISH = {
    **dict.fromkeys(
        ["stop", "tool_calls", "function_call", "tool_use", "eos", "eos_token", "stop_sequence", "end_turn"], "stop"
    ),
    **dict.fromkeys(["length", "max_tokens", "max_output_tokens", "model_length"], "length"),
    **dict.fromkeys(["refusal", "content_filter", "safety"], "refusal"),
}
"""The finish reasons of servers: the reply is complete, was too long, or was declined."""
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")


def refuse_detours(response: httpx.Response, url: str) -> None:
    """Refuse redirects, and compressed bodies: a few bytes may unpack to any number of them."""
    if response.is_redirect:
        raise redirect_error(url, api_key.hide_key(response.headers.get("location", "")))
    packed = response.headers.get("content-encoding", "").strip().lower()
    if packed not in ("", "identity"):
        what = f"the server compresses its answer ({_one_line(packed)[:40]}), though it was asked not to"
        raise ModelError(what, "switch compression off in the server, or in the proxy in front of it")


def read_stream_lines(response: httpx.Response, allowance: Allowance) -> Iterator[bytes]:
    """The lines of a stream, blank ones too, however it is cut into pieces.

    LF, CR or both end a line: httpx's own splitter also cuts at characters that JSON text may have unescaped, such as
    U+0085. A byte order mark at the beginning is left out. Raises ModelError for a line of more than 4 MB, and for a
    connection that is lost after the first line, when the reply has begun.
    """
    import httpx

    rest: list[bytes] = []  # joined once: a long line may come in many small pieces
    begun, after_cr, length = False, False, 0
    try:
        for received in response.iter_bytes():
            allowance.spend(len(received))
            piece = received.removeprefix(b"\n") if after_cr else received
            after_cr = received.endswith(b"\r")
            first, *more = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
            rest.append(first)
            length = len(more[-1]) if more else length + len(first)
            if length > LINE_BYTES:
                raise ModelError("the server sent a line of more than 4 MB", WHERE)
            if more:
                whole = [b"".join(rest), *more]
                rest = [whole.pop()]
                for line in whole:
                    line = line if begun else line.removeprefix(BOM_UTF8)
                    begun = begun or bool(line.strip())
                    yield line
    except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
        raise _connection_lost(allowance, begun) from error
    _check(allowance)
    if last := b"".join(rest).strip():
        yield last if begun else last.removeprefix(BOM_UTF8)


def read_body(response: httpx.Response, allowance: Allowance) -> bytes:
    """The whole body of a response. Raises ModelError."""
    body = bytearray()
    for piece in response.iter_bytes():
        allowance.spend(len(piece))
        body += piece
    _check(allowance)
    return bytes(body)


def _check(allowance: Allowance) -> None:
    """Raise Halted or ModelError if it was we who ended the connection."""
    background.raise_if_halted()
    allowance.spend(0)


def read_count(value: object) -> int | None:
    """A figure that a server reports, such as a count of tokens; None if the value cannot be one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_FIGURE else None


def finish_reason(reported: object) -> str:
    """Why a reply ended: "stop", "length" or "refusal" as servers spell them; else the server's word, or ""."""
    word = _one_line(reported)[:WORD_CHARACTERS] if isinstance(reported, str) else ""
    return FINISH.get(word.lower(), word)


def error_reason(body: str) -> str:
    """The message in the body of an error, as one line of at most 300 characters."""
    text = body.strip()
    try:
        error = foreign.parse_json(text)
    except ValueError:
        error = "a web page" if text.startswith("<") else text
    for key in ("error", "message", "detail"):  # {"error": "..."}, {"error": {"message": "..."}}, {"detail": "..."}
        if isinstance(error, dict) and key in error:
            error = error[key]
    return _one_line(str(error)) or "no reason given"


def beginning(answer: bytes) -> str:
    """The beginning of an answer that a server of this kind would not send, or a word for it; without the key."""
    text = api_key.hide_key(answer.strip().decode(errors="replace"))[:60]
    return "a web page" if text.startswith("<") else repr(text) if text else "nothing"


def redirect_error(base_url: str, location: str) -> ModelError:
    """The error for a redirect, which is not followed: questions go only to the address that the user gave."""
    what = f"the server at {base_url} redirects requests to {_one_line(location) or 'another address'}"
    return ModelError(what, f"{WHERE}, with http:// or https:// and the path before /api or /v1")


def stopped_error() -> ModelError:
    """The error for a stream that ends too early."""
    return ModelError("the server stopped in the middle of a reply", "ask again; its log may say why it stopped")


def _connection_lost(allowance: Allowance, begun: bool = False) -> ModelError:
    """The error for a connection that the server lost; before a reply has begun it may be asked again.

    Raises Halted or ModelError if it was we who ended it.
    """
    _check(allowance)
    what, fix = "the server closed the connection without a reply", "ask again; its log may say why"
    return stopped_error() if begun else Busy(what, fix, state="the connection was lost")


@contextmanager
def as_model_errors(base_url: str, allowance: Allowance, start: str) -> Iterator[None]:
    """Raise a ModelError for each error of httpx; `start` says how to start such a server."""
    import httpx

    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise _unreachable_error(base_url, str(error) or "timed out", start) from error
    except httpx.ProxyError as error:
        raise ModelError(f"the proxy in front of {base_url} refuses: {_one_line(str(error))}", NO_PROXY) from error
    except httpx.TimeoutException as error:
        raise silence_error(base_url, allowance.bounds.quiet_seconds) from error
    except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
        raise _connection_lost(allowance) from error
    except httpx.HTTPError as error:
        raise stopped_error() from error


def _unreachable_error(base_url: str, why: str, start: str) -> ModelError:
    """The error for a connection that cannot be made."""
    if "CERTIFICATE_VERIFY_FAILED" in why:
        why = why.partition("verify failed: ")[2].partition(" (_ssl")[0] or "it cannot be verified"
        return ModelError(f"the certificate of {base_url} is not trusted: {_one_line(why)}", CERTIFICATES)
    if "ssl" in why.lower():  # a handshake that takes too long names only _ssl.c
        what = f"no secure connection to {base_url}: {_one_line(why)}"
        return ModelError(what, f"{WHERE}: should it start with http:// instead of https://?")
    return ModelError(f"nothing answers at {base_url} ({_one_line(_ERRNO.sub('', why))})", start)


def _one_line(text: str) -> str:
    line = " ".join(text.split()).encode(errors="replace").decode()  # JSON can spell half a character
    return line if len(line) <= TOLD_CHARACTERS else line[: TOLD_CHARACTERS - 1] + "…"
