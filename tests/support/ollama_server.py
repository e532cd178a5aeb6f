"""A small Ollama for tests: what it has, and what becomes of a prompt. ollama_http.py serves it on loopback.

Written from Ollama's documentation (docs/api.md, docs/api/errors.mdx, docs/capabilities/thinking.mdx) and from what its
maintainers say of it in public threads; it was never seen beside a real server, and no model is behind it. It imports
nothing from models/, so that a mistake there is not repeated here.

What it keeps to: a model loads at its first request, with the context that is asked for (4,096 tokens without), and
anew for another one; it stays for its keep_alive. A prompt that is too long loses its oldest messages, and is then cut
to half the window, unless `truncate` is false: then it is refused. The SYSTEM of a Modelfile is put before a prompt
that begins with no system message, its MESSAGEs before every one. `think` is on where it is not set, and refused for
models that cannot. A reply may be as long as `num_predict`, its thinking included.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass
class Reply:
    """What the model says: thinking, text, then calls of tools; then what goes wrong, if anything.

    `error` is said in the middle of the stream; `lost` closes the connection there.
    """

    text: str = ""
    thinking: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    error: str = ""
    lost: bool = False


Rule = Callable[[Sequence[Mapping[str, Any]], bool], Reply]
"""From the messages of a request, and whether it offers tools, to the reply."""


def research(messages: Sequence[Mapping[str, Any]], tools: bool) -> Reply:
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
    """An installed model: what `ollama show` tells of it, and how it answers."""

    capabilities: Sequence[str] = ("completion", "tools")
    context: int = 32_768
    family: str = "qwen2"
    thinking: Mapping[str, Any] | None = None
    system: str = ""
    examples: Sequence[Mapping[str, Any]] = ()
    inline: bool = False
    """Whether it reasons in its text when it was told not to think."""


@dataclass
class Loaded:
    """A model in memory, and its prompt cache."""

    context: int
    until: float
    cached: list[str] = field(default_factory=list)


@dataclass
class Download:
    """A model that can be pulled: its layers, by digest, in bytes; how many of each are here."""

    layers: Mapping[str, int]
    here: dict[str, int] = field(default_factory=dict)


@dataclass
class Ollama:
    """The server. What it is made of may be changed while it runs.

    `busy` requests to chat are answered with 503, `lost` ones with a closed connection. `replies` are said one after
    the other, then the `rule` is asked. A download moves `step_bytes` at a time, `step_seconds` apart, and fails when
    the disk has no more of its `disk_bytes`. `requests` are the paths and bodies so far, `loads` the contexts that
    models were loaded with.
    """

    models: dict[str, Model] = field(default_factory=lambda: {"qwen2.5:7b": Model()})
    version: str = "0.34.1"
    busy: int = 0
    lost: int = 0
    retry_after: str = ""
    replies: list[Reply] = field(default_factory=list)
    rule: Rule = research
    counts_cached: bool = True
    load_seconds: float = 0.0
    downloads: dict[str, Download] = field(default_factory=dict)
    step_bytes: int = 1_000
    step_seconds: float = 0.0
    disk_bytes: int = 10**15
    memory: dict[str, Loaded] = field(default_factory=dict)
    requests: list[tuple[str, Any]] = field(default_factory=list)
    loads: list[int] = field(default_factory=list)
    lock: Any = field(default_factory=Lock)

    def sent(self, path: str = "/api/chat") -> list[Any]:
        """The bodies of all requests to a path."""
        return [body for asked, body in self.requests if asked == path]

    def find(self, name: str) -> tuple[str, Model] | None:
        """An installed model by its name, `latest` where it has no tag."""
        name = tagged(name)
        return (name, self.models[name]) if name in self.models else None

    def running(self) -> dict[str, Loaded]:
        """The models in memory; those whose time is over go."""
        now = time.monotonic()
        self.memory = {name: loaded for name, loaded in self.memory.items() if loaded.until > now}
        return self.memory

    def load(self, name: str, model: Model, body: Mapping[str, Any]) -> Loaded:
        """The model in memory, loaded anew for another context."""
        wanted = body.get("options", {}).get("num_ctx", 4_096)
        context, loaded = min(wanted, model.context), self.running().get(name)
        if loaded is None or loaded.context != context:
            time.sleep(self.load_seconds)
            self.loads.append(context)
            loaded = self.memory[name] = Loaded(context, 0)
        loaded.until = time.monotonic() + keep(body.get("keep_alive", "5m"))
        return loaded


def tagged(name: str) -> str:
    """A name with its tag."""
    return name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest"


def keep(value: object) -> float:
    """Seconds of a keep_alive: a number of seconds, or a text with a unit, as Go reads it. Raises ValueError."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float("inf") if value < 0 else float(value)
    found = re.fullmatch(r"(-?)(\d+)(ms|s|m|h)", str(value))
    if not found:
        raise ValueError(f'time: missing unit in duration "{value}"')
    return float("inf") if found[1] else int(found[2]) * UNITS[found[3]]


def tokens(value: object) -> list[str]:
    """A stand-in for a tokenizer: words, and signs one by one."""
    return re.findall(r"\w+|[^\w\s]", value if isinstance(value, str) else json.dumps(value))


def prompt_of(model: Model, body: Mapping[str, Any], context: int) -> list[str] | None:
    """The tokens of a prompt; None for one that is too long and may not be cut."""
    messages = [*model.examples, *body["messages"]]
    if body["messages"][0]["role"] != "system" and model.system:
        messages.insert(0, {"role": "system", "content": model.system})
    head = tokens(body.get("tools") or "")
    while True:
        prompt = head + [part for message in messages for part in ("<m>", *tokens(written(message)), "</m>")]
        if len(prompt) <= context:
            return prompt
        if body.get("truncate") is False:
            return None
        oldest = next((at for at, message in enumerate(messages[:-1]) if message["role"] != "system"), None)
        if oldest is None:
            return prompt[: context // 2 + 2]
        del messages[oldest]


def written(message: Mapping[str, Any]) -> str:
    """A message as a template writes it."""
    calls = [call["function"] for call in message.get("tool_calls", ())]
    return f"{message['role']} {message.get('content', '')} {json.dumps(calls) if calls else ''}"


def words(text: str) -> list[str]:
    """A text in pieces, as it streams."""
    return re.findall(r"\s*\S+\s*|\s+", text)
