"""How a strategy declares its parameters: a dataclass field with a default, a legal range and a meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from types import NoneType
from typing import Any, get_args, get_type_hints

from thimble.agent.errors import UsageError, did_you_mean


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a strategy, as `/strategy` lists it.

    `choices`: the words that it takes, and their values. `kind`: the type of its numbers, from `least` to `most`; None
    if it takes only words. `paper`: its value in the paper that the strategy follows; None if the paper has no value.
    """

    name: str
    default: Any
    meaning: str
    choices: Mapping[str, Any] = field(default_factory=dict)
    kind: type[int] | type[float] | None = int
    least: float = 0
    most: float = 1_000_000
    paper: Any = None

    @property
    def legal(self) -> str:
        """The legal values, in words."""
        numbers = [f"{self.least:,} to {self.most:,}"] if self.kind else []
        *others, last = [*numbers, *self.choices]
        return f"{', '.join(others)} or {last}" if others else last

    @property
    def shown(self) -> str:
        """The default, as a SPEC writes it."""
        return self.written(self.default)

    def written(self, value: Any) -> str:
        """A value of it, as a SPEC writes it."""
        return next((word for word, meant in self.choices.items() if meant is value), str(value))

    def read(self, text: str) -> Any:
        """The value that a SPEC gives as text.

        Raises:
            UsageError: the value is not legal; the fix names the nearest legal one, and all of them.
        """
        if text in self.choices:
            return self.choices[text]
        try:
            value = self.kind(text) if self.kind else float("nan")
        except ValueError:
            value = float("nan")
        if self.least <= value <= self.most:
            return value
        rest = f"{self.name} takes {self.legal}: {self.meaning}"
        raise UsageError(f"{self.name}={text} is not valid", did_you_mean(text, self.choices, rest))


def parameter(default: Any, meaning: str, least: float = 0, most: float = 1_000_000, paper: Any = None) -> Any:
    """A dataclass field that a SPEC may set; the SPEC `NAME:paper` sets it to `paper`.

    Its type lists its values: `int` or `float` from `least` to `most`, the words of a `Literal`, `bool` for on and off,
    or a union of these (`float | Literal["auto"]`). With `| None` it may be unset; if this is the default, the meaning
    ends by explaining it, as in "turns kept; unset: as many as fit".
    """
    return field(default=default, metadata={"meaning": meaning, "least": least, "most": most, "paper": paper})


@lru_cache(maxsize=64)
def parameters_of(strategy: type) -> list[Parameter]:
    """The parameters that a strategy class declares, in order."""
    if not is_dataclass(strategy):
        return []
    hints = get_type_hints(strategy)
    return [
        Parameter(one.name, one.default, choices=_words(taken), kind=_number(taken), **one.metadata)
        for one in fields(strategy)
        if "meaning" in one.metadata
        for taken in [list(_members(hints[one.name]))]
    ]


def as_in_the_paper(strategy: type) -> str:
    """The parameters that the SPEC `NAME:paper` sets, as a SPEC writes them; empty if the strategy follows no paper."""
    return ",".join(f"{one.name}={one.written(one.paper)}" for one in parameters_of(strategy) if one.paper is not None)


def _members(hint: Any) -> Iterator[Any]:
    """The types and words that make up a type."""
    if not get_args(hint):
        yield hint
    for part in get_args(hint):
        yield from _members(part)


def _words(taken: Sequence[Any]) -> dict[str, Any]:
    words = {member: member for member in taken if isinstance(member, str)}
    switch = {"on": True, "off": False} if bool in taken else {}
    return words | switch | ({"unset": None} if NoneType in taken else {})


def _number(taken: Sequence[Any]) -> type[int] | type[float] | None:
    return next((kind for kind in (float, int) if kind in taken), None)
