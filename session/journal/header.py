"""The first line of a journal: what a session began with, and the settings that it goes on with."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from models import READER
from models.wire.address import hidden
from session.journal.records import VERSION, Opened
from session.settings import AUTO, Settings, address_of

if TYPE_CHECKING:
    from agent.agent import Agent
    from session.journal.journal import Journal
    from session.journal.state import SavedState

SAMPLING = ("temperature", "seed")
KEPT = (
    "base_url",
    "summariser",
    "memory",
    "embeddings",
    "price",
    "tidy",
    "corpus",
    "files",
    "budget",
    "max_turns",
    "think",
    "calls",
    *SAMPLING,
    "stream",
    "keep_alive",
)
"""The settings that shape what a model is sent, beside those that can be swapped."""
LATER: dict[str, str | bool | int | float] = {"tidy": True, "calls": "auto"}
"""The settings that a journal names only where they are otherwise: older ones do not know them."""
MODEL_SETTINGS = ("backend", "base_url", "model")
"""The settings that say which model answers."""


def opened(journal: Journal, settings: Settings, agent: Agent, widest: int) -> Opened:
    """The first line, as the session is now. `widest` is its largest budget so far, in tokens."""
    kept = {name: AUTO if (value := getattr(settings, name)) is None else value for name in KEPT}
    kept |= {name: str(kept[name]) for name in ("corpus", "files")}
    kept["tidy"] = agent.state.tidy
    kept = {name: value for name, value in kept.items() if name not in LATER or value != LATER[name]}
    kept["budget"] = widest
    kept["base_url"] = address_of(agent.backend.name, settings) if agent.backend.name != READER else ""
    kept |= {
        name: "" for name in ("base_url", "summariser", "memory", "embeddings") if hidden(kept[name]) != kept[name]
    }
    state, model = agent.state, agent.backend.id
    begun_with = state.system, state.strategy, state.limit, model.backend, model.name
    return Opened(VERSION, journal.id, *begun_with, kept, journal.one_shot)


def sampling(began: Opened) -> dict[str, str | bool | int | float]:
    """The temperature and the seed that a session began with, as far as it sent them."""
    return {name: began.settings[name] for name in SAMPLING if began.settings.get(name, AUTO) != AUTO}


def settings_of(saved: SavedState, others: Container[str] = ()) -> dict[str, object]:
    """The settings with which the session goes on, where `others` are asked for: with another server another model."""
    began = {**LATER, **saved.opened.settings}
    own: dict[str, object] = {name: value for name, value in began.items() if name in KEPT}
    own |= {"strategy": saved.strategy, "budget": saved.limit, "tidy": saved.tidy}
    own |= {"backend": saved.model.backend, "model": saved.model.name}
    elsewhere = "backend" in others or "base_url" in others or ("model" in others and saved.model.backend == READER)
    return {name: value for name, value in own.items() if value != "" and not (elsewhere and name in MODEL_SETTINGS)}
