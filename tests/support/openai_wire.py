"""What vLLM 0.32 and llama-server send, as bytes, and a server behind httpx's transport that sends it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support import wire
from thimble.agent.messages import Message, ToolCall
from thimble.models.openai.backend import OpenAIBackend
from thimble.models.openai.connection import Connection
from thimble.models.server import ServerOptions

PAGE, Reply = wire.PAGE, wire.Reply

URL = "http://127.0.0.1:8000"
CHAT, MODELS, TOKENIZE = "/v1/chat/completions", "/v1/models", "/tokenize"

SYSTEM, USER = Message("s", "system", "Be brief."), Message("u", "user", "What holds 2 ml?")
CALL = ToolCall("call_1", "list_articles", '{"topic": "café"}')
CALLED = Message("a", "assistant", "I look.", calls=(CALL,))
RESULT = Message("t", "tool", "16 articles", call_id="call_1", name="list_articles")
TOOL = {"type": "function", "function": {"name": "list_articles", "description": "List.", "parameters": {}}}

VLLM_MODELS = (
    b'{"object":"list","data":[{"id":"tiny","object":"model","created":1795293383,"owned_by":"vllm","root":"model",'
    b'"parent":null,"max_model_len":8192,"permission":[]}]}'
)
LLAMA_MODELS = (
    b'{"models":[{"name":"tiny","model":"tiny","type":"model","capabilities":["completion"]}],"object":"list","data":'
    b'[{"id":"tiny","aliases":["tiny","small"],"tags":[],"object":"model","created":1795293384,"owned_by":"llamacpp",'
    b'"meta":{"vocab_type":2,"n_vocab":2048,"n_ctx":4096,"n_ctx_train":8192,"n_embd":192,"n_params":2166720}}]}'
)

_HEAD = b'{"id":"chatcmpl-bdf0","object":"chat.completion.chunk","created":1795293383,"model":"tiny","choices":'


def chunk(delta: str = "", finish: str = "null", choices: bool = True, rest: str = "") -> bytes:
    """One event of a stream, in vLLM's spelling."""
    choice = f'[{{"index":0,"delta":{{{delta}}},"logprobs":null,"finish_reason":{finish}}}]' if choices else "[]"
    return b"data: " + _HEAD + choice.encode() + rest.encode() + b"}\n\n"


DONE = b"data: [DONE]\n\n"
USAGE = (
    ',"usage":{"prompt_tokens":812,"total_tokens":823,"completion_tokens":11,'
    '"prompt_tokens_details":{"cached_tokens":768,"created_cache_tokens":0}}'
)
ANSWER = b"".join(
    [
        chunk('"role":"assistant","content":""'),
        chunk('"content":"A thimble"'),
        chunk('"content":" holds €1 — 2\x85ml."'),
        chunk('"content":""', '"stop"'),
        chunk(choices=False, rest=USAGE),
        DONE,
    ]
)
CALLS = b"".join(
    [
        chunk('"role":"assistant","content":""'),
        chunk('"reasoning":"Two lists "'),
        chunk('"reasoning":"will do."'),
        chunk('"content":"I look twice."'),
        chunk(
            '"tool_calls":[{"id":"chatcmpl-tool-9","type":"function","index":0,"function":{"name":"list_articles"}}]'
        ),
        chunk('"tool_calls":[{"index":0,"function":{"arguments":"{\\"page\\": 2, "}}]'),
        chunk('"tool_calls":[{"index":0,"function":{"arguments":"\\"topic\\": \\"café\\"}"}}]'),
        chunk('"tool_calls":[{"id":"chatcmpl-tool-8","type":"function","index":1,"function":{"name":"read_article"}}]'),
        chunk('"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]'),
        chunk('"content":""', '"tool_calls"'),
        chunk(choices=False, rest=USAGE),
        DONE,
    ]
)
LLAMA = (
    b'data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"model":"x"}\n\n'
    b'data: {"choices":[{"finish_reason":null,"index":0,"delta":{"reasoning_content":"Hm."}}],"model":"tiny"}\n\n'
    b'data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"A thimble."}}],"model":"tiny"}\n\n'
    b'data: {"choices":[{"finish_reason":"length","index":0,"delta":{}}],"model":"tiny"}\n\n'
    b'data: {"choices":[],"model":"tiny","usage":{"completion_tokens":4,"prompt_tokens":13,"total_tokens":17},'
    b'"timings":{"cache_n":12,"prompt_n":1,"prompt_ms":2.5,"predicted_n":4,"predicted_ms":20.0}}\n\n'
    b"data: [DONE]\n\n"
)


class Wire(wire.Wire):
    """A server of chat completions behind httpx's transport, as in tests/support/wire.py."""

    def __init__(self, routes: Mapping[str, wire.Route | list[wire.Route]] | None = None, **more: Any) -> None:
        super().__init__({MODELS: VLLM_MODELS, **(routes or {}), **more})

    def sent(self, path: str = CHAT) -> Any:
        """The body of the newest request to a path."""
        return super().sent(path)


def backend(wire: Wire, name: str = "openai", url: str = URL, **settings: Any) -> OpenAIBackend:
    """A backend for the model "tiny" behind this wire."""
    names = [name for name in ("think", "stream", "timeout_seconds", "temperature", "seed") if name in settings]
    options = ServerOptions(**{name: settings.pop(name) for name in names})
    return OpenAIBackend(
        name, "tiny", Connection(url, wire, wire.pauses.append), **{"needed": 14_144, **settings}, options=options
    )
