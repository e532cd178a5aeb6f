"""A small Ollama for tests: what it has, and what becomes of a prompt. ollama_http.py serves it on loopback.

Built after what a real 0.33.0-rc2 said (tests/models/recorded/ollama-0.33.0-rc2), beside which
tests/models/ollama/test_stand_in.py puts it: the same request gets the same fields, kinds and words. No model is behind
it, and it counts words. It imports nothing from models/, so that a mistake there is not repeated here. Not seen, and
written from Ollama's documentation: the count of cached tokens (0.33.3), levels of thinking, pulls.

What it keeps to: a model loads at its first request, with the context that is asked for (that of its Modelfile, or
4,096 tokens, without), and anew for another one, or for another `shift`; it stays for its keep_alive. A prompt that is
too long loses its oldest messages, and is then cut to half the window, unless `truncate` or `shift` is false: then it
is refused. The SYSTEM of a Modelfile is put before a prompt that begins with no system message, its MESSAGEs before
every one. `think` is on where it is not set, and refused for models that cannot. A reply may be as long as
`num_predict`, its thinking included; after more than 30 equal pieces in a row it ends without its last line. Several
prompts stay in memory: one that mostly differs from all of them leaves them there, an edited one takes its old place.
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
REPEATS = 30
"""Equal pieces in a row that a reply may have."""
HOW_TO_CALL = 'Call one so:\n<tool_call>\n{"name": NAME, "arguments": OBJECT}\n</tool_call>'


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
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Those of its Modelfile, such as num_ctx."""
    own_template: bool = False
    """Whether its template is that of its file. Of such a one the list of models does not know what it can do."""
    tokenizer: str = "words"
    vocabulary: Sequence[str] = ("word",)
    merges: Sequence[str] = ()
    """Told where `verbose` asks for it; a tokenizer of words is none that a client could count with."""


@dataclass
class Loaded:
    """A model in memory, and the prompts that it holds."""

    context: int
    shift: bool
    until: float
    prompts: list[list[str]] = field(default_factory=list)

    def shared(self, prompt: list[str]) -> int:
        """How many tokens of a prompt were held; it is held from now on."""
        shared, nearest = max(((common(prompt, held), held) for held in self.prompts), default=(0, None))
        if nearest is not None and 2 * shared >= len(nearest):
            self.prompts.remove(nearest)
        self.prompts.append(prompt)
        return min(shared, len(prompt) - 1)  # the last one is computed anew, to have something to go on from


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
    download moves `step_bytes` at a time, `step_seconds` apart, and fails when the disk has no more of
    its `disk_bytes`. `requests` are the paths and bodies so far, `loads` the contexts that
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
        """The model in memory, loaded anew for another context or shift. Raises TypeError, ValueError."""
        wanted = {"num_ctx": 4_096, **model.parameters, **body.get("options", {})}["num_ctx"]
        if not isinstance(wanted, int):
            raise TypeError('option "num_ctx" must be of type integer')
        context, shift, loaded = min(wanted, model.context), body.get("shift") is not False, self.running().get(name)
        if loaded is None or (loaded.context, loaded.shift) != (context, shift):
            time.sleep(self.load_seconds)
            self.loads.append(context)
            loaded = self.memory[name] = Loaded(context, shift, 0)
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
        fault = "missing unit in" if str(value).lstrip("-").isdecimal() else "invalid"
        raise ValueError(f'time: {fault} duration "{value}"')
    return float("inf") if found[1] else int(found[2]) * UNITS[found[3]]


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """How long the same beginning of two prompts is."""
    differing = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))


def tokens(text: str) -> list[str]:
    """A stand-in for a tokenizer: marks, words, ends of lines, and signs one by one."""
    return re.findall(r"<\|\w+\|>|\w+|\n|[^\w\s]", text)


def rendered(model: Model, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any]) -> str:
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


def prompt_of(model: Model, body: Mapping[str, Any], context: int) -> list[str] | None:
    """The tokens of a prompt; None for one that is too long and may not be cut."""
    messages = list(body["messages"])
    while True:
        prompt = tokens(rendered(model, messages, body.get("tools") or ()))
        if len(prompt) <= context:
            return prompt
        if body.get("truncate") is False or body.get("shift") is False:
            return None
        oldest = next((at for at, message in enumerate(messages[:-1]) if message["role"] != "system"), None)
        if oldest is None:
            return prompt[: context // 2 + 2]
        del messages[oldest]


def written(message: Mapping[str, Any]) -> str:
    """A message as a template writes it."""
    calls = [call["function"] for call in message.get("tool_calls", ())]
    return "".join(
        [message.get("content", ""), *(f"\n<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls)]
    )


def words(text: str) -> list[str]:
    """A text in pieces, as it streams; digits one by one."""
    return re.findall(r"\s*(?:\d|[^\s\d]+)\s*|\s+", text)
