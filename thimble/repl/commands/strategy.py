"""/strategy: swap to a strategy, list all with their parameters, or explain one in full."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from thimble.agent.errors import UsageError
from thimble.repl.commands.command import PATHS, Offer, command, complete_paths
from thimble.repl.commands.next_prompt import say_next_prompt
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import in_use, is_drawn, say
from thimble.session.session import Session

if TYPE_CHECKING:
    from thimble.strategies.parameter import Parameter

HINTS = (
    "Swap: /strategy NAME, NAME:key=value,key=value, A+B, ./file.py, module:Name",
    "The parameters of a strategy, with their values: /help strategy NAME",
)


def specs(session: object, text: str) -> Iterator[Offer]:
    """Completions of a SPEC, each with the whole text before it."""
    from thimble.strategies.parameter import as_in_the_paper, parameters_of
    from thimble.strategies.spec import parse_spec
    from thimble.strategies.table import kind_of, strategy_names

    last = parse_spec(text)[-1]
    done, part = text[: last.start], text[last.start :]
    if part.startswith(PATHS):
        yield from ((done + path, "your strategy") for path in complete_paths(part, ".py"))
        return
    kind = kind_of(last.name) if last.name in strategy_names() else None
    taken = {p.name: p for p in parameters_of(kind)} if kind else {}
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
    """Completions of the last word, which is a SPEC; none after `run`, which a question follows."""
    before, blank, last = text.rpartition(" ")
    if "run" not in before.split():
        yield from ((before + blank + offer, meaning) for offer, meaning in specs(session, last))


def strategies() -> list[Offer]:
    """Every strategy by name: the built-in ones, then those of installed packages."""
    from thimble.plugins import package, plugins
    from thimble.strategies.table import STRATEGIES

    known = {name: first_sentence(kind) for name, kind in STRATEGIES.items()}
    for name, plugin in plugins("strategies").items():
        known.setdefault(name, f"installed by {package(plugin)}")  # do not import it while the user types
    return [*known.items()]


@command("strategy [SPEC] [watch]", "Prompt", completer=specs)
def strategy(session: Session, spec: str, console: Console) -> None:
    """List the strategies, or swap to one.

    A SPEC is a name, a name with parameters (observation-masking:window=4,target=0.6), several joined by + (left to
    right), your own file (./mine.py) or package.module:Name. The new strategy starts fresh on the whole history.
    /strategy ./mine.py watch reloads the file whenever you save it. /help strategy NAME explains one strategy.
    """
    from thimble.strategies.parameter import as_in_the_paper
    from thimble.strategies.spec import PAPER, PartSource, parse_spec
    from thimble.strategies.table import STRATEGIES

    if not spec:
        show_all(session.spec, console)
        return
    name, _, last = spec.rpartition(" ")
    watch = last == "watch"
    session.use_strategy(name if watch else spec, watch=watch)
    watched = " Changes to its file take effect at your next line." if watch else ""
    say(console, f"The strategy is now {one_line(session.spec)}. It starts fresh from the full history.{watched}")
    for part in parse_spec(session.spec):
        if part.kind is PartSource.OURS and PAPER in part.settings.split(","):
            say(console, f"{part.name}:{PAPER} is {as_in_the_paper(STRATEGIES[part.name])}.", "quiet")
    say_next_prompt(session, console)


def show_all(spec: str, console: Console) -> None:
    """Print every strategy by family, with its first sentence and its defaults; then the SPEC in use."""
    from thimble.strategies.spec import parse_spec
    from thimble.strategies.table import FAMILIES, strategy_names

    used, longest = {part.name: part.settings for part in parse_spec(spec)}, max(map(len, strategy_names())) + 2
    installed, broken = _installed()
    for family, strategies in (FAMILIES | installed).items():
        rows = []
        for name, kind in strategies.items():
            told = f"{first_sentence(kind)} {_defaults(kind)}".rstrip()
            told += f"; in use: {used[name]}" if used.get(name) else ""
            shown = f"{name}{in_use(console, name in used)}".ljust(longest if is_drawn(console) else 0)
            rows.append((Text(shown, style="name"), told))
        Table(family, ("", ""), rows).show(console)
    console.print()
    for error in broken:
        say(console, one_line(error), "quiet")
    console.print(Text.assemble("In use: ", (one_line(spec), "name")))
    for text in HINTS:
        say(console, text, "quiet")


def show_one(name: str, console: Console) -> None:
    """Print the docstring of a strategy, and its parameters with defaults and legal values.

    Raises:
        UsageError: there is no strategy of this name.
    """
    from thimble.plugins import package, plugins
    from thimble.strategies.parameter import as_in_the_paper, parameters_of
    from thimble.strategies.table import FAMILIES, asks_a_model, kind_of

    kind = kind_of(name)
    built_in = (family for family, strategies in FAMILIES.items() if name in strategies)
    family = next(built_in, None) or f"installed by {one_line(package(plugins('strategies')[name]))}"
    asks = " · asks a model" if asks_a_model(kind) else ""
    console.print(Text.assemble((name, "name"), (f" · {family.lower()}{asks}", "quiet")))
    for paragraph in paragraphs(kind):
        say(console, paragraph)
        if is_drawn(console):
            console.print()
    taken = parameters_of(kind)
    if taken:
        rows = [(p.name, p.shown, p.legal, p.meaning) for p in taken]
        Table("Parameters", ("name", "default", "takes", "meaning"), rows).show(console)
    if papers := as_in_the_paper(kind):
        say(console, f"As in the paper: {name}:paper, which sets {papers}", "quiet")
    say(console, f"Swap to it: /strategy {name}{':' * bool(taken)}{_defaults(kind, ',')}", "quiet")


def _installed() -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The strategies of installed packages, a family per package, and a line for each that cannot be used."""
    from thimble.plugins import package, plugin_label, plugins
    from thimble.strategies.table import STRATEGIES, kind_of

    families: dict[str, dict[str, Any]] = {}
    broken = []
    for name, plugin in plugins("strategies").items():
        if name in STRATEGIES:
            broken.append(f"{plugin_label(plugin)} is not used: the built-in strategy has this name")
            continue
        try:
            families.setdefault(f"Installed by {package(plugin)}", {})[name] = kind_of(name)
        except UsageError as error:
            broken.append(error.what)
    return families, broken


def paragraphs(kind: type) -> list[str]:
    """A docstring's paragraphs, each in one line."""
    text = inspect.cleandoc(kind.__doc__ or "")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def first_sentence(kind: type) -> str:
    """The first sentence of a strategy's docstring: its effect. The second is its cost."""
    return re.split(r"(?<=[.!?])\s", paragraphs(kind)[0])[0]


def _defaults(kind: type, between: str = " ") -> str:
    from thimble.strategies.parameter import parameters_of

    return between.join(f"{parameter.name}={parameter.shown}" for parameter in parameters_of(kind))


def _legal(parameter: Parameter) -> str:
    return f"default {parameter.shown}: {parameter.meaning} ({parameter.legal})"
