"""`thimble lab`, which is `python -m lab`: experiments, each a command of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from functools import partial

from agent.errors import UsageError
from lab.ended import ended

LISTING = """\
experiments:
  thimble lab replay FILE…       what recorded trajectories would have cost under each strategy
  python -m lab.experiments.questions       which strategy keeps the answers, on questions with known ones
  python -m lab.experiments.facts            what masks, retrieval and compression leave of the facts of an article
  python -m lab.experiments.foresight        how far thrifty is from the best schedule in hindsight
  python -m lab.experiments.first_session    one session under each strategy

thimble lab replay --help lists its flags.
"""


def main(arguments: Sequence[str], prog: str = "thimble lab") -> int:
    """Run an experiment and return its exit code: 0 done, 1 stopped, 2 wrong usage."""
    return ended(prog, partial(_run, arguments, prog))


def _run(arguments: Sequence[str], prog: str) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(LISTING, end="")
        return 0
    name, *rest = arguments
    if name != "replay":
        hint = "did you mean replay? " if get_close_matches(name, ["replay"]) else ""
        module = f"lab.experiments.{name}"
        hint = f"write python -m {module}; " if f"{module} " in LISTING else hint
        raise UsageError(f"there is no experiment {name!r}", f"{hint}{prog} lists them")
    from lab.replay.command import main as replay

    return replay(rest, f"{prog} {name}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
