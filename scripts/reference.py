"""Write the pages made from code: docs/reference/{command-line,laws,strategies,tools}.md, thimble.1, some transcripts.

    python scripts/reference.py

Each table of a page comes from one function here, which reads one table of the program. The words come from help texts
and docstrings. A test remakes the pages and compares.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from thimble.corpus.library import Library
from thimble.repl.cli.flags import DESCRIPTION, EPILOG, FLAGS, USAGE
from thimble.repl.commands.help import KEYS
from thimble.repl.commands.strategy import paragraphs
from thimble.repl.commands.table import COMMANDS
from thimble.session.settings_table import SETTINGS, sessions_folder
from thimble.strategies.parameter import Parameter, as_in_the_paper, parameters_of
from thimble.strategies.table import FAMILIES, asks_a_model
from thimble.strategies.table import STRATEGIES as STRATEGY_TABLE
from thimble.tools import on_demand, small_model_tools, toolbox
from thimble.tools.notebook import Notebook

MANUAL = """\
.TH THIMBLE 1
.SH NAME
thimble \\- {description}
.SH SYNOPSIS
{usage}
.SH OPTIONS
{options}
.SH COMMANDS
.nf
{epilog}
.fi
"""
DOCS = Path(__file__).resolve().parents[1] / "docs"
FOLDER = DOCS / "reference"
SHARED = 3
"""A parameter of at least this many strategies is explained once for all."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table in Markdown; `|` in a cell is escaped."""
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


def commands() -> Iterator[tuple[str, str, str]]:
    """Each command: its usage, its summary, and its details."""
    for command in COMMANDS.values():
        yield f"`{command.usage}`", command.summary, command.more


def keys() -> Iterator[tuple[str, str]]:
    """Each key or combination, and its effect."""
    for entry in re.split(r" · |\n", KEYS):
        words = entry.split(" ")
        end = next(at for at, word in enumerate(words) if word.islower() or words[at - 1].endswith(":"))
        yield " ".join(words[:end]).rstrip(":"), " ".join(words[end:])


def flags() -> Iterator[tuple[str, str]]:
    """Each flag with its value, and its help."""
    for flag, how in FLAGS.items():
        value = how.get("metavar", "")
        written = f"{flag} [{value}]" if how.get("nargs") == "?" else f"{flag} {value}"
        yield f"`{written.strip()}`", how["help"]


def settings() -> Iterator[tuple[str, str, str]]:
    """Each setting: its name in a file, its default, its valid values."""
    for name, setting in SETTINGS.items():
        yield f"`{name}`", _written(setting.default), setting.legal


def _written(default: object) -> str:
    """A default as a file would have it; a folder relative to the project or to the user's home."""
    if default == sessions_folder():
        return "the user's state folder"
    if isinstance(default, Path):
        return f"`{default.parent.name}/{default.name}` of thimble"
    return (
        f"`{str(default).lower() if isinstance(default, bool) else default}`"
        if default not in ("", None)
        else "not set"
    )


def exit_codes() -> list[tuple[str, str]]:
    """Each exit code and its meaning, from the end of `thimble --help`."""
    told = " ".join(EPILOG.partition("Exit codes: ")[2].split())
    return re.findall(r"(\d) ([^,.]+)", told)


COMMAND_LINE = """\
# Command line

`make reference` writes this page from the help texts.

## Commands

Type a command in a conversation, or after `-p`. No command and no output of a command is ever sent to a model.
"""
FLAGS_BELOW = """\
## Flags

`thimble config`, `thimble doctor`, `thimble prepare` and `thimble lab` work without a conversation.

```sh
thimble --help
```
"""
SETTINGS_BELOW = """\
## Settings

A setting comes from the first source that has it: flag, resumed session, environment, `thimble.toml` in the folder,
the user's `config.toml`, default. In the environment, `budget` is `THIMBLE_BUDGET`, and so on. `thimble config` prints
each setting with its source. `OLLAMA_HOST` and `OPENAI_BASE_URL` also set `base_url`, each for its own kind of server,
and `NO_COLOR` sets `color`.

A `thimble.toml` may be somebody else's, so only harmless settings count in it: {harmless}; the strategy must be built
in or installed. A line at the start lists ignored ones.
"""
STRATEGIES = """\
# Strategies

`make reference` writes this page from the docstrings in `strategies/`. `/help strategy NAME` says more about each;
[Hide, move, summarise](../explanation/hide-move-summarise.md) explains the mechanisms, and [Cost](../results/cost.md)
and [Answers](../results/answers.md) compare them.

A SPEC is a name, a name with parameters (`observation-masking:window=10,when=always`), a name with those of its paper
(`observation-masking:paper`, [why ours differs](elsewhere.md#the-paper-and-our-defaults)), a file (`./mine.py`), a
`package.module:Name`, or several of these joined by `+`, left to right. `/strategy SPEC` swaps the strategy in a
session: the new one starts fresh on the whole history. ∑ marks a strategy that calls a model: the agent's own, or that
of `--summariser`.

![Help on the strategy sliding-window, with a table of its two parameters; then a swap to it, which says how many tokens
the next prompt will hold.](../pictures/strategy.svg)

These parameters mean the same in several strategies:
"""
TOOLS = """\
# Tools

`make reference` writes this page from the docstrings in `tools/`, as the model reads them. Installed packages may
[bring others](../tutorial/2-your-own-strategy.md#ship-it). Every result has a size limit and says when it was cut; an
error goes to the model. `offload`, `compress` and `dedup` bring `recall`, `delegate` brings `delegate`, and `todo`
brings `todo`. A model that [calls by schema](models.md#calls-by-schema) has `search`, `list` and `read` in place of
the others.
"""


def command_line() -> Iterator[str]:
    """The page of commands, keys, flags, settings and exit codes."""
    yield COMMAND_LINE
    yield from table(("command", "does", "more"), commands())
    yield ", ".join(f"`/{alias}` is `/{name}`" for name, one in COMMANDS.items() for alias in one.aliases) + ".\n"
    yield "## Keys\n"
    yield from table(("key", "does"), keys())
    yield FLAGS_BELOW
    yield from table(("flag", "does"), flags())
    harmless = ", ".join(f"`{name}`" for name, setting in SETTINGS.items() if setting.harmless)
    yield SETTINGS_BELOW.format(harmless=harmless)
    yield from table(("setting", "default", "takes"), settings())
    yield "## Exit codes\n"
    yield from table(("code", "means"), exit_codes())


def strategies() -> Iterator[str]:
    """The page of strategies: the shared parameters, then each strategy with its own, by family."""
    yield STRATEGIES
    found = Counter(map(_meaning, chain.from_iterable(map(parameters_of, STRATEGY_TABLE.values()))))
    shared = {one for one, times in found.items() if times >= SHARED}
    yield from table(
        ("parameter", "takes", "means"), ((f"`{name}`", *told) for name, *told in found if (name, *told) in shared)
    )
    for family, members in FAMILIES.items():
        yield f"## {family}\n"
        for name, kind in members.items():
            yield f"### {name}\n"
            yield f"{'∑ ' if asks_a_model(kind) else ''}{paragraphs(kind)[0]}\n"
            taken = parameters_of(kind)
            if own := [one for one in taken if _meaning(one) not in shared]:
                yield "\n".join(f"- `{one.name}={one.shown}` ({one.legal}): {one.meaning}." for one in own) + "\n"
            if others := ", ".join(f"`{one.name}` {one.shown}" for one in taken if _meaning(one) in shared):
                yield f"{'Also ' if own else ''}{others}.\n"
            if papers := as_in_the_paper(kind):
                yield f"`{name}:paper` is `{papers}`.\n"


def _meaning(one: Parameter) -> tuple[str, str, str]:
    return one.name, one.legal, one.meaning


def tools() -> Iterator[str]:
    """The page of tools: each with its description and arguments, from its schema."""
    yield TOOLS
    rows = []
    nothing = Library(Path(), ())
    known = toolbox(nothing, Path(), Notebook()) | small_model_tools(nothing, Path(), None, list) | on_demand(list, str)
    for name, tool in known.items():
        function = tool.schema["function"]
        required = function["parameters"].get("required", ())
        arguments = [
            f"`{argument}` ({how['type']}{'' if argument in required else ', optional'}): {how['description']}"
            for argument, how in function["parameters"]["properties"].items()
        ]
        rows.append((f"`{name}`", function["description"], " ".join(arguments)))
    yield from table(("tool", "does", "arguments"), rows)


def laws() -> Iterator[str]:
    """The page of laws, which ends with a table of the tests."""
    from tests.support import laws_table

    text, command, _ = (FOLDER / "laws.md").read_text("utf-8").partition("python -m tests.support.laws_table\n```\n")
    yield text + command
    yield laws_table.table()


PAGES = {"command-line": command_line, "laws": laws, "strategies": strategies, "tools": tools}
"""The pages by file name, with the function that makes each."""


def page(name: str) -> str:
    """The text of a page, as in its file."""
    return "\n".join(PAGES[name]()).rstrip("\n") + "\n"


def manual() -> str:
    """The manual page (`man thimble`)."""
    options = "\n".join(f".TP\n.B {_roff(flag.strip('`'))}\n{_roff(told)}" for flag, told in flags())
    told = {"description": DESCRIPTION, "usage": USAGE, "epilog": EPILOG.removeprefix("commands:\n")}
    return MANUAL.format(options=options, **{name: _roff(text) for name, text in told.items()})


class Transcript(NamedTuple):
    """A conversation with the built-in reader, the end of which is shown on a page in docs.

    `page`: the path. `first`: the first question on the page. `before`: the earlier questions.
    """

    page: str
    budget: int
    first: str
    before: Sequence[str] = ()

    def on_page(self) -> str:
        """The current transcript on the page."""
        blocks = re.findall(r"^```text\n(.*?)\n```$", (DOCS / self.page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
        return next(block for block in blocks if block.startswith(f"› {self.first}"))

    def printed(self) -> str:
        """The program's output for the lines of that transcript."""
        from tests.support.branched_sessions import run
        from thimble.session.session import Session
        from thimble.session.settings import Settings

        session = Session(Settings(backend="reader", budget=self.budget))
        for question in self.before:
            list(session.ask(question))
        printed = []
        for line in re.findall(r"^› (.*)$", self.on_page(), re.MULTILINE):
            text = run(session, line, drawn=True).removeprefix("\x1b[?25h").rpartition("\x1b[2K")[2]
            printed.append("\n".join(map(str.rstrip, f"› {line}\n{text}".rstrip().splitlines())))
        return "\n\n".join(printed)

    def write(self) -> None:
        """Write the transcript into the page."""
        path = DOCS / self.page
        path.write_text(path.read_text("utf-8").replace(self.on_page(), self.printed()), "utf-8")


ARTICLES = ("Read the article about context windows", "Now read the article about testing LLM applications")
TRANSCRIPTS = (Transcript("explanation/history-and-view.md", 5_000, "/context", ARTICLES),)


def _roff(text: str) -> str:
    """The text with roff's control characters escaped."""
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"), flags=re.MULTILINE)


def main() -> None:
    """Write every page."""
    for name in PAGES:
        (FOLDER / f"{name}.md").write_text(page(name), "utf-8")
    (FOLDER / "thimble.1").write_text(manual(), "utf-8")
    for transcript in TRANSCRIPTS:
        transcript.write()


if __name__ == "__main__":
    main()
