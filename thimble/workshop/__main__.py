"""`thimble workshop`: exercises in writing a strategy, which check themselves and show what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from thimble.lab.exit_code import exit_code
from thimble.session.parser import Parser
from thimble.workshop.progress import workshop_folder

WORKSHOP_COMMANDS: Mapping[str, str] = {
    "init": "Make a workshop: a folder for each exercise, with its page and the file to write, mine.py.",
    "next": "Show the page of the exercise that comes next; next 4 goes to the fourth one.",
    "list": "List the exercises, and which are done.",
    "check": "Check your file on new histories, or all files: check all. In the folder of a set, check the set.",
    "hint": "Show the next hint for the exercise.",
    "watch": "Check at every save; keys: h hint, n next, r reset, q leave.",
    "reset": "Replace your file with the starter; yours is kept next to it.",
    "new": "Make the skeleton of your own set of exercises.",
}
WORKSHOP_ABOUT = "Exercises in writing a strategy. Each checks itself, and shows what is wrong."
WORKSHOP_EPILOG = """\
All commands but init and new work in the folder of a workshop; in the folder of an exercise, on that exercise. Without
a command, a workshop continues with next. A set is a folder of exercises; ours has twelve. For the page on workshops,
ask thimble how to run a workshop.
"""


def main(arguments: Sequence[str], prog: str = "thimble workshop") -> int:
    """Run a command and return its exit code: 0 done or passed, 1 not passed or stopped, 2 wrong usage."""
    return exit_code(prog, partial(_run, arguments, prog))


def _run(arguments: Sequence[str], prog: str) -> None:
    given = _parser(prog).parse_args(arguments or (["next"] if workshop_folder(Path.cwd()) else ["--help"]))
    from thimble.workshop.commands import run_command  # late, so that --help answers at once

    if not run_command(given):
        raise SystemExit(1)


def _parser(prog: str) -> Parser:
    parser = Parser(prog, description=WORKSHOP_ABOUT, epilog=WORKSHOP_EPILOG, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, about in WORKSHOP_COMMANDS.items():
        add = commands.add_parser(name, help=about, description=about).add_argument
        if name in ("next", "check"):
            add(
                "exercise",
                nargs="?",
                default="",
                metavar="EXERCISE",
                help="its number or name; by default that of this folder, or else the next one",
            )
        if name in ("init", "new"):
            add("folder", type=Path, metavar="FOLDER", help="a new folder")
        if name == "init":
            add("--set", type=Path, metavar="FOLDER", help="use the exercises of this folder instead of ours")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
