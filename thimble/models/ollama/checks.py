"""The doctor's findings about an Ollama server and a model, which is not loaded for them."""

from __future__ import annotations

from collections.abc import Iterator

from thimble.models.ollama.server import OllamaServer
from thimble.models.server import Check
from thimble.models.tool_calls.caller import ToolCaller


def checks(server: OllamaServer, caller: ToolCaller) -> Iterator[Check]:
    """The server's version, and the messages that it puts before every prompt. Raises ModelError."""
    yield Check(f"{server.version()} at {server.url}")
    if examples := server.info(caller.model).examples:
        found = f"the Modelfile puts {examples} messages of its own before every prompt"
        yield Check(found, f"see them: ollama show --modelfile {caller.model}")
