"""What an OpenAI-compatible server refuses, said in one line with the way to mend it in another."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agent.errors import ModelError
from models.openai import api_key
from models.server import ToolsRefused
from models.wire import http
from models.wire.retry import Busy, after_seconds

START = f"start it (vllm serve MODEL, llama-server -m FILE --jinja), or {http.WHERE}, OPENAI_BASE_URL"
WITH_TOOLS = (
    "vllm serve … --enable-auto-tool-choice --tool-call-parser NAME (hermes for Qwen2.5), llama-server … --jinja"
)
NAMES_TOLD = 8

_TOOLS = (
    r'"auto" tool choice requires|tools? (param )?requires?\b|tool.{0,40}\bnot (currently )?support|--jinja'
    r"|not support.{0,30}\b(tool|function)|enable-auto-tool-choice|unsupported param: tools"
)
_LENGTH = (
    r"context (length|size|window|limit)|exceed_context|max_model_len|maximum (context|model|prompt|input)"
    r"|(prompt|input|request|messages?)\b.{0,40}\b(too (long|large|many)|exceed)|too many (input )?tokens"
)
_REASONS = (
    (
        _LENGTH,
        "the prompt and its reply are longer than the model's context: {error}",
        http.LOWER + ", or give the server more",
    ),
    (
        r"reasoning_effort|enable_thinking|chat_template_kwargs",
        "the server does not take --think for this model: {error}",
        "leave it to the model: --think on",
    ),
    (
        r"roles? must|role (is )?not supported|chat.?template|jinja|single tool-calls",
        "the model's chat template refuses this conversation: {error}",
        "choose another model (--model NAME), or give the server another --chat-template",
    ),
    (
        r"out of memory|cuda error",
        "{error}",
        "choose a smaller model, or start the server with less context (--max-model-len, -c)",
    ),
)


class NoModel(ModelError):
    """The server does not have the model."""


def refusal(status: int, body: str, model: str, url: str, headers: Mapping[str, str] | None = None) -> ModelError:
    """The error for what a server refused.

    Args:
        status: Its HTTP status; 200 in the middle of a stream.
        body: Its words.
        model: The model that was asked.
        url: Address of the server.
        headers: Those of the response.
    """
    error = http.reason(api_key.hidden(body))
    if status in (401, 403):
        return _locked(status, error, url)
    if status == 404 or (status == 400 and re.search(r"\bmodel\b.{0,80}\b(not exist|not found)", error, re.I)):
        return _absent(error, body, model, url)
    if 300 <= status < 400:
        return http.moved(url, api_key.hidden((headers or {}).get("location", "")))
    if status in (429, 503):
        return _busy(status, error, headers or {})
    if status in (400, 413, 422, 500, 501, 200):
        if re.search(_TOOLS, error, re.I):
            return ToolsRefused(f"the server takes no tools for {model}: {error}", f"start it with them: {WITH_TOOLS}")
        for pattern, what, fix in _REASONS:
            if re.search(pattern, error, re.I):
                return ModelError(what.format(error=error), fix)
    if status == 200:
        return ModelError(f"the server broke off its reply: {error}", "ask again; its log says more")
    if status >= 500:
        return ModelError(f"the server failed with status {status}: {error}", "ask again; its log says more")
    return ModelError(f"the server answered with status {status}: {error}", "check the address and the server's log")


def missing(model: str, names: Sequence[str]) -> NoModel:
    """The error for a model that the server does not have."""
    told = ", ".join(names[:NAMES_TOLD]) + (f" and {len(names) - NAMES_TOLD} more" if len(names) > NAMES_TOLD else "")
    fix = f"choose one that it has: {told}" if names else "start the server with it, or leave --model out"
    return NoModel(f"the server has no model {model!r}", fix)


def unreadable(start: bytes, url: str) -> ModelError:
    """The error for a reply that is not of this kind; `start` is its beginning."""
    text = api_key.hidden(start.strip().decode(errors="replace"))[:60]
    what = "a web page" if text.startswith("<") else repr(text) if text else "nothing"
    return ModelError(
        f"the server at {url} does not speak chat completions: it answered {what}",
        f"{http.WHERE}, OPENAI_BASE_URL: what comes before /v1",
    )


def _locked(status: int, error: str, url: str) -> ModelError:
    name = api_key.origin()
    if not name:
        return ModelError(f"the server at {url} wants a key ({status})", f"set {api_key.VARIABLES[0]} to it")
    if not api_key.is_private(url):
        what = f"the server at {url} wants a key, and the one in {name} is not sent unencrypted to another machine"
        return ModelError(what, "take its https:// address, or a tunnel to this machine (ssh -L)")
    return ModelError(f"the server at {url} does not take the key in {name} ({status}: {error})", f"set {name} anew")


def _absent(error: str, body: str, model: str, url: str) -> ModelError:
    if re.search(r"\bmodel\b", error, re.I) and not body.lstrip().startswith("<"):
        return missing(model, ())
    what = f"the server at {url} has no /v1/chat/completions: {error}"
    return ModelError(what, f"{http.WHERE}, OPENAI_BASE_URL: what comes before /v1")


def _busy(status: int, error: str, headers: Mapping[str, str]) -> Busy:
    if status == 503 and re.search(r"\bloading\b", error, re.I):
        return Busy("the server is still loading the model", "ask again in a moment", state="the model is loading")
    pause = after_seconds(headers)
    when = f"in {pause:.0f} seconds" if pause else "in a moment"
    return Busy(f"the server is busy ({status}): {error}", f"ask again {when}", after_seconds=pause)
