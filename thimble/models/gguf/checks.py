"""The doctor's findings about a local model, which is not started for them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version

from thimble.models.gguf.child import check_fit
from thimble.models.gguf.server import LocalModels
from thimble.models.server import Check
from thimble.models.tool_calls.caller import ToolCaller


def checks(server: LocalModels, caller: ToolCaller) -> Iterator[Check]:
    """Whether this machine can run it. Raises ModelError."""
    file = server.find_model(caller.model).path
    check_fit(file)
    yield Check(f"xllamacpp {version('xllamacpp')}; weights of {file.stat().st_size / 1e9:,.1f} GB, which fit")
