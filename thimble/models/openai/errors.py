"""Errors for the refusals of an OpenAI-compatible server: one line says what is wrong, one how to mend it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from thimble.agent.errors import ModelError
from thimble.models.server import CallUnreadable, NoModel, OptionRefused, TooLong, ToolsRefused, named
from thimble.models.wire import api_key, http
from thimble.models.wire.http import Refusal, recognised
from thimble.models.wire.retry import Busy, after_seconds

CHAT = "/v1/chat/completions"
ADDRESS = f"{http.WHERE}, OPENAI_BASE_URL: what comes before /v1"
START = f"start it (vllm serve MODEL, llama-server -m FILE --jinja), or {http.WHERE}, OPENAI_BASE_URL"
WITH_TOOLS = (
    "vllm serve … --enable-auto-tool-choice --tool-call-parser NAME (hermes for Qwen2.5), llama-server … --jinja"
)
WITH_EMBEDDINGS = "start it for them: vllm serve … --runner pooling, llama-server … --embeddings --pooling mean"

REFUSALS = (
    Refusal(
        (
            '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
            "tools param requires --jinja flag",
            "Unsupported param: tools",
            "Tools are not supported for this model",
            "This model does not support tools",
            "registry/phi does not support function calling",
            "tool calling is not supported by this chat template",
        ),
        r'"auto" tool choice requires|tools? (param )?requires?\b|tool.{0,40}\bnot (currently )?support|--jinja'
        r"|not support.{0,30}\b(tool|function)|enable-auto-tool-choice|unsupported param: tools",
        "the server takes no tools for {model}: {error}",
        f"start it with them: {WITH_TOOLS}",
        ToolsRefused,
    ),
    Refusal(
        (
            "Failed to parse input at pos 37: <tool_call> <function=read_file",
            "Failed to parse tool call arguments as JSON: parse error at line 1, column 9",
            "tool call parsing failed",
        ),
        r"failed to parse (input|tool call)|tool.call parsing",
        "the server cannot read the call that {model} wrote: {error}",
        "ask again, or let it write objects of a schema: --calls schema",
        CallUnreadable,
    ),
    Refusal(
        (
            "This model's maximum context length is 8192 tokens. However, your prompt contains at least 8193 input "
            "tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input "
            "prompt.",
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the "
            "messages, 1000 in the completion). Please reduce the length of the messages or completion.",
            "max_tokens=9000 cannot be greater than max_model_len=8192. Please request fewer output tokens.",
            "the request exceeds the available context size, try increasing it",
            "request (9020 tokens) exceeds the available context size (8192 tokens), try increasing it",
            "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
            "prompt is too long: 9000 tokens > 8192 maximum",
            "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with "
            "context length of only 4096 tokens, which is not enough.",
            "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
            "Request Entity Too Large",
        ),
        r"context (length|size|window|limit)|exceed_context|max_model_len|maximum (context|model|prompt|input)"
        r"|(prompt|input|request|messages?)\b.{0,40}\b(too (long|large|many)|exceed)|too many (input )?tokens",
        "the prompt and its reply are longer than the model's context: {error}",
        http.LOWER + ", or give the server more",
        TooLong,
    ),
    Refusal(
        (
            "This server does not support embeddings. Start it with `--embeddings`",
            "The model does not support Embeddings API",
            "Pooling type 'none' is not OAI compatible. Please use a different pooling type",
        ),
        r"not support embedding|pooling type",
        "{model} makes no embeddings on this server: {error}",
        WITH_EMBEDDINGS,
    ),
    Refusal(
        (
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is "
            "supported.",
            "Unsupported parameter: 'temperature' is not supported with this model.",
            "Unsupported parameter: 'seed'",
        ),
        r"temperature|'seed'",
        "the server does not take --temperature or --seed for this model: {error}",
        "leave it to the server: --temperature auto --seed auto",
        OptionRefused,
    ),
    Refusal(
        (
            "response_format is not supported with this model.",
            "Failed to parse grammar",
            "'response_format.type' must be 'json_schema' or 'text'",
        ),
        r"response_format|json_schema|grammar",
        "the server does not enforce a JSON schema for this model: {error}",
        "let it call tools in the server's own way: --calls tools",
        OptionRefused,
    ),
    Refusal(
        ("Unsupported parameter: 'reasoning_effort'", "chat_template_kwargs is not allowed"),
        r"reasoning_effort|enable_thinking|chat_template_kwargs",
        "the server does not take --think for this model: {error}",
        "leave it to the model: --think on",
    ),
    Refusal(
        (
            "Conversation roles must alternate user/assistant",
            "This model only supports single tool-calls at once!",
            "As of transformers v4.44, default chat template is no longer allowed",
        ),
        r"roles? must|role (is )?not supported|(?<!by this )chat.?template(?!_)|(?<!-)jinja|single tool-calls",
        "the model's chat template refuses this conversation: {error}",
        "choose another model (--model NAME), or give the server another --chat-template",
    ),
    Refusal(
        ("CUDA out of memory. Tried to allocate 2 GiB", "CUDA error: an illegal memory access was encountered"),
        r"out of memory|cuda error",
        "{error}",
        "choose a smaller model, or start the server with less context (--max-model-len, -c)",
    ),
)
"""The refusals of vLLM, llama-server, LM Studio and SGLang. The first row that matches counts."""


def refusal(
    status: int, body: str, model: str, url: str, headers: Mapping[str, str] | None = None, route: str = CHAT
) -> ModelError:
    """The error for a refused request.

    Args:
        status: HTTP status of the response; 200 in the middle of a stream.
        body: Body of the response.
        model: The model of the request.
        url: Address of the server.
        headers: Headers of the response.
        route: The path of the request.
    """
    error = http.reason(api_key.hidden(body))
    if status in (401, 403):
        return _locked(status, error, url)
    if status == 404 or (status == 400 and re.search(r"\bmodel\b.{0,80}\b(not exist|not found)", error, re.I)):
        return _absent(error, body, model, url, route)
    if status in (429, 503):
        return _busy(status, error, headers or {})
    if status in (400, 413, 422, 500, 501, 200) and (found := recognised(REFUSALS, error, model)):
        return found
    if status == 200:
        return ModelError(f"the server aborted its reply: {error}", "ask again; its log says more")
    if status >= 500:
        return ModelError(f"the server failed with status {status}: {error}", "ask again; its log says more")
    return ModelError(f"the server answered with status {status}: {error}", "check the address and the server's log")


def missing(model: str, names: Sequence[str]) -> NoModel:
    """The error for a model that the server does not have."""
    fix = f"choose one that it has: {named(names)}" if names else "start the server with it, or leave --model out"
    return NoModel(f"the server has no model {model!r}", fix)


def unreadable(start: bytes, url: str) -> ModelError:
    """The error for a reply that is no chat completion; `start` is the beginning of the reply."""
    what = f"the server at {url} does not speak chat completions: it answered {http.beginning(start)}"
    return ModelError(what, ADDRESS)


def _locked(status: int, error: str, url: str) -> ModelError:
    name = api_key.origin()
    if not name:
        return ModelError(f"the server at {url} requires a key ({status})", f"set {api_key.VARIABLES[0]} to it")
    if not api_key.is_private(url):
        what = f"the server at {url} requires a key, and the one in {name} is not sent unencrypted to another machine"
        return ModelError(what, "take its https:// address, or a tunnel to this machine (ssh -L)")
    return ModelError(f"the server at {url} does not take the key in {name} ({status}: {error})", f"set {name} anew")


def _absent(error: str, body: str, model: str, url: str, route: str) -> ModelError:
    if re.search(r"\bmodel\b", error, re.I) and not body.lstrip().startswith("<"):
        return missing(model, ())
    fix = f"{WITH_EMBEDDINGS}; or {ADDRESS}" if route.endswith("/embeddings") else ADDRESS
    return ModelError(f"the server at {url} has no {route}: {error}", fix)


def _busy(status: int, error: str, headers: Mapping[str, str]) -> Busy:
    if status == 503 and re.search(r"\bloading\b", error, re.I):
        return Busy("the server is still loading the model", "ask again in a moment", state="the model is loading")
    pause = after_seconds(headers)
    when = f"in {pause:.0f} seconds" if pause else "in a moment"
    return Busy(f"the server is busy ({status}): {error}", f"ask again {when}", after_seconds=pause)
