"""Errors for the refusals of an Ollama server: one line says what is wrong, one how to mend it."""

from __future__ import annotations

import re

from thimble.agent.errors import ModelError
from thimble.models.server import DEFAULT_MODEL, CallUnreadable, OptionRefused, TooLong, ToolsRefused, fitting
from thimble.models.wire.address import hidden
from thimble.models.wire.http import LOWER, WHERE, Refusal, beginning, reason, recognised
from thimble.models.wire.retry import Busy

OLLAMA_START = f"start it: ollama serve, or {WHERE}, OLLAMA_HOST"
OTHER = f"{WHERE}, OLLAMA_HOST; or say what kind of server it is: --backend openai"
KEYLESS = "go round it with a tunnel to this machine (ssh -L)"

CHAT_REFUSALS = (
    Refusal(
        ("registry.ollama.ai/library/phi does not support tools",),
        r"not support tools",
        "{model} cannot call tools",
        f"choose a model that can: --model {DEFAULT_MODEL}",
        ToolsRefused,
    ),
    Refusal(
        ('"qwen2.5:7b" does not support thinking',),
        r"not support thinking",
        "{model} cannot think aloud",
        "let it be: --think off",
    ),
    Refusal(
        ('"nomic-embed-text" does not support chat', '"bge-m3" does not support generate'),
        r"not support (chat|generate)",
        "{model} cannot chat",
        f"choose a model that can: --model {DEFAULT_MODEL}",
    ),
    Refusal(
        ("This server does not support embeddings. Start it with `--embeddings`",),
        r"not support embedding",
        "{model} makes no embeddings",
        "take a model that does: ollama pull all-minilm, then --embeddings ollama:all-minilm",
    ),
    Refusal(
        ('option "num_ctx" must be of type integer', "invalid option provided"),
        r"^option \S+ must be|invalid option",
        "the server does not take an option of the request: {error}",
        "update Ollama, or see its log",
    ),
    Refusal(
        ('time: invalid duration "soon"',),
        r"invalid duration",
        "the server does not know for how long to keep the model: {error}",
        "write it as a number with a unit: THIMBLE_KEEP_ALIVE=10m",
    ),
    Refusal(
        ('invalid think value: "huge" (must be "high", "medium", "low", "max", true, or false)',),
        r"invalid think",
        "{model} does not think in this way: {error}",
        "let it think in its own way: --think on",
    ),
    Refusal(
        (
            "input length exceeds maximum context length",
            "the input length exceeds the context length",
            "the prompt is longer than the context length currently available to the model; shorten the prompt, adjust "
            "the context length in settings, or use a model with a longer context length",
            "prompt is too long: 9000 tokens",
            "prompt too long; exceeded max context length by 5 tokens",
            "context limit hit - shift disabled",
        ),
        r"exceed\w*\b.*\bcontext|context\b.*\bexceed|(prompt|input)\b.*\b(too (long|large)|exceed)"
        r"|longer than the context|context limit",
        "the prompt is longer than the model's context: {error}",
        f"{LOWER}, or take a strategy that keeps to it",
        TooLong,
    ),
    Refusal(
        (
            'llama-server returned invalid tool call arguments for "list_articles": unexpected end of JSON input',
            "error parsing tool call: raw='{\"query\": \"masking\"}]', err=invalid character ']' after top-level value",
            "qwen3 tool call parsing failed: failed to parse JSON: unexpected end of JSON input",
        ),
        r"invalid tool call arguments|parsing tool call|tool call parsing|failed to parse JSON",
        "the server cannot read the call that {model} wrote: its reply was full, or it cannot write the call",
        f"ask again, or choose a larger model: --model {DEFAULT_MODEL}",
        CallUnreadable,
    ),
    Refusal(
        (
            "json: cannot unmarshal object into Go struct field ChatRequest.format of type string",
            'invalid format: "{"; expected "json" or a JSON schema',
        ),
        r"ChatRequest\.format|invalid format|failed to (load|parse) grammar",
        "the server does not enforce a JSON schema for {model}: {error}",
        "update Ollama, or let it call tools in the server's own way: --calls tools",
        OptionRefused,
    ),
    Refusal(
        ("model requires more system memory (9.1 GiB) than 3.0 GiB", "cudaMalloc failed: out of memory"),
        r"system memory|out of memory|cudamalloc",
        "{error}",
        "choose a smaller model or budget, or stop what fills the memory",
    ),
    Refusal(
        ("unauthorized", "you need to be signed in: sign in"),
        r"unauthorized|sign ?in",
        "the server may not use this model: {error}",
        "sign in: ollama signin",
    ),
)
"""The refusals of a chat. The first row that matches counts."""

PULL_REFUSALS = (
    Refusal(
        ("pull model manifest: file does not exist", "invalid model name"),
        r"^(?!.*dial tcp).*(file does not exist|manifest unknown|\bnot found\b|invalid model name)",
        "there is no model {model!r} to pull",
        "look up its name and tag at ollama.com/library",
    ),
    Refusal(
        ("write /root/.ollama/models/blobs/sha256-2bada8-partial-0: no space left on device",),
        r"no space left|disk (is )?full|insufficient (disk )?space",
        "the server's disk is full: {error}",
        "free space there (ollama rm MODEL), then /pull {model} goes on",
    ),
    Refusal(
        ("pull model manifest: 412: this model requires a newer version of Ollama",),
        r"newer version",
        "{model} needs a newer Ollama than this server",
        "update Ollama, then /pull {model}",
    ),
    Refusal(
        (
            'pull model manifest: Get "https://registry.ollama.ai/v2/library/x/manifests/latest": dial tcp: lookup '
            "registry.ollama.ai on 127.0.0.53:53: no such host",
            "dial tcp: lookup registry.ollama.ai: host not found",
            "dial tcp 104.21.75.227:443: connect: network is unreachable",
            "lookup registry.ollama.ai: server misbehaving",
            "lookup registry.ollama.ai: Temporary failure in name resolution",
            "proxyconnect tcp: EOF",
            "context deadline exceeded",
            "max retries exceeded: unexpected EOF",
        ),
        r"dial tcp|no such host|misbehaving|temporary failure|unreachable|proxyconnect|deadline exceeded"
        r"|timed? ?out|connection|max retries|\beof\b|tls|x509",
        "the server cannot reach the place that models are loaded from: {error}",
        "see to the network of the server's machine (HTTPS_PROXY goes to ollama serve), then /pull {model} goes on",
    ),
)
"""The refusals of a download."""


def refusal(status: int, body: str, model: str, url: str, after_seconds: float | None = None) -> ModelError:
    """The error for a refused request, from its HTTP status (200 in the middle of a stream) and its body."""
    error = reason(reason(body))  # the words of the model's own process come as JSON in a text
    if status == 404 and re.search(r"\bmodel\b", error, re.IGNORECASE):
        return ModelError(f"the model {model!r} is not installed", f"ollama pull {model}")
    if status == 404:
        return ModelError(f"there is no Ollama at {hidden(url)} ({status}: {error})", OTHER)
    if status in (401, 403) and not model:  # for a model, Ollama sends its own words
        return ModelError(f"the proxy in front of Ollama requires a key, and thimble sends none ({status})", KEYLESS)
    if status in (429, 503):
        return Busy(f"the server is busy: {error}", "ask again in a moment", after_seconds=after_seconds)
    if sizes := re.search(r"\((\d{1,9}) tokens\) exceeds .* \((\d{1,9}) tokens\)", error):
        return too_long(*map(int, sizes.groups()))
    if found := recognised(CHAT_REFUSALS, error, model):
        return found
    if status == 200:
        return ModelError(f"the server aborted its reply: {error}", "ask again; its log says more")
    return ModelError(f"the server answered with status {status}: {error}", "check the address and the server's log")


def too_long(tokens: int, context: int) -> TooLong:
    """The error for a prompt of so many tokens, where the model is loaded with a smaller context."""
    what = f"the prompt has {tokens:,} tokens, the model is loaded with {context:,}"
    budget = fitting(context)
    return TooLong(what, f"lower the budget: /budget {budget}, --budget {budget}; or take a model that holds more")


def pull_refusal(body: str, model: str) -> ModelError:
    """The error for a download that failed."""
    error = reason(body)
    if found := recognised(PULL_REFUSALS, error, model):
        return found
    return ModelError(f"the pull of {model!r} failed: {error}", f"/pull {model} goes on where it stopped")


def unreadable(line: bytes) -> ModelError:
    """The error for a line that Ollama would not send."""
    what = f"this is not an Ollama server: it answered {beginning(line)}"
    return ModelError(what, f"{WHERE}, OLLAMA_HOST")
