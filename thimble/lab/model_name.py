"""A model as a flag of an experiment names it, and the settings of a session with it."""

from __future__ import annotations

from typing import Any

from thimble.agent.errors import UsageError
from thimble.models import READER
from thimble.session.settings import Settings
from thimble.session.settings_table import served_embeddings

MODEL_FORM = f"{READER}, or KIND:NAME or KIND:NAME@URL of a server"


def model_name(text: str) -> str:
    """The name that a flag gives. Raises UsageError."""
    if text != READER and not served_embeddings(text):
        raise UsageError(f"{text[:80]!r} names no model", f"write {READER}, ollama:NAME or openai:NAME@URL")
    return text


def named(model: str) -> str:
    """A model without the address of its server."""
    served = served_embeddings(model)
    return f"{served.kind}:{served.model}" if served else model


def settings_of(model: str, **rest: Any) -> Settings:
    """What a session with this model is opened with: nothing of it comes from the files or variables of a user."""
    served = served_embeddings(model)
    backend, name, url = (served.kind, served.model, served.url) if served else (READER, "", "")
    origins = {} if url else {"base_url": "default"}  # the address may be that of the environment
    return Settings(backend=backend, model=name, base_url=url, origins=origins, **rest)
