"""The doctor's checks of the models of this machine. No model is started."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version

from thimble.agent.errors import ModelError
from thimble.models.gguf.backend import backend
from thimble.models.gguf.child import fits
from thimble.models.gguf.header import read_header
from thimble.models.gguf.server import LocalModels
from thimble.models.gguf.this_machine import XLLAMACPP_INSTALL, cores, is_installed, threads
from thimble.models.server import LEAST_ROOM, Check, fitting
from thimble.models.tool_calls.caller import ToolCaller


def checks(server: LocalModels, wanted: str) -> Iterator[Check]:
    """The findings about the package and a model; they end at the first failure that makes the others impossible."""
    if not is_installed():
        yield Check("package", "fail", "xllamacpp is not installed: no model runs without a server", XLLAMACPP_INSTALL)
        return
    place = "model"
    yield Check("package", "ok", f"xllamacpp {version('xllamacpp')}")
    try:
        model = server.found(server.choose(wanted))
        yield Check(place, "ok", model.name)
        place = "file"
        header = read_header(model.path)
        yield Check(place, "ok", f"{header.architecture}, {model.path.stat().st_size / 1e9:,.1f} GB")
        room = min(LEAST_ROOM, header.context)
        told = f"trained for {header.context:,} tokens, {room:,} are asked for"
        yield Check.of("context", room == LEAST_ROOM, told, told, f"--budget {fitting(room)}")
        place = "memory"
        fits(model.path)
    except ModelError as error:
        yield Check(place, "fail", error.what, error.fix)
        return
    yield Check(place, "ok", "its weights fit")
    if model.unused:
        yield Check("parts", "warn", f"it runs without {model.unused}", "ollama serve")
    yield Check("threads", "ok", f"{threads()}, of {cores()} cores")
    yield from ToolCaller(backend(server, model.name, 0), server.options.calls).how()
