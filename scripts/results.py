"""Remake the figures on the pages in docs: each output on a page comes from the command above it.

    python -m scripts.results [PAGE…]            # run the commands of these pages, or of all, and write their outputs
    python -m scripts.results [PAGE…] --check    # print the differences instead, and exit 1 if there are any
    python -m scripts.results PAGE… --record     # also run the commands of more than two minutes, and record them

An output is between two comments, below the `console` block of its command:

    <!-- output; table: Figure 5; columns: memory | agents | simulated, s -->
    …
    <!-- end -->

`table`: the first table below the line that contains these words; `A + B` joins two with the same rows; default: the
whole output.
`columns`: the columns to show; default: all.
`line`: the lines that contain these words, in place of a table.
`recorded: NAME`: the command takes more than two minutes, so the page shows a recorded run,
docs/results/recorded/NAME.txt. Its first line has the date, the commit, the seconds, and the data file (the start of
its SHA-256).

The page does not change if the command's data is missing (the file that THIMBLE_TRAJECTORIES or
THIMBLE_PUBLISHED_ROWS names), or if a long command was never recorded.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import date
from difflib import unified_diff
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

from thimble.agent.errors import UsageError
from thimble.lab.exit_code import exit_code
from thimble.session.parser import Parser

PROG = "python -m scripts.results"
ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "docs" / "results" / "recorded"
COMMAND = re.compile(r"^```console\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
OUTPUT = re.compile(r"^(<!-- output(.*?) -->)\n.*?^(<!-- end -->)$", re.DOTALL | re.MULTILINE)
VARIABLE = re.compile(r"\$(\w+)")


def made(page: str, record: bool = False) -> str:
    """The text of a page with each output remade. `record`: run long commands, too, and record their output.

    Raises:
        UsageError: a command fails, a recorded run is of another command, or an output has no such table or column.
    """

    def again(found: re.Match[str]) -> str:
        before, options, after = found.groups()
        command = COMMAND.findall(page[: found.start()])[-1]
        chosen = dict(option.split(": ", 1) for option in options.split("; ")[1:])
        lines = outputs(command, chosen.get("recorded", ""), record)
        if not lines:
            return found[0]
        about, text = lines
        if words := chosen.get("line"):
            return "\n".join([before, "", *(line for line in text.splitlines() if words in line), "", after])
        return "\n".join([before, "", *about, *shown(text, chosen.get("table"), chosen.get("columns")), "", after])

    return OUTPUT.sub(again, page)


def outputs(command: str, name: str, record: bool) -> tuple[list[str], str] | None:
    """A line about the run, and the output of the command; None if its data is missing. Raises UsageError."""
    if not name:
        text = printed(command)
        return None if text is None else ([], text)
    path = RECORDED / f"{name}.txt"
    if record:
        write_record(path, command)
    if not path.exists():
        print(f"never recorded: {command}", file=sys.stderr)
        return None
    run, of, text = path.read_text("utf-8").split("\n\n", 2)
    if of != command:
        raise UsageError(f"{path.name} is of another command than its page", f"record it again: {PROG} --record")
    return [f"*Recorded on {run}.*", ""], text.strip("\n")


@cache
def printed(command: str) -> str | None:
    """The output of a command; None if its data is missing. Raises UsageError if it fails."""
    if missing := [name for name in VARIABLE.findall(command) if name not in os.environ]:
        print(f"without {', '.join(missing)}, this is not run: {command}", file=sys.stderr)
        return None
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, shell=True, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
    if ran.returncode:
        raise UsageError(f"exit code {ran.returncode} of {command}", "run it alone to see why")
    return "\n".join(map(str.rstrip, ran.stdout.strip("\n").splitlines()))


@cache
def write_record(path: Path, command: str) -> None:
    """Run a command, and write its output to a file. Raises UsageError if it fails."""
    began = time.monotonic()
    text = printed(command)
    if text is not None:
        path.parent.mkdir(exist_ok=True)
        run = [f"{date.today()}, at commit {commit()}, in {time.monotonic() - began:,.0f} s"]
        data = [Path(os.environ[name]) for name in VARIABLE.findall(command)]
        run += [f"on {file.name} ({sha256(file.read_bytes()).hexdigest()[:8]})" for file in data if file.is_file()]
        path.write_text(f"{', '.join(run)}\n\n{command}\n\n{text}\n", "utf-8")


@cache
def commit() -> str:
    """The current commit, with `-dirty` if files have changed."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":!docs")
    return git("rev-parse", "--short=8", "HEAD") + "-dirty" * bool(changed)


def shown(text: str, table: str | None, columns: str | None) -> Iterator[str]:
    """The Markdown lines of an output, or of the named table and columns. Raises UsageError if they do not exist."""
    if table is None:
        yield from [text] if "\n|--" in text else ["```text", text, "```"]
        return
    tables = [cells_of(text, words) for words in table.split(" + ")]
    cells = [[*first, *(cell for row in rest for cell in row[1:])] for first, *rest in zip(*tables, strict=True)]
    names = columns.split(" | ") if columns else cells[0]
    if unknown := {*names} - {*cells[0]}:
        raise UsageError(f"the table has no column {', '.join(unknown)}", f"choose from {' | '.join(cells[0])}")
    for at, row in enumerate(cells):
        edge, between = ("|", "|") if at == 1 else ("| ", " | ")  # the rule below the head
        yield edge + between.join(row[cells[0].index(name)] for name in names) + edge[::-1]


def cells_of(text: str, words: str) -> list[list[str]]:
    """The rows of the first table below the line that contains these words. Raises UsageError."""
    rows = re.search(r"(?:^\|.*\n?)+", text.partition(words)[2].partition("\n")[2], re.MULTILINE)
    if not rows:
        raise UsageError(f"the output has no table below {words!r}", "name another one on the page")
    return [re.split(r" *(?<!\\)\| *", line)[1:-1] for line in rows[0].splitlines()]


def pages() -> dict[str, Path]:
    """The pages that show outputs, by their names in docs, such as results/cost."""
    docs = ROOT / "docs"
    every = [path for path in sorted(docs.rglob("*.md")) if OUTPUT.search(path.read_text("utf-8"))]
    return {path.relative_to(docs).with_suffix("").as_posix(): path for path in every}


def main(arguments: Sequence[str]) -> None:
    """Write the pages, or print the differences.

    Raises:
        UsageError: a flag is invalid.
        SystemExit: a page differs or cannot be made; the others are made.
    """
    every = pages()
    parser = Parser(PROG, description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"default: all of {', '.join(every)}")
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--check", action="store_true", help="print the differences, and exit 1 if there are any")
    does.add_argument("--record", action="store_true", help="also run the long commands, and record their output")
    options = parser.parse_args(arguments)
    if unknown := {*options.pages} - {*every}:
        raise UsageError(f"no page {', '.join(unknown)} shows an output", f"choose from {', '.join(every)}")
    if options.record and not options.pages:
        raise UsageError("--record takes hours for all pages", "name the pages")
    faults: list[str] = []
    for path in map(every.__getitem__, options.pages or every):
        page = path.read_text("utf-8")
        try:
            now = made(page, options.record)
        except UsageError as error:
            faults += [f"{path.name}: {error.what}", f"fix: {error.fix}"]
            continue
        if options.check:
            faults += unified_diff(page.splitlines(), now.splitlines(), path.name, "now", lineterm="", n=0)
        else:
            path.write_text(now, "utf-8")
    if faults:
        print(*faults, sep="\n")
        sys.exit(1)


if __name__ == "__main__":
    sys.exit(exit_code(PROG, partial(main, sys.argv[1:])))
