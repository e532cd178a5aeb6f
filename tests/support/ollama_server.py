"""A small Ollama on loopback: models, their prompts and replies, and downloads. No model is behind it; it counts words.

It has the fields of a real 0.33.0-rc2 (tests/models/recorded/ollama-0.33.0-rc2), beside which
tests/models/ollama/test_stand_in.py puts it. It imports nothing of models/, so that a mistake there is not repeated.

A model loads at its first request with the context that is asked for, and anew for another one; it stays for its
keep_alive. A prompt that is too long is refused. The SYSTEM of a Modelfile is put before a prompt without a system
message, its MESSAGEs before every one. Thinking is on where it is not set, and counts as a part of the reply. The
prompt that shares most with a new one is its cache.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from threading import Lock
from typing import Any

from tests.support.scripted_server import Answer, Front, Step, body_of, path_of, says_json

CREATED = "2026-10-26T17:21:21.196249Z"
DIGEST = "845dbda0ea48ed749caafd9e6037047aa19acfcfd82e704d7ca97d631a0b697e"
FOREVER = float("inf")
SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
HOW_TO_CALL = 'Call one so:\n<tool_call>\n{"name": NAME, "arguments": OBJECT}\n</tool_call>'
Message = Mapping[str, Any]


@dataclass
class Reply:
    """What the model says: thinking, text, then calls of tools; then an error in the middle of the stream, if any."""

    text: str = ""
    thinking: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    error: str = ""


def research(messages: Sequence[Message], tools: bool) -> Reply:
    """List the articles, read the first one, and answer."""
    asked = max(at for at, message in enumerate(messages) if message["role"] == "user")
    results = [message["content"] for message in messages[asked:] if message["role"] == "tool"]
    if tools and not results:
        return Reply("I look.", "There may be an article.", [("list_articles", {"topic": "context"})])
    slug = re.search(r"^1\. ([\w-]+)", results[0], re.MULTILINE) if results else None
    if tools and slug and len(results) < 2:
        return Reply(calls=[("read_article", {"slug": slug[1]})])
    return Reply(f"It is in [{slug[1]}]." if slug else "A thimble holds 2 ml.", "That is enough.")


@dataclass
class Model:
    """An installed model: what `ollama show` tells of it."""

    capabilities: Sequence[str] = ("completion", "tools")
    context: int = 32_768
    family: str = "qwen2"
    system: str = ""
    examples: Sequence[Message] = ()

    @property
    def details(self) -> dict[str, Any]:
        """What is told of it everywhere."""
        size = {"parameter_size": "7.6B", "quantization_level": "Q4_K_M"}
        return {"parent_model": "", "format": "gguf", "family": self.family, "families": [self.family], **size}


@dataclass
class Loaded:
    """A model in memory, and the prompts that it holds."""

    context: int
    until: float = FOREVER
    prompts: list[list[str]] = field(default_factory=list)

    def shared(self, prompt: list[str]) -> int:
        """How many tokens of a prompt were held; it is held from now on, and its last token is computed anew."""
        shared = max((common(prompt, held) for held in self.prompts), default=0)
        self.prompts.append(prompt)
        return min(shared, len(prompt) - 1)


@dataclass
class Download:
    """A model that can be pulled: its layers, by digest, in bytes; how many of each are here."""

    layers: Mapping[str, int]
    here: dict[str, int] = field(default_factory=dict)


@dataclass
class Ollama:
    """The server. What it is made of may be changed while it runs.

    `busy` requests to chat are answered with 503, `lost` ones with a closed connection. `replies` are said one after
    the other, then the `rule` is asked; neither where a client asks for one token, to have its prompt computed. A
    download moves `step_bytes` at a time, `step_seconds` apart. `requests` are the paths and bodies so far, `loads` the
    contexts that models were loaded with.
    """

    models: dict[str, Model] = field(default_factory=lambda: {"qwen2.5:7b": Model()})
    version: str = "0.34.1"
    busy: int = 0
    lost: int = 0
    retry_after: str = ""
    replies: list[Reply] = field(default_factory=list)
    rule: Callable[[Sequence[Message], bool], Reply] = research
    counts_cached: bool = True
    load_seconds: float = 0.0
    downloads: dict[str, Download] = field(default_factory=dict)
    step_bytes: int = 1_000
    step_seconds: float = 0.0
    memory: dict[str, Loaded] = field(default_factory=dict)
    requests: list[tuple[str, Any]] = field(default_factory=list)
    loads: list[int] = field(default_factory=list)
    lock: Any = field(default_factory=Lock)

    def sent(self, path: str = "/api/chat") -> list[Any]:
        """The bodies of the requests to a path."""
        return [body for name, body in self.requests if name == path]

    def answer(self, request: bytes) -> Answer:
        """What it answers to a request."""
        path, body = path_of(request), body_of(request)
        with self.lock:
            self.requests.append((path, body))
        match path:
            case "/api/version":
                return says_json("200 OK", {"version": self.version})
            case "/api/tags":
                return says_json("200 OK", {"models": [self._listed(name) for name in self.models]})
            case "/api/ps":
                running = self.running().items()
                return says_json(
                    "200 OK", {"models": [self._listed(name, context_length=one.context) for name, one in running]}
                )
            case "/api/pull":
                return self._pull(body)
        name = body.get("model") or body.get("name") or ""
        if (model := self.models.get(tagged(name))) is None:
            return _refused("404 Not Found", f"model '{name if path == '/api/chat' else tagged(name)}' not found")
        return self._show(model) if path == "/api/show" else self._chat(name, model, body)

    # ---- what is there ----

    def running(self) -> dict[str, Loaded]:
        """The models in memory; those whose time is over go."""
        now = time.monotonic()
        self.memory = {name: loaded for name, loaded in self.memory.items() if loaded.until > now}
        return self.memory

    def _listed(self, name: str, **more: Any) -> dict[str, Any]:
        listed = {"name": name, "model": name, "size": 4_683_087_332, "digest": DIGEST}
        return {**listed, "details": self.models[name].details, **more}

    def _show(self, model: Model) -> Answer:
        info: dict[str, Any] = {"general.architecture": model.family, "general.parameter_count": 7_600_000_000}
        info |= {f"{model.family}.context_length": model.context, "tokenizer.ggml.model": "words"}
        shown = {"template": "{{ .Prompt }}", "system": model.system, "messages": list(model.examples)}
        shown |= {"details": model.details, "model_info": info, "capabilities": list(model.capabilities)}
        return says_json("200 OK", {key: value for key, value in shown.items() if value})

    # ---- a chat ----

    def _chat(self, name: str, model: Model, body: Any) -> Answer:
        with self.lock:
            if self.lost:
                self.lost -= 1
                return ()
            if self.busy:
                self.busy -= 1
                after = [f"retry-after: {self.retry_after}"] if self.retry_after else []
                words = "server busy, please try again.  maximum pending requests exceeded"
                return says_json("503 Service Unavailable", {"error": words}, *after)
        if body.get("tools") and "tools" not in model.capabilities:
            return _refused("400 Bad Request", f"registry.ollama.ai/library/{tagged(name)} does not support tools")
        if body.get("think") and "thinking" not in model.capabilities:
            return _refused("400 Bad Request", f'"{name}" does not support thinking')
        with self.lock:
            before = len(self.loads)
            loaded = self._load(tagged(name), model, body)
        if not body.get("messages"):
            return says_json("200 OK", _line(name, {}, done=True, done_reason="load"))
        return self._reply(name, model, body, loaded, self.load_seconds * (len(self.loads) - before))

    def _load(self, name: str, model: Model, body: Any) -> Loaded:
        context = min(body.get("options", {}).get("num_ctx", 4_096), model.context)
        loaded = self.running().get(name)
        if loaded is None or loaded.context != context:
            time.sleep(self.load_seconds)
            self.loads.append(context)
            loaded = self.memory[name] = Loaded(context)
        loaded.until = time.monotonic() + keep(body.get("keep_alive", "5m"))
        return loaded

    def _reply(self, name: str, model: Model, body: Any, loaded: Loaded, load_seconds: float) -> Answer:
        most = body.get("options", {}).get("num_predict", -1)
        if (prompt := prompt_of(model, body, loaded.context)) is None:
            return _refused("400 Bad Request", _too_long(model, body, loaded.context))
        with self.lock:
            if most == 1:
                reply = Reply("I")
            else:
                reply = self.replies.pop(0) if self.replies else self.rule(body["messages"], bool(body.get("tools")))
        cached = loaded.shared(prompt)
        thinks = "thinking" in model.capabilities and body.get("think") is not False
        pieces = [{"thinking": word} for word in words(reply.thinking if thinks else "")]
        pieces += [{"content": word} for word in words(reply.text)]
        cut = 0 < most < len(pieces)
        pieces = pieces[: most if cut else None]
        if reply.error and not pieces:
            return _refused("500 Internal Server Error", reply.error)
        lines = [_line(name, piece, done=False) for piece in pieces]
        if reply.error:
            return _streamed([*lines, {"error": reply.error}])
        end = {"tool_calls": [] if cut else [self._called(number, *call) for number, call in enumerate(reply.calls)]}
        end = {key: value for key, value in end.items() if value}
        counts = {"prompt_eval_count": len(prompt), "eval_count": len(pieces) + 12 * len(end.get("tool_calls", ()))}
        counts |= {"prompt_eval_cached_count": cached} if self.counts_cached else {}
        durations = {"load": load_seconds, "prompt_eval": 0.001 * (len(prompt) - cached), "eval": 0.001 * len(pieces)}
        counts |= {f"{of}_duration": int(seconds * 1e9) + 1_000 for of, seconds in durations.items()}
        done = {"done": True, "done_reason": "length" if cut else "stop", **counts}
        if body.get("stream") is False:
            whole = {key: "".join(piece.get(key, "") for piece in pieces) for key in ("content", "thinking")}
            return says_json(
                "200 OK", _line(name, {**{key: text for key, text in whole.items() if text}, **end}, **done)
            )
        return _streamed([*lines, _line(name, end, **done)])

    def _called(self, number: int, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        made = f"call_{len(self.requests):04d}{number:04d}"
        return {"id": made, "function": {"index": number, "name": name, "arguments": dict(arguments)}}

    # ---- a download ----

    def _pull(self, body: Any) -> Answer:
        name = tagged(body.get("model") or body.get("name") or "")
        if name not in self.downloads:
            return _streamed([{"status": "pulling manifest"}, {"error": "pull model manifest: file does not exist"}])
        return _streamed(self._pulled(name, self.downloads[name]))

    def _pulled(self, name: str, download: Download) -> Iterator[Mapping[str, Any]]:
        yield {"status": "pulling manifest"}
        for digest, size in download.layers.items():
            status = {"status": f"pulling {digest[:12]}", "digest": f"sha256:{digest}", "total": size}
            yield status | ({"completed": download.here[digest]} if download.here.get(digest) else {})
            while download.here.get(digest, 0) < size:
                time.sleep(self.step_seconds)
                download.here[digest] = min(size, download.here.get(digest, 0) + self.step_bytes)
                yield status | {"completed": download.here[digest]}
        self.models[name] = Model()
        for status_ in ("verifying sha256 digest", "writing manifest", "success"):
            yield {"status": status_}


def _refused(status: str, words: str) -> Answer:
    return says_json(status, {"error": words})


def _too_long(model: Model, body: Any, context: int) -> str:
    """As the model's own process says it: JSON in a text."""
    prompt = len(prompt_of(model, body, 10**9) or ())
    said = f"request ({prompt} tokens) exceeds the available context size ({context} tokens), try increasing it"
    inner = {"code": 400, "message": said, "type": "exceed_context_size_error"}
    return json.dumps({"error": {**inner, "n_prompt_tokens": prompt, "n_ctx": context}}, separators=(",", ":"))


def _line(name: str, message: Message, **rest: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "", **message}
    return {"model": name, "created_at": CREATED, "message": said, **rest}


def _streamed(lines: Iterable[Mapping[str, Any]]) -> Iterator[Step]:
    yield b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n"
    for line in lines:
        data = json.dumps(line).encode() + b"\n"
        yield b"%x\r\n%s\r\n" % (len(data), data)
    yield b"0\r\n\r\n"


@contextmanager
def served(ollama: Ollama | None = None) -> Iterator[tuple[Ollama, str]]:
    """The server, listening, and its address."""
    ollama = ollama or Ollama()
    with Front(ollama.answer) as server:
        yield ollama, server.url


# ---- a prompt ----


def tagged(name: str) -> str:
    """A name with its tag."""
    return name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest"


def keep(value: float | str) -> float:
    """Seconds of a keep_alive: a number of seconds, or a text with a unit."""
    if isinstance(value, str):
        value = int(value[:-1]) * SECONDS[value[-1]]
    return FOREVER if value < 0 else value


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """How long the same beginning of two prompts is."""
    return len([*takewhile(lambda both: both[0] == both[1], zip(one, other, strict=False))])


def tokens(text: str) -> list[str]:
    """A stand-in for a tokenizer: marks, words, ends of lines, and signs one by one."""
    return re.findall(r"<\|\w+\|>|\w+|\n|[^\w\s]", text)


def words(text: str) -> list[str]:
    """A text in pieces, as it streams; digits one by one."""
    return re.findall(r"\s*(?:\d|[^\s\d]+)\s*|\s+", text)


def rendered(model: Model, messages: Sequence[Message], tools: Sequence[Any]) -> str:
    """The prompt as a template writes it."""
    own = [{"role": "system", "content": model.system}] if model.system and messages[0]["role"] != "system" else []
    messages = [*own, *model.examples, *messages]
    if tools and messages[0]["role"] != "system":
        messages.insert(0, {"role": "system", "content": ""})
    turns = [f"<|im_start|>{message['role']}\n{written(message)}<|im_end|>\n" for message in messages]
    if tools:
        listed = "\n".join(map(json.dumps, tools))
        told = f"\n\nTools, one a line:\n<tools>\n{listed}\n</tools>\n{HOW_TO_CALL}<|im_end|>\n"
        turns[0] = turns[0].removesuffix("<|im_end|>\n") + told
    return "".join(turns) + "<|im_start|>assistant\n"


def written(message: Message) -> str:
    """A message as a template writes it."""
    calls = [call["function"] for call in message.get("tool_calls", ())]
    return message.get("content", "") + "".join(f"\n<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls)


def prompt_of(model: Model, body: Mapping[str, Any], context: int) -> list[str] | None:
    """The tokens of a prompt; None for one that is too long."""
    prompt = tokens(rendered(model, body["messages"], body.get("tools") or ()))
    return prompt if len(prompt) <= context else None
