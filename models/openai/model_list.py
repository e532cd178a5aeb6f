"""The models of a server: its list at /v1/models, the choice of one, and the context of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from thimble.agent.errors import ModelError
from thimble.models.openai.connection import Connection
from thimble.models.openai.errors import missing, unreadable
from thimble.models.wire.bounds import name
from thimble.models.wire.http import figure

Entry = Mapping[str, Any]
"""One model in the list at /v1/models."""

_NO_CHAT = re.compile(r"embed|rerank|whisper|\btts\b", re.IGNORECASE)
_CONTEXT = ("max_model_len", "context_length", "context_window", "max_context_length")


def listed(connection: Connection) -> list[Entry]:
    """The models of a server. Raises ModelError."""
    answer = connection.asked("/v1/models")
    entries = answer.get("data") if isinstance(answer, dict) else answer
    if not isinstance(entries, list):
        raise unreadable(str(answer).encode(errors="replace"), connection.url)
    return [entry for entry in entries if isinstance(entry, dict) and name(entry.get("id"))]


def is_list(answer: Any) -> bool:
    """Whether an answer has the form of /v1/models."""
    return isinstance(answer, dict) and isinstance(answer.get("data"), list)


def is_vllm(entries: Sequence[Entry]) -> bool:
    """Whether the list names vLLM as the owner of a model."""
    return any(entry.get("owned_by") == "vllm" for entry in entries if isinstance(entry, dict))


def chosen(entries: Sequence[Entry], wanted: str) -> str:
    """The wanted model, by its name or an alias; "" for the first that can chat.

    Raises:
        ModelError: There is no such model; the error names the server's models.
    """
    names = [str(entry["id"]) for entry in entries]
    if not wanted:
        first = next((name for name in names if not _NO_CHAT.search(name)), "")
        if not first:
            raise ModelError("the server has no model to talk to", "start it with one, or name it: --model NAME")
        return first
    if entry(entries, wanted) is None:
        raise missing(wanted, names)
    return wanted


def entry(entries: Sequence[Entry], model: str) -> Entry | None:
    """The entry of a model, by its name or an alias; None if the list has none."""
    for each in entries:
        aliases = each.get("aliases")
        if model == each["id"] or (isinstance(aliases, list) and model in aliases):
            return each
    return None


def context_tokens(told: Entry) -> int | None:
    """The tokens of prompt and reply that a model holds; None if the server does not say."""
    meta = told.get("meta")
    figures = [told.get(name) for name in _CONTEXT] + [meta.get("n_ctx") if isinstance(meta, dict) else None]
    return next(filter(None, map(figure, figures)), None)
