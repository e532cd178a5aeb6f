"""Write what comes from the code: docs/reference/{command-line,laws,strategies,tools}.md, thimble.1, some transcripts.

    python scripts/reference.py

Each table of a page comes from one function here, and each function reads one table of the program. The words come from
the help texts and docstrings. A test makes the pages again and compares.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from thimble.corpus.library import Library
from thimble.repl.cli.flags import DESCRIPTION, EPILOG, FLAGS, USAGE
from thimble.repl.commands.help import KEYS
from thimble.repl.commands.strategy import first_sentence, paragraphs
from thimble.repl.commands.table import COMMANDS
from thimble.session.settings_table import SETTINGS, sessions_folder
from thimble.strategies.parameter import as_in_the_paper, parameters
from thimble.strategies.table import FAMILIES, asks_a_model
from thimble.tools import everyday, on_demand, toolbox
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
    """Each flag as it is written, and its help."""
    for flag, how in FLAGS.items():
        value = how.get("metavar", "")
        written = f"{flag} [{value}]" if how.get("nargs") == "?" else f"{flag} {value}"
        yield f"`{written.strip()}`", how["help"]


def settings() -> Iterator[tuple[str, str, str, str, str]]:
    """Each setting: its name in a file, its variable, its default, its legal values, whether a folder may set it."""
    for name, setting in SETTINGS.items():
        folders = "yes" if setting.harmless else "no"
        yield f"`{name}`", f"`THIMBLE_{name.upper()}`", _written(setting.default), setting.legal, folders


def _written(default: object) -> str:
    """A default as written in a file; a folder relative to the project or to the user's home."""
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

`make reference` writes this page. Its words are the help texts in `thimble/repl/commands/`,
`thimble/repl/cli/flags.py` and `thimble/session/settings_table.py`.

## Commands

Type a command at the prompt or after `-p`. No command and no output of a command is ever sent to a model. Only whole
words count: an unknown command is an error that names the nearest one.
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

A setting comes from the first source that has it: flag, resumed session, environment, `thimble.toml` in the folder, the
user's `config.toml`, default. `thimble config` prints each setting with its source. `OLLAMA_HOST` and `OPENAI_BASE_URL`
also set `base_url`, each for its own kind of server. `NO_COLOR` sets `color`.

A `thimble.toml` may be somebody else's, so it sets only what can do no harm, as the last column says; as strategy only
what is built in or installed. The rest of it is left out: a line at the start says so, and `thimble config` names it.
Write those settings in your own `config.toml`, in the environment or as flags.
"""
STRATEGIES = """\
# Strategies

`make reference` writes this page. Its words are the docstrings in `strategies/`.

A SPEC is a name, a name with parameters (`observation-masking:window=10,when=always`), a name with those of its paper
(`observation-masking:paper`), a file (`./mine.py`), a `package.module:Name`, or several of these joined by `+`, left to
right. The strategy of an installed package has a name, too ([how](../tutorial/2-your-own-strategy.md#ship-it)).
`/strategy SPEC` swaps while the session runs. The new strategy starts fresh and sees the whole history. If its
view is over the budget, `fit` makes room: it halves the largest results, then leaves out the oldest turns. ∑ marks a
strategy that asks a model: the agent's own, or another one by `--summariser`. [Cost](../results/cost.md) and
[Answers](../results/answers.md) compare them.

![Help on the strategy sliding-window, with a table of its two parameters; then a swap to it, which says how many tokens
the next prompt will hold.](../pictures/strategy.svg)
"""
TOOLS = """\
# Tools

`make reference` writes this page. Its words are the docstrings in `tools/`, as the model reads them.

A tool is a typed function; its signature and docstring become the JSON schema. Installed packages may
[bring others](../tutorial/2-your-own-strategy.md#ship-it). Every result has a size limit and says
when it was cut. An error of a tool goes to the model, in words that help it to call the tool again. The strategies
`offload`, `compress` and `dedup` bring `recall`, `delegate` brings `delegate`, and `todo` brings `todo`. `search`,
`list` and `read` are those of a model that [calls by schema](models.md#calls-by-schema). Every strategy has the others.
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
    yield SETTINGS_BELOW
    yield from table(("in a file", "in the environment", "default", "takes", "in `thimble.toml`"), settings())
    yield "## Exit codes\n"
    yield from table(("code", "means"), exit_codes())


def strategies() -> Iterator[str]:
    """The page of strategies: all in one table, then each with its paragraphs and parameters."""
    yield STRATEGIES
    known = [(family, name, kind) for family, members in FAMILIES.items() for name, kind in members.items()]
    rows = ((family, f"[`{name}`](#{name}){_sum(kind)}", first_sentence(kind)) for family, name, kind in known)
    yield from table(("family", "strategy", "does"), rows)
    for _, name, kind in known:
        yield f"## {name}\n"
        yield "\n\n".join(paragraphs(kind)) + "\n"
        if taken := parameters(kind):
            cells = ((f"`{one.name}`", f"`{one.shown}`", one.legal, one.meaning) for one in taken)
            yield from table(("parameter", "default", "takes", "means"), cells)
        if papers := as_in_the_paper(kind):
            yield f"`{name}:paper` is `{papers}`; [why ours differs](elsewhere.md#the-paper-and-our-defaults).\n"


def _sum(kind: type) -> str:
    return " ∑" if asks_a_model(kind) else ""


def tools() -> Iterator[str]:
    """The page of tools: each with its description and arguments, from its schema."""
    yield TOOLS
    rows = []
    nothing = Library(Path(), ())
    known = toolbox(nothing, Path(), Notebook()) | everyday(nothing, Path(), None, list) | on_demand(list, str)
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
    """The page of laws, whose end is a table of the tests."""
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
    """The page that `man thimble` shows."""
    options = "\n".join(f".TP\n.B {_roff(flag.strip('`'))}\n{_roff(told)}" for flag, told in flags())
    told = {"description": DESCRIPTION, "usage": USAGE, "epilog": EPILOG.removeprefix("commands:\n")}
    return MANUAL.format(options=options, **{name: _roff(text) for name, text in told.items()})


class Transcript(NamedTuple):
    """A conversation with the built-in reader, whose end a page in docs shows.

    `page`: its path. `first`: how the shown part begins. `before`: the questions before that.
    """

    page: str
    budget: int
    first: str
    before: Sequence[str] = ()

    def on_page(self) -> str:
        """The part that the page shows now."""
        blocks = re.findall(r"^```text\n(.*?)\n```$", (DOCS / self.page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
        return next(block for block in blocks if block.startswith(f"› {self.first}"))

    def printed(self) -> str:
        """What the program prints for the lines of that part."""
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
        """Put it into the page."""
        path = DOCS / self.page
        path.write_text(path.read_text("utf-8").replace(self.on_page(), self.printed()), "utf-8")


ARTICLES = ("Read the article about context windows", "Now read the article about testing LLM applications")
THREE = (
    "How well did humans do on the WebArena tasks?",
    "What is observation masking?",
    "And what does the article about KV caches say of prefixes?",
)
TRANSCRIPTS = (
    Transcript("explanation/history-and-view.md", 5_000, "/context", ARTICLES),
    Transcript("how-to/compare-strategies.md", 2_000, "/compare\n", THREE),
    Transcript("how-to/compare-strategies.md", 2_000, "What is observation masking?"),
)


def _roff(text: str) -> str:
    """A text in which nothing is a request of roff."""
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
