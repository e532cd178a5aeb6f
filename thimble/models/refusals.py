"""Errors for requests that a model server refuses: known refusals by pattern, others in the server's own words."""

from __future__ import annotations

import re

from thimble.agent.errors import ModelError
from thimble.models.server import DEFAULT_MODEL, CallUnreadable, OptionRefused, TooLong, ToolsRefused
from thimble.models.wire.http import LOWER_THE_BUDGET
from thimble.models.wire.retry import Busy

WITH_TOOLS = (
    "vllm serve … --enable-auto-tool-choice --tool-call-parser NAME (hermes for Qwen2.5), llama-server … --jinja"
)
WITH_EMBEDDINGS = "start it for them: vllm serve … --runner pooling, llama-server … --embeddings --pooling mean"

REFUSALS: tuple[tuple[str, type[ModelError], str, str], ...] = (
    (
        r"tools? (choice |param )?requires?\b|tools?\b.{0,40}\bnot (currently )?support|--jinja|\bparam: tools"
        r"|not support.{0,30}\b(tool|function)",
        ToolsRefused,
        "{model} cannot call tools on this server: {error}",
        f"choose a model that can (--model {DEFAULT_MODEL}), or start the server with tools: {WITH_TOOLS}",
    ),
    (
        r"tool.call (arguments|parsing)|parsing tool call|failed to parse (input|json)",
        CallUnreadable,
        "the server cannot read the call that {model} wrote: {error}",
        f"ask again, choose a larger model (--model {DEFAULT_MODEL}), or let it write objects: --calls schema",
    ),
    (
        r"context (length|size|window|limit)|max_model_len|maximum (context|model|prompt|input)"
        r"|(prompt|input|request|messages?)\b.{0,40}\b(too (long|large|many)|exceed)|too many (input )?tokens",
        TooLong,
        "the prompt and its reply are longer than the model's context: {error}",
        f"{LOWER_THE_BUDGET}, or give the model a longer context",
    ),
    (
        r"temperature|'seed'",
        OptionRefused,
        "the server does not take --temperature or --seed for {model}: {error}",
        "leave it to the server: --temperature auto --seed auto",
    ),
    (
        r"response_format|json_schema|grammar|\.format\b|invalid format",
        OptionRefused,
        "the server does not enforce a JSON schema for {model}: {error}",
        "update the server, or let it call tools in its own way: --calls tools",
    ),
    (
        r"\bthink|enable_thinking|reasoning_effort|chat_template_kwargs",
        ModelError,
        "the server does not take --think for {model}: {error}",
        "let the model think in its own way (--think on), or not at all (--think off)",
    ),
    (
        r"not support embedding|pooling type",
        ModelError,
        "{model} makes no embeddings on this server: {error}",
        "choose a model that does: ollama pull all-minilm, then --embeddings ollama:all-minilm; "
        f"or for another server, {WITH_EMBEDDINGS}",
    ),
    (
        r"system memory|out of memory|cuda error",
        ModelError,
        "the server has too little memory: {error}",
        "choose a smaller model or budget, or free memory on the server's machine",
    ),
)
"""Patterns of servers' error messages, each with the class, the text and the fix of our error. The first match wins."""


def refusal(status: int, error: str, model: str, after_seconds: float | None = None) -> ModelError:
    """The error for a refused request of a model.

    Args:
        status: The HTTP status; 200 in the middle of a stream.
        error: The server's own words, as one line without the key.
        model: The model of the request.
        after_seconds: The pause that the server asks for.
    """
    if status == 503 and re.search(r"\bloading\b", error, re.IGNORECASE):
        return Busy("the server is still loading the model", "ask again in a moment", state="the model is loading")
    if status in (429, 503):
        when = f"in {after_seconds:.0f} seconds" if after_seconds else "in a moment"
        return Busy(f"the server is busy ({status}): {error}", f"ask again {when}", after_seconds=after_seconds)
    for pattern, kind, what, fix in REFUSALS:
        if re.search(pattern, error, re.IGNORECASE):
            return kind(what.format(model=model, error=error), fix)
    if status == 200:
        return ModelError(f"the server aborted its reply: {error}", "ask again; its log says more")
    what = f"the server answered with status {status}: {error}"
    return ModelError(what, "check the address, the model and the settings of the session; the server's log says more")
