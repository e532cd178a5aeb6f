"""/strategy: swap to a strategy, list all with their parameters, or explain one in full."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from thimble.repl.commands.command import PATHS, Offer, command, paths
from thimble.repl.commands.next_prompt import say_next_prompt
from thimble.repl.screen.pager import paged
from thimble.repl.screen.sanitise import line
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import in_use, is_drawn, say
from thimble.session.session import Session

if TYPE_CHECKING:
    from thimble.strategies.parameter import Parameter

HINTS = (
    "Swap: /strategy NAME, NAME:key=value,key=value, A+B, ./file.py, module:Name",
    "What the parameters of one mean, and which values they take: /help strategy NAME",
)


def specs(session: object, text: str) -> Iterator[Offer]:
    """Continuations of a SPEC; each is offered with all that stands before it."""
    from thimble.strategies.parameter import as_in_the_paper, parameters
    from thimble.strategies.spec import parse_spec
    from thimble.strategies.table import STRATEGIES

    last = parse_spec(text)[-1]
    done, part = text[: last.start], text[last.start :]
    if part.startswith(PATHS):
        yield from ((done + path, "your strategy") for path in paths(part, ".py"))
        return
    kind = STRATEGIES.get(last.name)
    taken = {p.name: p for p in parameters(kind)} if kind else {}
    if ":" not in part:
        yield from ((done + known, meaning) for known, meaning in strategies())
        if taken:
            yield f"{done}{last.name}:", f"set {', '.join(taken)}"
        return
    given, comma, setting = last.settings.rpartition(",")
    done += f"{last.name}:{given}{comma}"
    key, equals, _ = setting.partition("=")
    if not equals:
        known = {earlier.partition("=")[0].strip() for earlier in given.split(",")}
        yield from ((f"{done}{p.name}=", _legal(p)) for p in taken.values() if p.name not in known)
        if kind and "paper" not in known and (papers := as_in_the_paper(kind)):
            yield f"{done}paper", f"as in the paper: {papers}"
    elif key in taken:
        values = dict.fromkeys((taken[key].shown, *taken[key].choices))
        yield from ((f"{done}{key}={value}", _legal(taken[key])) for value in values)


def last_spec(session: object, text: str) -> Iterator[Offer]:
    """Continuations of the last of several words, which is a SPEC; after `run` a question follows."""
    before, blank, last = text.rpartition(" ")
    if "run" not in before.split():
        yield from ((before + blank + offer, meaning) for offer, meaning in specs(session, last))


def strategies() -> list[Offer]:
    """Every built-in strategy by name."""
    from thimble.strategies.table import STRATEGIES

    return [(name, first_sentence(kind)) for name, kind in STRATEGIES.items()]


@command("strategy [SPEC] [watch]", "Prompt", completer=specs)
def strategy(session: Session, spec: str, console: Console) -> None:
    """List the strategies, or swap to one.

    A SPEC is a name, a name with parameters (observation-masking:window=4,target=0.6), several joined by + (left to
    right), a file of yours (./mine.py) or package.module:Name. The history stays; the new strategy sees all of it
    and remembers nothing of the old one. /strategy ./mine.py watch reads the file anew when you have saved it. /help
    strategy NAME explains one strategy.
    """
    if not spec:
        with paged(console):
            show_all(session.spec, console)
        return
    name, _, last = spec.rpartition(" ")
    watch = last == "watch"
    session.use_strategy(name if watch else spec, watch=watch)
    watched = " A change of its file counts from your next line on." if watch else ""
    say(console, f"The strategy is now {line(session.spec)}. It starts again from the full history.{watched}")
    say_next_prompt(session, console)


def show_all(spec: str, console: Console) -> None:
    """Every strategy by family: what it does, and its parameters with their defaults; then what is in use."""
    from thimble.strategies.spec import parse_spec
    from thimble.strategies.table import FAMILIES, STRATEGIES

    used, longest = [part.name for part in parse_spec(spec)], max(map(len, STRATEGIES)) + 2
    for family, strategies in FAMILIES.items():
        rows = []
        for name, kind in strategies.items():
            told = f"{first_sentence(kind)} {_defaults(kind)}".rstrip()
            shown = f"{name}{in_use(console, name in used)}".ljust(longest if is_drawn(console) else 0)
            rows.append((Text(shown, style="name"), told))
        Table(family, ("", ""), rows).show(console)
    console.print()
    console.print(Text.assemble("In use: ", (line(spec), "name")))
    for text in HINTS:
        say(console, text, "quiet")


def show_one(name: str, console: Console) -> None:
    """All that its docstring says, and its parameters with defaults and legal values.

    Raises:
        UsageError: there is no strategy of this name.
    """
    from thimble.strategies.parameter import as_in_the_paper, parameters
    from thimble.strategies.table import FAMILIES, STRATEGIES, asks_a_model, unknown

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
    from thimble.strategies.parameter import parameters

    return between.join(f"{parameter.name}={parameter.shown}" for parameter in parameters(kind))


def _legal(parameter: Parameter) -> str:
    return f"default {parameter.shown}: {parameter.meaning} ({parameter.legal})"
