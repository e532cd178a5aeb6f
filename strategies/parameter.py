"""How a strategy declares its parameters: a dataclass field with a default, a legal range and a meaning."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, get_args, get_type_hints

from agent.errors import UsageError


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a strategy, as `/strategy` lists it. `choices` is empty for a number."""

    name: str
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()
    kind: type = int
    least: float = 0
    most: float = 1_000_000

    @property
    def legal(self) -> str:
        """The legal values, in words."""
        return " or ".join(self.choices) if self.choices else f"{self.least:,} to {self.most:,}"

    def read(self, text: str) -> Any:
        """The value that a SPEC gives as text.

        Raises:
            UsageError: it is not a legal value.
        """
        try:
            value: Any = text if self.choices else self.kind(text)
            legal = value in self.choices if self.choices else self.least <= value <= self.most
        except ValueError:
            legal = False
        if not legal:
            raise UsageError(f"{self.name}={text} is not possible", f"{self.name} takes {self.legal}: {self.meaning}")
        return value


def parameter(default: Any, meaning: str, least: float = 0, most: float = 1_000_000) -> Any:
    """A dataclass field that a SPEC may set."""
    return field(default=default, metadata={"meaning": meaning, "least": least, "most": most})


def parameters(strategy: type) -> list[Parameter]:
    """The parameters that a strategy class declares, in order."""
    hints = get_type_hints(strategy)
    return [
        Parameter(
            name=one.name,
            default=one.default,
            meaning=one.metadata["meaning"],
            choices=tuple(arg for arg in get_args(hints[one.name]) if isinstance(arg, str)),
            kind=float if hints[one.name] is float else int,
            least=one.metadata["least"],
            most=one.metadata["most"],
        )
        for one in fields(strategy)
        if "meaning" in one.metadata
    ]
