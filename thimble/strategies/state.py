"""State: the memory of a strategy between two calls, as its own dataclass and as JSON in the session's file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from thimble.agent.protocols import Strategy


class Stateful(Strategy):
    """A strategy with a field `memory`, a dataclass of everything that it remembers."""

    memory: Any

    @property
    def state(self) -> dict[str, Any]:
        """The memory as JSON, without empty values."""
        return _to_json(self.memory)

    @state.setter
    def state(self, state: Mapping[str, Any]) -> None:
        self.memory = _read(type(self.memory), state)


def _to_json(memory: Any) -> dict[str, Any]:
    values = {one.name: getattr(memory, one.name) for one in fields(memory)}
    saved = {name: _to_json(value) if is_dataclass(value) else value for name, value in values.items()}
    return {name: value for name, value in saved.items() if value}


def _read(kind: type, state: Mapping[str, Any]) -> Any:
    """A memory of this kind; values that the state lacks have their defaults."""
    values: dict[str, Any] = {}
    for one in fields(kind):
        if one.name in state:
            begun = one.default_factory() if one.default_factory is not MISSING else None
            value = state[one.name]
            values[one.name] = _read(type(begun), value) if is_dataclass(begun) else value
    return kind(**values)
