"""/strategy: swap to a strategy, list all with their parameters, or explain one in full."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from repl.commands.next_prompt import say_next_prompt
from repl.screen.pager import MORE, show
from repl.screen.sanitise import line
from repl.screen.tables import LEAST_WORDS, Table
from repl.screen.theme import is_drawn, say
from session.session import Session

if TYPE_CHECKING:
    from rich.table import Table as Drawn

HINTS = (
    "Swap: /strategy NAME, NAME:key=value,key=value, A+B, ./file.py, module:Name",
    "What the parameters of one mean, and which values they take: /help strategy NAME",
)


def strategy(session: Session, spec: str, console: Console) -> None:
    """/strategy [SPEC]: list the strategies, or swap to one.

    A SPEC is a name, a name with parameters (observation-masking:window=4,target=0.6), several joined by + (left to
    right), a file of yours (./mine.py) or package.module:Name. The history stays; the new strategy sees all of it
    and remembers nothing of the old one. /help strategy NAME explains one strategy. /strategy more lists each with
    what it does.
    """
    if spec in ("", MORE):
        used = session.spec
        show(console, spec, lambda: show_all(used, console), lambda: show_names(used, console), "/strategy")
        return
    session.use_strategy(spec)
    say(console, f"The strategy is now {line(session.spec)}. It starts again from the full history.")
    say_next_prompt(session, console)


def show_all(spec: str, console: Console) -> None:
    """Every strategy by family: what it does, and its parameters with their defaults; then what is in use."""
    from strategies.spec import parse_spec
    from strategies.table import FAMILIES, STRATEGIES

    used = [part.name for part in parse_spec(spec)]
    names = max(map(len, STRATEGIES)) + 3
    drawn = is_drawn(console) and console.width >= names + LEAST_WORDS
    for family, strategies in FAMILIES.items():
        say(console, family if drawn else f"{family}:", "bold" if drawn else "")
        if drawn:
            console.print(_drawn(strategies, used, names))
            continue
        for name, kind in strategies.items():
            mark = " (in use)" if name in used else ""
            say(console, f"  {name}{mark}: {first_sentence(kind)} {_defaults(kind)}".rstrip())
    console.print()
    console.print(Text.assemble("In use: ", (line(spec), "name")))
    for text in HINTS:
        say(console, text, "quiet")


def show_names(spec: str, console: Console) -> None:
    """The names by family, and what is in use."""
    from strategies.table import FAMILIES

    for family, strategies in FAMILIES.items():
        say(console, family, "bold")
        console.print(Text("  " + " · ".join(strategies), style="name"))
    console.print(Text.assemble("In use: ", (line(spec), "name")))
    for text in HINTS:
        say(console, text, "quiet")


def show_one(name: str, console: Console) -> None:
    """All that its docstring says, and its parameters with defaults and legal values.

    Raises:
        UsageError: there is no strategy of this name.
    """
    from strategies.parameter import as_in_the_paper, parameters
    from strategies.table import FAMILIES, STRATEGIES, asks_a_model, unknown

    if name not in STRATEGIES:
        raise unknown(name)
    kind = STRATEGIES[name]
    family = next(family for family, strategies in FAMILIES.items() if name in strategies)
    asks = " · asks a model" if asks_a_model(kind) else ""
    console.print(Text.assemble((name, "name"), (f" · {family.lower()}{asks}", "quiet")))
    for paragraph in paragraphs(kind):
        say(console, paragraph)
        if is_drawn(console):
            console.print()
    taken = parameters(kind)
    if taken:
        rows = [(p.name, p.shown, p.legal, p.meaning) for p in taken]
        Table("Parameters", ("name", "default", "takes", "meaning"), rows).show(console)
    if papers := as_in_the_paper(kind):
        say(console, f"As in the paper: {name}:paper, which sets {papers}", "quiet")
    say(console, f"Swap to it: /strategy {name}{':' * bool(taken)}{_defaults(kind, ',')}", "quiet")


def paragraphs(kind: type) -> list[str]:
    """A docstring's paragraphs, each in one line."""
    text = inspect.cleandoc(kind.__doc__ or "")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def first_sentence(kind: type) -> str:
    """The first sentence of a strategy's docstring: what it does. The second says what that costs."""
    return re.split(r"(?<=[.!?])\s", paragraphs(kind)[0])[0]


def _defaults(kind: type, between: str = " ") -> str:
    from strategies.parameter import parameters

    return between.join(f"{parameter.name}={parameter.shown}" for parameter in parameters(kind))


def _drawn(strategies: Mapping[str, type], used: Sequence[str], names: int) -> Drawn:
    from rich.table import Table as Drawn

    grid = Drawn.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, width=names)
    grid.add_column()
    for name, kind in strategies.items():
        mark = "› " if name in used else "  "
        told = Text.assemble(f"{first_sentence(kind)} ", (_defaults(kind), "quiet"))
        grid.add_row(Text(mark + name, style="name"), told)
    return grid
