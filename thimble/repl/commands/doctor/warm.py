"""`thimble doctor --warm`: warm up the model before a lesson, and report how long that takes."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from thimble.agent.loop import run
from thimble.agent.reply import Reply
from thimble.models.ollama.model_info import keep_seconds
from thimble.models.server import Check, ServedBackend
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.session.warming import start_warming

QUESTION = "What is this library about?"
KEEP_ALIVE = "2h"
"""How long Ollama keeps the model loaded, unless the settings say longer."""


def warm(settings: Settings) -> Iterator[Check]:
    """Load the model, have it compute the fixed start of every prompt, and answer a question that is not saved.

    Raises ThimbleError.
    """
    alive = max(settings.keep_alive, KEEP_ALIVE, key=keep_seconds)
    session = Session(settings.replace(keep_alive=alive))
    try:
        agent = session.agent
        if not isinstance(agent.backend, ServedBackend):
            yield Check(f"{agent.backend.id.called} is ready at any time")
            return
        reply, began = Reply(), perf_counter()
        for _ in agent.backend.loading():
            pass
        loaded = perf_counter()
        start_warming(agent).ask(reply)
        computed, load_seconds = perf_counter(), loaded - began + (reply.usage.load_seconds or 0.0)
        fork = session.fork()
        for _ in run(fork, QUESTION):
            pass
        answered = perf_counter()
    finally:
        session.leave()
    beginning = f"the start of the prompt {computed - began - load_seconds:.1f} s"
    answers = f"the first answer took {answered - began:.1f} s with both, the next takes {answered - computed:.1f} s"
    yield Check(f"loading {load_seconds:.1f} s, {beginning}: {answers}")
    if agent.backend.name == "gguf":
        ends = "each session loads the model again, and computes the start of the prompt while you type"
        yield Check(ends, "to keep it loaded, serve it with Ollama or llama-server")
    elif agent.backend.name == "ollama":
        yield Check(f"the model stays loaded for {alive}")
