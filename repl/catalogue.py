"""The strategies on the screen: all of them with their parameters, or one in full."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from repl.sanitise import clean, line
from repl.tables import LEAST_WORDS, Table
from repl.theme import is_drawn

if TYPE_CHECKING:
    from rich.table import Table as Drawn

    from strategies.parameter import Parameter

HOW = (
    "Swap: /strategy NAME, NAME:key=value,key=value, A+B, ./file.py, module:Name",
    "All about one, and the values that it takes: /help strategy NAME",
)
Row = tuple[str, str, str]
"""What a line of the list is about (a family, a strategy or a parameter), its name and its meaning."""


def show_all(spec: str, console: Console) -> None:
    """Every strategy by family: what it does, and each parameter with its default and meaning; then what is in use."""
    from strategies.parameter import parameters
    from strategies.table import FAMILIES

    rows: list[Row] = []
    for family, strategies in FAMILIES.items():
        rows.append(("family", family, ""))
        for name, kind in strategies.items():
            rows.append(("strategy", name, first_sentence(kind)))
            rows += [("parameter", f"{p.name}={p.shown}", p.meaning) for p in parameters(kind)]
    used = [part.partition(":")[0].strip() for part in spec.split("+")]
    wide = console.width >= _longest(rows) + LEAST_WORDS
    (_draw if is_drawn(console) and wide else _list)(rows, used, console)
    console.print()
    console.print(Text.assemble("In use: ", (line(spec), "name")))
    for text in HOW:
        console.print(Text(text, style="quiet"))


def show_one(name: str, console: Console) -> None:
    """All that its docstring says, and its parameters with defaults and legal values.

    Raises:
        UsageError: there is no strategy of this name.
    """
    from strategies.parameter import parameters
    from strategies.table import FAMILIES, STRATEGIES, asks_a_model, unknown

    if name not in STRATEGIES:
        raise unknown(name)
    kind = STRATEGIES[name]
    family = next(family for family, strategies in FAMILIES.items() if name in strategies)
    asks = " · asks a model" if asks_a_model(kind) else ""
    console.print(Text.assemble((name, "name"), (f" · {family.lower()}{asks}", "quiet")))
    for paragraph in paragraphs(kind):
        console.print(Text(clean(paragraph)))
        if is_drawn(console):
            console.print()
    taken = parameters(kind)
    if taken:
        rows = [(p.name, p.shown, p.legal, p.meaning) for p in taken]
        Table("Parameters", ("name", "default", "takes", "meaning"), rows).show(console)
    console.print(Text(f"Swap to it: /strategy {_with_defaults(name, taken)}", style="quiet"))


def paragraphs(kind: type) -> list[str]:
    """A docstring's paragraphs, each in one line."""
    text = inspect.cleandoc(kind.__doc__ or "")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def first_sentence(kind: type) -> str:
    """What a strategy does; the second sentence of its docstring is what that costs."""
    return re.split(r"(?<=[.!?])\s", paragraphs(kind)[0])[0]


def _with_defaults(name: str, taken: Sequence[Parameter]) -> str:
    return name + ":" * bool(taken) + ",".join(f"{parameter.name}={parameter.shown}" for parameter in taken)


def _draw(rows: Sequence[Row], used: Sequence[str], console: Console) -> None:
    """In two columns: names, with their parameters below them, and meanings."""
    grid: Drawn | None = None
    for about, name, meaning in rows:
        if about == "family":
            if grid:
                console.print(grid)
            console.print(Text(f"\n{name}" if grid else name, style="bold"))
            grid = _grid(_longest(rows) + 3)
            continue
        assert grid is not None, "a family comes first"
        mark = "› " if name in used else "  "
        if about == "strategy":
            grid.add_row(Text(mark + name, style="name"), Text(meaning))
        else:
            grid.add_row(Text(f"    {name}", style="tool"), Text(meaning, style="quiet"))
    console.print(grid)


def _longest(rows: Sequence[Row]) -> int:
    return max(len(name) for about, name, _ in rows if about != "family")


def _grid(names: int) -> Drawn:
    from rich.table import Table as Drawn

    grid = Drawn.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, width=names)
    grid.add_column()
    return grid


def _list(rows: Sequence[Row], used: Sequence[str], console: Console) -> None:
    for about, name, meaning in rows:
        if about == "family":
            text = f"{name}:"
        elif about == "strategy":
            text = f"  {name}{' (in use)' if name in used else ''}: {meaning}"
        else:
            text = f"    {name}: {meaning}"
        console.print(Text(text))
