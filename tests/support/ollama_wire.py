"""What Ollama sends, as bytes, and a server behind httpx's transport that sends it."""

from __future__ import annotations

from typing import Any

from tests.support import scripted_server, wire
from thimble.models.ollama.backend import Ollama
from thimble.models.ollama.server import OllamaServer
from thimble.models.server import ServerOptions

ANSWER = (
    b'{"model":"qwen2.5:7b","created_at":"2025-11-20T10:00:00.1Z","message":{"role":"assistant","content":"A thimble"},'
    b'"done":false}\n'
    b'{"model":"qwen2.5:7b","created_at":"2025-11-20T10:00:00.2Z","message":{"role":"assistant","content":" holds'
    b' \xe2\x82\xac1 \xe2\x80\x94 2\xc2\x85ml."},"done":false}\n'
    b'{"model":"qwen2.5:7b","created_at":"2025-11-20T10:00:00.3Z","message":{"role":"assistant","content":""},'
    b'"done_reason":"stop","done":true,"total_duration":2500000000,"load_duration":1000000000,'
    b'"prompt_eval_count":812,"prompt_eval_duration":500000000,"eval_count":11,"eval_duration":750000000}\n'
)

CALLS = (
    b'{"model":"qwen3:8b","message":{"role":"assistant","content":"","thinking":"Two lists "},"done":false}\n'
    b'{"model":"qwen3:8b","message":{"role":"assistant","content":"","thinking":"will do."},"done":false}\n'
    b'{"model":"qwen3:8b","message":{"role":"assistant","content":"I look twice."},"done":false}\n'
    b'{"model":"qwen3:8b","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_k2m9",'
    b'"function":{"index":0,"name":"list_articles","arguments":{"page":2,"topic":"caf\xc3\xa9"}}}]},"done":false}\n'
    b'{"model":"qwen3:8b","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"list_articles",'
    b'"arguments":{}}},{"function":{"name":"list_articles","arguments":{}}}]},"done":false}\n'
    b'{"model":"qwen3:8b","message":{"role":"assistant","content":""},"done_reason":"length","done":true,'
    b'"total_duration":1,"load_duration":0,"prompt_eval_count":3000,"prompt_eval_cached_count":2500,'
    b'"prompt_eval_duration":250000000,"eval_count":40,"eval_duration":2000000000}\n'
)

TAGS = (
    b'{"models":[{"name":"llama3.2:3b","model":"llama3.2:3b","modified_at":"2025-11-01T10:00:00Z","size":2019393189,'
    b'"digest":"a80c4f17acd5","details":{"format":"gguf","family":"llama","parameter_size":"3.2B",'
    b'"quantization_level":"Q4_K_M"}},{"name":"qwen2.5:7b","model":"qwen2.5:7b","size":4683087332}]}'
)

SHOW = (
    b'{"license":"Apache","modelfile":"FROM x","parameters":"stop \\"<|im_end|>\\"","template":"{{ .Prompt }}",'
    b'"details":{"family":"qwen3"},"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960},'
    b'"capabilities":["completion","tools","thinking"],"modified_at":"2025-11-01T10:00:00Z"}'
)

TOOLS_ONLY = b'{"model_info":{},"capabilities":["completion","tools"]}'

PS = (
    b'{"models":[{"name":"other:latest","model":"other:latest","context_length":512},{"name":"qwen2.5:7b",'
    b'"model":"qwen2.5:7b","size":6000000000,"digest":"845dbda0ea48","expires_at":"2025-11-20T10:10:00Z",'
    b'"size_vram":6000000000,"context_length":4096}]}'
)

PULL = (
    b'{"status":"pulling manifest"}\n'
    b'{"status":"pulling 2bada8a74506","digest":"sha256:2bada8a74506","total":4683073184,"completed":1048576}\n'
    b'{"status":"success"}\n'
)

PAGE, Chunks, loopback, send = wire.PAGE, wire.Chunks, scripted_server.loopback, scripted_server.send


class Wire(wire.Wire):
    """An Ollama behind httpx's transport. A route's reply is as in tests/support/wire.py."""

    def __init__(self, **routes: Any) -> None:
        usual = {"show": TOOLS_ONLY, "tags": TAGS, "ps": b'{"models":[]}', "version": b'{"version":"0.34.1"}'}
        super().__init__({f"/api/{name}": reply for name, reply in {**usual, **routes}.items()})

    def sent(self, path: str = "/api/chat") -> Any:
        """The body of the newest request to a path."""
        return super().sent(path)


def server(wire: Wire, **options: Any) -> OllamaServer:
    """The server behind a wire; it is not waited for."""
    return OllamaServer("", ServerOptions(**options), wire, sleep=lambda _: None)


def model(wire: Wire, name: str = "qwen2.5:7b", room: int = 16_384, **options: Any) -> Ollama:
    """A model of the server behind a wire."""
    return Ollama(name, server(wire, **options), room=room)
