"""The doctor's checks of an Ollama server and one of its models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from agent.errors import ModelError
from models.ollama.backend import Ollama
from models.ollama.errors import DEFAULT_MODEL
from models.ollama.model_info import Level, ModelInfo, keep_seconds, think
from models.server import REPLY_TOKENS, THINKING_TOKENS, Check

if TYPE_CHECKING:
    from models.ollama.server import OllamaServer

REPORTS_CACHED = (0, 33, 3)
"""The first version that reports the cached tokens of a prompt."""
LEAST_ROOM = 8_000 + REPLY_TOKENS + THINKING_TOKENS


def checks(server: OllamaServer, model: str) -> Iterator[Check]:
    """The findings about a server and a model; they end at the first failure that makes the others impossible."""
    try:
        version = server.version()
    except ModelError as error:
        yield Check("server", "fail", error.what, error.fix)
        return
    yield Check("server", "ok", f"Ollama {version} at {server.url}")
    try:
        chosen = server.choose(model)
        info = server.info(chosen)
    except ModelError as error:
        yield Check("model", "fail", error.what, error.fix)
        return
    yield Check("model", "ok", chosen)
    yield _tools(chosen, info)
    yield _thinking(server, chosen, info)
    yield _context(server, chosen, info)
    if info.examples:
        found = f"its Modelfile puts {info.examples} messages of its own before every prompt"
        yield Check("prompt", "warn", found, f"see them: ollama show --modelfile {chosen}")
    yield _tokenizer(chosen)
    yield _cache(version)
    yield _keep_alive(server.options.keep_alive)


def _tools(model: str, info: ModelInfo) -> Check:
    able = info.can("tools")
    if able:
        return Check("tools", "ok", f"{model} calls tools")
    found = f"{model} cannot call tools by itself: it is told of them in text" if able is False else "not told"
    return Check("tools", "warn", found, f"a model that can: --model {DEFAULT_MODEL}")


def _thinking(server: OllamaServer, model: str, info: ModelInfo) -> Check:
    how = server.options.think
    value = think(how, model, info)
    if value is None:
        return Check("thinking", "ok", f"{model} does not think aloud")
    found = _level(value) + (f", of {', '.join(map(_level, info.levels))}" if info.levels else "")
    if value:
        found += f": up to {THINKING_TOKENS:,} tokens beside the reply"
    if how == "on" or how == _level(value):
        return Check("thinking", "ok", found)
    return Check("thinking", "warn", f"{found}; it takes no {how!r}", "--think on")


def _level(value: Level) -> str:
    return value if isinstance(value, str) else ("off", "on")[value]


def _context(server: OllamaServer, model: str, info: ModelInfo) -> Check:
    asked = Ollama(model, server, room=LEAST_ROOM).room
    own = f"{info.context:,}" if info.context else "an unknown number of"
    found, loaded = f"the model holds {own} tokens, {min(asked, info.context or asked):,} are asked for", None
    with suppress(ModelError):
        loaded = server.loaded(model)
    found += ", it is not loaded now" if loaded is None else f", loaded with {loaded:,}" if loaded else ""
    if info.context and info.context < LEAST_ROOM:
        return Check("context", "warn", found, f"--budget {max(500, info.context - REPLY_TOKENS)}")
    return Check("context", "ok", found)


def _tokenizer(model: str) -> Check:
    from models.counting.choose import counter_for

    if counter_for(model).exact:
        return Check("tokenizer", "ok", "its vocabulary is here: counts are exact")
    return Check(
        "tokenizer", "warn", "counts are estimates (~) until the first reply tells", "pip install 'thimble[qwen]'"
    )


def _cache(version: str) -> Check:
    found = re.match(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", version)
    if found and tuple(map(int, found.groups())) >= REPORTS_CACHED:
        return Check("prefix cache", "ok", "the server reports what it had cached")
    least = ".".join(map(str, REPORTS_CACHED))
    return Check("prefix cache", "warn", "the server does not report what it had cached", f"update Ollama to {least}")


def _keep_alive(keep_alive: str) -> Check:
    seconds = keep_seconds(keep_alive)
    if seconds < 60:
        found = f"the model is unloaded {keep_alive} after a reply, and its cache with it"
        return Check("keep-alive", "warn", found, "THIMBLE_KEEP_ALIVE=10m")
    return Check("keep-alive", "ok", f"the model stays loaded {'for good' if keep_alive[:1] == '-' else keep_alive}")
