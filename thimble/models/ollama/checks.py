"""The doctor's checks of an Ollama server and one of its models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from thimble.agent.errors import ModelError
from thimble.models.ollama.backend import Ollama
from thimble.models.ollama.model_info import ModelInfo, keep_seconds, think
from thimble.models.ollama.server import OllamaServer
from thimble.models.server import DEFAULT_MODEL, LEAST_ROOM, THINKING_TOKENS, Check, Think, fitting
from thimble.models.tool_calls.caller import ToolCaller

REPORTS_CACHED = (0, 33, 3)
"""The first version that reports the cached tokens of a prompt."""


def checks(server: OllamaServer, wanted: str) -> Iterator[Check]:
    """The findings about a server and a model; they end at the first failure that makes the others impossible."""
    place = "server"
    try:
        version = server.version()
        yield Check(place, "ok", f"Ollama {version} at {server.url}")
        place = "model"
        model = server.choose(wanted)
        info = server.info(model)
    except ModelError as error:
        yield Check(place, "fail", error.what, error.fix)
        return
    yield Check(place, "ok", model)
    able = info.can("tools")
    unable = f"{model} cannot call tools by itself: each turn is an object of a schema" if able is False else "not told"
    yield Check.of("tools", able, f"{model} calls tools", unable, f"a model that can: --model {DEFAULT_MODEL}")
    yield _thinking(server.options.think, model, info)
    yield _context(server, model, info)
    if info.examples:
        found = f"its Modelfile puts {info.examples} messages of its own before every prompt"
        yield Check("prompt", "warn", found, f"see them: ollama show --modelfile {model}")
    exact, estimated = "counts are exact", "counts are estimates (~) until the model has replied once"
    backend = Ollama(model, server)
    yield Check.of("tokenizer", backend.counter.exact, exact, estimated, "ask it something")
    reports = tuple(map(int, re.findall(r"\d{1,9}", version)[:3])) >= REPORTS_CACHED
    reported = "the server reports what it had cached"
    otherwise = "the server does not report what it had cached: thimble estimates it (~)"
    newer = f"update Ollama to {'.'.join(map(str, REPORTS_CACHED))}"
    yield Check.of("prefix cache", reports, reported, otherwise, newer)
    alive = server.options.keep_alive
    stays = f"the model stays loaded {'for good' if alive[:1] == '-' else alive}"
    leaves = f"the model is unloaded {alive} after a reply, and its cache with it"
    yield Check.of("keep-alive", keep_seconds(alive) >= 60, stays, leaves, "THIMBLE_KEEP_ALIVE=10m")
    yield from ToolCaller(backend, server.options.calls).how()


def _thinking(how: Think, model: str, info: ModelInfo) -> Check:
    value = think(how, model, info)
    if value is None:
        return Check("thinking", "ok", f"{model} does not think aloud")
    words = [level if isinstance(level, str) else ("off", "on")[level] for level in (value, *(info.levels or ()))]
    found = ", of ".join(filter(None, (words[0], ", ".join(words[1:]))))
    if value:
        found += f": up to {THINKING_TOKENS:,} tokens beside the reply"
    return Check.of("thinking", how in ("on", words[0]), found, f"{found}; it takes no {how!r}", "--think on")


def _context(server: OllamaServer, model: str, info: ModelInfo) -> Check:
    asked = Ollama(model, server, room=LEAST_ROOM).room
    own = f"{info.context:,}" if info.context else "an unknown number of"
    found, loaded = f"the model holds {own} tokens, {min(asked, info.context or asked):,} are asked for", None
    with suppress(ModelError):
        loaded = server.loaded(model)
    found += ", it is not loaded now" if loaded is None else f", loaded with {loaded:,}" if loaded else ""
    context = info.context or LEAST_ROOM
    budget = fitting(context, bool(think(server.options.think, model, info)))
    return Check.of("context", context >= LEAST_ROOM, found, found, f"--budget {budget}")
