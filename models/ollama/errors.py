"""What can go wrong with a server, said in one line with the way to mend it in another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from agent.errors import ModelError

DEFAULT_MODEL = "qwen2.5:7b"

_OVERFLOW = (
    r"exceed\w*\b.*\bcontext|context\b.*\bexceed|(prompt|input)\b.*\b(too (long|large)|exceed)"
    r"|longer than the context|context limit|num_ctx"
)
_LOWER = "lower the budget (/budget N, --budget N)"
_REASONS = (
    (r"not support tools", "{model} cannot call tools", f"choose a model that can: --model {DEFAULT_MODEL}"),
    (r"not support thinking", "{model} cannot think aloud", f"choose another model: --model {DEFAULT_MODEL}"),
    (
        _OVERFLOW,
        "the prompt is longer than the model's context: {error}",
        f"{_LOWER}, or take a strategy that keeps to it",
    ),
    (r"system memory|out of memory|cudamalloc", "{error}", "choose a smaller model, or stop what fills the memory"),
)


def refusal(status: int, body: str, model: str) -> ModelError:
    """The error for what a server refused: its HTTP status, 200 in the middle of a stream, and its words."""
    error = _words(body)
    if status == 404 and re.search(r"\bmodel\b", error, re.IGNORECASE):
        return ModelError(f"the model {model!r} is not installed", f"ollama pull {model}")
    if status == 503:
        return ModelError(f"the server is busy: {error}", "ask again in a moment")
    for pattern, what, fix in _REASONS:
        if re.search(pattern, error, re.IGNORECASE):
            return ModelError(what.format(model=model, error=error), fix)
    if status == 200:
        return ModelError(f"the server broke off its reply: {error}", "ask again; its log says more")
    return ModelError(f"the server answered with status {status}: {error}", "check the address and the server's log")


def unreadable(line: bytes) -> ModelError:
    """The error for a reply that is not Ollama's."""
    start = line.strip()[:60].decode(errors="replace")
    what = "a web page" if start.startswith("<") else repr(start)
    return ModelError(f"the server does not speak Ollama's language: it answered {what}", _WHERE)


def stopped() -> ModelError:
    """The error for a stream that ends too early."""
    return ModelError("the server stopped in the middle of a reply", "ask again; its log may say why it stopped")


@contextmanager
def said_plainly(base_url: str, seconds: float) -> Iterator[None]:
    """Turn what httpx raises into ModelErrors."""
    import httpx

    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise ModelError(f"nothing answers at {base_url} ({str(error) or 'timed out'})", START) from error
    except httpx.TimeoutException as error:
        what = f"nothing came from {base_url} for {seconds:g} seconds"
        raise ModelError(what, "the model may still be loading: ask again, or choose a smaller one") from error
    except httpx.HTTPError as error:
        raise stopped() from error


_WHERE = "check the address: --base-url, OLLAMA_HOST"
START = f"start it: ollama serve, or {_WHERE}"


def _words(body: str) -> str:
    """The message in an error's body, as one line of at most 300 characters."""
    text = body.strip()
    try:
        error = json.loads(text)
    except (ValueError, RecursionError):
        error = "a web page" if text.startswith("<") else text
    for key in ("error", "message"):  # {"error": "..."}, or {"error": {"message": "..."}} from the runner below
        if isinstance(error, dict) and key in error:
            error = error[key]
    line = " ".join(str(error).split()) or "no reason given"
    return line if len(line) <= 300 else line[:299] + "…"
