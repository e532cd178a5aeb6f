"""The first line of a journal: the settings that a session started with, and those with which it continues."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from thimble.agent.protocols import ModelId
from thimble.session.journal.records import VERSION, Opened, Value
from thimble.session.settings import Settings, names_server
from thimble.session.settings_table import AUTO, SETTINGS

if TYPE_CHECKING:
    from thimble.agent.agent import Agent
    from thimble.session.journal.journal import Journal
    from thimble.session.journal.state import SavedState

SAMPLING = ("temperature", "seed")
REQUEST_SETTINGS = tuple(name for name, setting in SETTINGS.items() if setting.kept)
"""The settings that affect a request, except those that can be swapped."""
MODEL_SETTINGS = ("backend", "model")
"""The settings that choose the model."""


def opening_line(journal: Journal, settings: Settings, agent: Agent, widest: int) -> Opened:
    """The first line, with the session's present settings, but its largest budget so far, in tokens."""
    kept = {name: AUTO if (value := getattr(settings, name)) is None else value for name in REQUEST_SETTINGS}
    kept |= {name: str(kept[name]) for name in ("corpus", "files")}
    kept = {name: value for name, value in kept.items() if not names_server(name, value)}
    kept |= {**agent.state.settings, "model": str(agent.backend.id), "budget": widest}
    return Opened(VERSION, journal.id, kept, journal.one_shot, journal.run)


def sampling_settings(began: Opened) -> dict[str, Value]:
    """The temperature and the seed that a session started with, if it sent them."""
    return {name: began.settings[name] for name in SAMPLING if began.settings.get(name, AUTO) != AUTO}


def settings_of(saved: SavedState, others: Container[str] = ()) -> dict[str, object]:
    """The settings with which a session continues; if `others` name another server, not its model."""
    own: dict[str, object] = {name: value for name, value in saved.opened.settings.items() if name in REQUEST_SETTINGS}
    model = ModelId.read(saved.model)
    own |= {**saved.settings, "backend": model.backend, "model": model.name}
    elsewhere = "backend" in others or "base_url" in others or ("model" in others and model.built_in)
    return {name: value for name, value in own.items() if name not in MODEL_SETTINGS or (value and not elsewhere)}
