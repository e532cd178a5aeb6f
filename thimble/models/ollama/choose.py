"""The choice among the installed models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thimble.agent.errors import ModelError
from thimble.models.ollama.model_info import add_default_tag
from thimble.models.server import DEFAULT_MODEL, NoModel, name_models


def choose_model(names: Sequence[str], wanted: str = "", can: Callable[[str, str], bool | None] | None = None) -> str:
    """The installed model to use.

    The wanted one; else, in this order: qwen2.5:7b, another qwen2.5, a qwen3, the first that can call tools, the first
    that can chat. `can` says whether a model has an ability (None: unknown) and is called as late as possible; without
    it, every model can chat except those with embed in their names.

    Raises:
        NoModel: Nothing suitable is installed; the fix says what to pull.
        ModelError: The wanted one is not.
    """
    if wanted:
        found = next((name for name in names if add_default_tag(name) == add_default_tag(wanted)), None)
        if found is None:
            raise missing_model_error(wanted, names)
        return found

    def chats(name: str) -> bool:
        return "embed" not in name and (can is None or can(name, "completion") is not False)

    ranks: tuple[Callable[[str], bool], ...] = (
        lambda name: name == DEFAULT_MODEL,
        lambda name: name.startswith("qwen2.5:"),
        lambda name: name.startswith("qwen3:"),
        lambda name: can is not None and can(name, "tools") is True and chats(name),
        chats,
    )
    chosen = next((name for suits in ranks for name in names if suits(name)), "")
    if not chosen:
        what = "no installed model can chat" if names else "Ollama runs, but no model is installed"
        raise NoModel(what, f"ollama pull {DEFAULT_MODEL}")
    return chosen


def missing_model_error(model: str, names: Sequence[str]) -> ModelError:
    """The error for a model that is not among the installed ones."""
    others = f"installed: {name_models(names)}" if names else "no model is installed"
    return ModelError(f"the model {model!r} is not installed", f"ollama pull {model} ({others})")
