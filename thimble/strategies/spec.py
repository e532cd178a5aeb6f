"""The one parser of a SPEC: `name`, `name:key=value,…`, `./file.py`, `package.module:Name`, or several joined by `+`.

A name is built in, or that of a strategy of an installed package (`thimble.plugins`).

`name:paper` sets the parameters as in the paper that the strategy follows.

`parse_spec` imports nothing and runs nothing. `is_code` says in advance whether `parse` would.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

from thimble.agent.errors import UsageError, did_you_mean
from thimble.agent.protocols import Strategy
from thimble.agent.side import SideModel
from thimble.plugins import plugin_label, plugins
from thimble.strategies.own import load_own_strategy
from thimble.strategies.paper_names import use_our_names
from thimble.strategies.parameter import parameters_of
from thimble.strategies.table import STRATEGIES, Pipeline, asks_a_model, has_field, kind_of, unknown_strategy_error

FILE = re.compile(r"(.*\.py)(?::(.*))?")
PAPER = "paper"
"""The setting that gives a strategy the parameters of the paper that it follows."""


class PartSource(Enum):
    """The source of a part's strategy."""

    OURS = "ours"
    INSTALLED = "installed"
    FILE = "file"
    MODULE = "module"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Part:
    """One strategy of a SPEC.

    `name`: the name of the strategy, the path of a file or the dotted name of a module. `member`: the name in that file
    or module. `settings`: the text `key=value,…`. `start`: the offset of the part in the SPEC, in characters.
    """

    kind: PartSource
    name: str
    member: str = ""
    settings: str = ""
    start: int = 0

    @property
    def is_code(self) -> bool:
        """Whether a file or a module must be run to get the strategy. An installed package counts as built in."""
        return self.kind in (PartSource.FILE, PartSource.MODULE)


def parse_spec(text: str) -> list[Part]:
    """The parts of a SPEC, left to right; at least one. Any text has parts, even if no strategy has their names."""
    parts, end = [], 0
    for piece in text.split("+"):
        start = end + len(piece) - len(piece.lstrip())
        parts.append(_parse_part(piece.strip(), start))
        end += len(piece) + len("+")
    return parts


def is_code(text: str) -> bool:
    """Whether a SPEC names a file or a module, which `parse` would run. Opens no file: the words alone decide."""
    return any(part.is_code for part in parse_spec(text))


def _parse_part(piece: str, start: int = 0) -> Part:
    """The part in a piece of a SPEC. A piece that looks like a file is one, whether or not it exists."""
    if file := FILE.fullmatch(piece):
        member, _, settings = (file[2] or "").partition(":")
        return Part(PartSource.FILE, file[1], member, settings, start)
    name, _, rest = piece.partition(":")
    if name in STRATEGIES:
        return Part(PartSource.OURS, name, "", rest, start)
    if name in plugins("strategies"):
        return Part(PartSource.INSTALLED, name, "", rest, start)
    member, _, settings = rest.partition(":")
    if member.isidentifier() and all(word.isidentifier() for word in name.split(".")):
        return Part(PartSource.MODULE, name, member, settings, start)
    return Part(PartSource.UNKNOWN, name, "", rest, start)


def make_strategy(spec: str, side: SideModel) -> Strategy:
    """The strategy that a SPEC names, with fresh state. `side` is the model that it may ask, with the embedder.

    Raises:
        UsageError: no such strategy, parameter or value; the fix names the nearest right one.
    """
    parts = parse_spec(use_our_names(spec))
    if len(parts) == 1:
        return _strategy(parts[0], side)
    made = [(_strategy(part, side), part.name) for part in parts]
    return Pipeline(*zip(*sorted(made, key=lambda pair: pair[0].refers), strict=True))


def _strategy(part: Part, side: SideModel) -> Strategy:
    if part.is_code:
        short = f"{part.name}:{part.member}" if part.member else part.name
        return load_own_strategy(
            short, part.name, part.member, lambda kind: _make_instance(short, kind, part.settings, side)
        )
    if part.kind is PartSource.INSTALLED:
        kind_of(part.name)  # says what is wrong with the package, if it cannot be used
        plugin = plugins("strategies")[part.name]
        make = partial(_make_instance, part.name, settings=part.settings, side=side)
        return load_own_strategy(plugin_label(plugin), plugin.module, plugin.attr, make)
    if part.kind is PartSource.OURS:
        return _make_instance(part.name, STRATEGIES[part.name], part.settings, side)
    first, *more = part.name.split() or [""]
    if first in STRATEGIES and more:
        what = f"there is no strategy {part.name!r}"
        raise UsageError(what, f"write parameters as {first}:key=value,key=value")
    raise unknown_strategy_error(part.name)


def _make_instance(name: str, kind: Any, settings: str, side: SideModel) -> Strategy:
    """An instance with these settings.

    A field `model` gets the model to ask, `embedder` its embedder.
    """
    known = {parameter.name: parameter for parameter in parameters_of(kind)}
    papers = {one.name: one.paper for one in known.values() if one.paper is not None}
    given = [setting for part in settings.split(",") if (setting := part.strip())]
    by_paper = bool(papers) and PAPER in given
    if by_paper:
        given.remove(PAPER)
    values: dict[str, Any] = {}
    for setting in given:
        key, equals, text = (part.strip() for part in setting.partition("="))
        if key not in known:
            rest = f"known: {', '.join(known)}; write {name}:key=value,…" if known else f"write {name} alone"
            raise UsageError(f"{name} has no parameter {key!r}", did_you_mean(key, known, rest))
        if not equals:
            raise UsageError(f"{name}: {key} has no value", f"write {key}=value; it takes {known[key].legal}")
        if key in values:
            raise UsageError(f"{name}: {key} is given twice", f"write {name}:key=value,…, each key once")
        values[key] = known[key].read(text)
    values = papers | values if by_paper else values
    if asks_a_model(kind):
        values["model"] = side
    if has_field(kind, "embedder"):
        values["embedder"] = side.embedder
    strategy: Strategy = kind(**values)
    return strategy
