"""What a server has: its models, what they can do, and which of them to take."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.errors import ModelError
from models.address import is_loopback
from models.http import said_plainly
from models.ollama.errors import DEFAULT_MODEL, START, refusal, unreadable

if TYPE_CHECKING:
    import httpx
    import ollama


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a download is. Bytes; None where the server does not tell."""

    status: str
    done_bytes: int | None = None
    total_bytes: int | None = None


def installed(base_url: str, transport: httpx.BaseTransport | None = None) -> list[str]:
    """Names of the installed models, as the server orders them (newest first). Raises ModelError."""
    with asking(base_url, transport) as client:
        models = client.list().models
    return [each.model for each in models if each.model]


def capabilities(model: str, base_url: str, transport: httpx.BaseTransport | None = None) -> frozenset[str]:
    """What a model can do: "completion", "tools", "thinking", "vision", "embedding". Raises ModelError."""
    with asking(base_url, transport, model) as client:
        able = client.show(model).capabilities
    return frozenset(able or ())


def loaded_context(model: str, base_url: str, transport: httpx.BaseTransport | None = None) -> int | None:
    """Context window, in tokens, that a model is loaded with; None where the server does not tell."""
    with asking(base_url, transport, model) as client:
        loaded = client.ps().models
    return next((each.context_length for each in loaded if tagged(each.model or "") == tagged(model)), None)


def pull(model: str, base_url: str, transport: httpx.BaseTransport | None = None) -> Iterator[Progress]:
    """Download a model. Closing it stops; the server keeps what it has got. Raises ModelError."""
    with asking(base_url, transport, model, seconds=300.0) as client:
        for step in client.pull(model, stream=True):
            yield Progress(step.status or "", step.completed, step.total)


def choose_model(names: Sequence[str], wanted: str = "", can_call_tools: Callable[[str], bool] | None = None) -> str:
    """The installed model to use.

    The one that is wanted; else, in this order: qwen2.5:7b, another qwen2.5, a qwen3, and the first that can call
    tools. Without `can_call_tools`, which is asked as late as possible, that is the first that makes no embeddings.

    Raises:
        ModelError: Nothing suitable is installed; the fix says what to pull.
    """
    if wanted:
        found = next((name for name in names if tagged(name) == tagged(wanted)), None)
        if found is None:
            raise missing(wanted, names)
        return found
    ranks: tuple[Callable[[str], bool], ...] = (
        lambda name: name == DEFAULT_MODEL,
        lambda name: name.startswith("qwen2.5:"),
        lambda name: name.startswith("qwen3:"),
        can_call_tools or (lambda name: "embed" not in name),
    )
    for suits in ranks:
        for name in names:
            if suits(name):
                return name
    what = "no installed model can call tools" if names else "Ollama runs, but no model is installed"
    raise ModelError(what, f"ollama pull {DEFAULT_MODEL}")


def missing(model: str, names: Sequence[str]) -> ModelError:
    """The error for a model that is not among the installed ones."""
    others = f"installed: {', '.join(names)}" if names else "no model is installed"
    return ModelError(f"the model {model!r} is not installed", f"ollama pull {model} ({others})")


def tagged(model: str) -> str:
    """A model's name with its tag, which is `latest` where none is given."""
    return model if ":" in model.rsplit("/", 1)[-1] else f"{model}:latest"


@contextmanager
def asking(
    base_url: str, transport: httpx.BaseTransport | None, model: str = "", *, seconds: float = 10.0
) -> Iterator[ollama.Client]:
    """A client of Ollama's own package whose errors are ModelErrors."""
    import ollama

    to_this_machine, secure = is_loopback(base_url), base_url.startswith("https:")
    with said_plainly(base_url, seconds, START):
        try:
            with ollama.Client(
                base_url, timeout=seconds, transport=transport, trust_env=not to_this_machine, verify=secure
            ) as client:
                yield client
        except ollama.ResponseError as error:
            raise refusal(error.status_code, str(error.error), model) from error
        except ConnectionError as error:
            raise ModelError(f"nothing answers at {base_url}", START) from error
        except json.JSONDecodeError as error:
            raise unreadable(error.doc.encode(errors="replace")) from error
        except (ValueError, TypeError, AttributeError, RecursionError) as error:  # JSON, but of another shape
            raise unreadable(str(error).encode(errors="replace")) from error
