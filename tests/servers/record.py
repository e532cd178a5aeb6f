"""Record what real servers send: `.venv/bin/python -m tests.servers.record` writes `tests/support/recorded/`.

A file is one exchange as it went over the wire: the request (its body cut at 300 characters), an empty line, then the
response: status, type, an empty line, body. Where the pieces of a stream ended is not kept: a client must read it
wherever they end. Of the metrics, histograms and comments are left out. The texts are ours, so that the files stay
small: vLLM is held to them by `structured_outputs`, llama-server is given a model that says them (`saying.py`).
Everything else is the servers' own. A stream that breaks off is had by cutting one of these.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from tests.servers import saying
from tests.servers.serve import (
    EMBEDDING_LLAMA,
    EMBEDDING_VLLM,
    MODEL,
    ROOT,
    TOOLS_AND_DETAILS,
    Server,
    llama,
    vllm,
    workshop,
)

RECORDED = ROOT / "tests" / "support" / "recorded"
KEY = "sk-of-a-test"

QUESTION = [
    {"role": "system", "content": "You answer from the articles of a small library. List, read, then answer briefly."},
    {"role": "user", "content": "What is the melting point of bosfisdul?"},
]


def tool(name: str, what: str, argument: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"type": "function", "function": {"name": name, "description": what, "parameters": parameters}}


TOOLS = [tool("list_articles", "List the articles.", "topic"), tool("read_article", "Read an article.", "slug")]

TEXT = "A thimble holds €1 — 2 ml [café-thimbles]."
THOUGHT = "Here is my thought process: A list will do. Here is my response: I look."
CALL = '<tool_call>\n{"name": "list_articles", "arguments": {"topic": "café \\"thimbles\\""}}\n</tool_call>'
SECOND = '<tool_call>\n{"name": "read_article", "arguments": {"slug": "thimbles"}}\n</tool_call>'
CALLS = f"I look twice.\n{CALL}\n{SECOND}"
BROKEN = '<tool_call>\n{"name": "list_articles", "arguments": {"topic": }}\n</tool_call>'
LONG = [{"role": "user", "content": "word " * 9000}]


@dataclass(frozen=True)
class Asked:
    """A request to be recorded, and what the model is made to say to it, if anything."""

    name: str
    path: str = "/v1/chat/completions"
    body: dict[str, Any] | None = None
    says: str = ""


def chat(name: str, says: str = "", *, stream: bool = True, tools: bool = True, **more: Any) -> Asked:
    body: dict[str, Any] = {"model": MODEL, "messages": QUESTION}
    if tools:
        body["tools"] = TOOLS
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return Asked(name, body=body | more, says=says)


BOTH = [
    Asked("models", "/v1/models"),
    Asked("wrong-path", "/v2/models"),
    chat("wrong-model", model="other", max_tokens=8),
    chat("text", TEXT),
    chat("text-whole", TEXT, stream=False),
    chat("call", CALL),
    chat("call-whole", CALL, stream=False),
    chat("two-calls", CALLS),
    chat("own-words", max_tokens=64),
    chat("own-words-cached", max_tokens=64),
    chat("too-long", messages=LONG),
    chat("too-long-whole", messages=LONG, stream=False),
    Asked("metrics", "/metrics"),
]
VLLM = [
    *BOTH,
    chat("cut-by-length", CALL, max_tokens=22),
    chat("broken-call", BROKEN),
    chat("broken-call-whole", BROKEN, stream=False),
    chat("reply-too-long", max_tokens=9000),
    Asked("tokenize", "/tokenize", {"model": MODEL, "messages": QUESTION, "tools": TOOLS}),
]
LLAMA = [
    *BOTH,
    chat("cut-by-length", CALL, max_tokens=32),
    Asked("props", "/props"),
    Asked("slots", "/slots"),
    Asked("apply-template", "/apply-template", {"messages": QUESTION, "tools": TOOLS}),
    Asked("tokenize", "/tokenize", {"content": "<|im_start|>user\nhi<|im_end|>\n", "parse_special": True}),
]
EMBEDDED = Asked("embeddings", "/v1/embeddings", {"model": MODEL, "input": ["Thimbles hold 2 ml.", "€1", "café"]})
EMBEDDED_TOO_LONG = Asked("embeddings-too-long", "/v1/embeddings", {"model": MODEL, "input": ["word " * 9000]})
NO_EMBEDDINGS = replace(EMBEDDED, name="no-embeddings")


def record_vllm(folder: Path) -> None:
    def held(says: str) -> dict[str, Any]:
        return {"structured_outputs": {"choice": [says]}} if says else {}

    with vllm(folder, *TOOLS_AND_DETAILS, key=KEY) as server:
        for asked in VLLM:
            keep(server, asked, held(asked.says))
        keep(server, Asked("wrong-key", "/v1/models"), key="sk-wrong")
    thinks = ("--reasoning-parser", "granite", "--structured-outputs-config.enable_in_reasoning", "true")
    with vllm(folder, *thinks) as bare:
        keep(bare, chat("no-tool-parser"))
        keep(bare, chat("no-details", tools=False), held(TEXT))
        keep(bare, chat("reasoning", tools=False), held(THOUGHT))
        keep(bare, NO_EMBEDDINGS)
    with vllm(folder, *EMBEDDING_VLLM) as embedding:
        keep(embedding, EMBEDDED)
        keep(embedding, EMBEDDED_TOO_LONG)


def record_llama(folder: Path) -> None:
    with llama(folder, key=KEY) as server:
        for asked in LLAMA:
            if not asked.says:
                keep(server, asked)
        keep(server, Asked("wrong-key", "/v1/models"), key="sk-wrong")
    for says in dict.fromkeys(asked.says for asked in LLAMA if asked.says):
        saying.write(folder / "says.gguf", says)
        with llama(folder, model="says.gguf") as server:
            for asked in LLAMA:
                if asked.says == says:
                    keep(server, asked)
    record_llama_embeddings(folder)
    keep_loading(folder)


def record_llama_embeddings(folder: Path) -> None:
    with llama(folder) as bare:
        keep(bare, NO_EMBEDDINGS)
    with llama(folder, *EMBEDDING_LLAMA) as embedding:
        keep(embedding, EMBEDDED)
        keep(embedding, EMBEDDED_TOO_LONG)


def keep_loading(folder: Path) -> None:
    """What llama-server answers in the moment before it has read the model."""
    asked = chat("loading")
    while True:
        with llama(folder, ready=False) as server, server.client() as client:
            response = None
            while response is None:
                with suppress(httpx.TransportError):
                    response = client.post(asked.path, json=asked.body)
            if response.status_code == httpx.codes.SERVICE_UNAVAILABLE:
                return save(server.name, asked, response)


def keep(server: Server, asked: Asked, held: dict[str, Any] | None = None, *, key: str = "") -> None:
    """Ask, and save what comes."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with server.client() as client:
        method = "GET" if asked.body is None else "POST"
        body = None if asked.body is None else asked.body | (held or {})
        save(server.name, asked, client.request(method, asked.path, json=body, headers=headers))


def save(server: str, asked: Asked, response: httpx.Response) -> None:
    """Write the exchange to its file."""
    request = f"{response.request.method} {asked.path}\n"
    if asked.body is not None:
        sent = json.dumps(asked.body, ensure_ascii=False)
        request += (sent if len(sent) <= 300 else f"{sent[:299]}…") + "\n"
    head = (
        f"HTTP/1.1 {response.status_code} {response.reason_phrase}\ncontent-type: {response.headers['content-type']}\n"
    )
    body = response.content
    if asked.path == "/metrics":
        body = b"".join(
            line for line in body.splitlines(True) if re.match(rb"(vllm|llamacpp):(?!.*_(bucket|created)\b)", line)
        )
    (RECORDED / server).mkdir(parents=True, exist_ok=True)
    (RECORDED / server / f"{asked.name}.http").write_bytes(f"{request}\n{head}\n".encode() + body)


if __name__ == "__main__":
    for server in ("vllm", "llama"):  # Ollama is in no package: what it sent was recorded by hand
        shutil.rmtree(RECORDED / server, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        models = workshop(Path(folder))
        record_llama(models)
        record_vllm(models)
