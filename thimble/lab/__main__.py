"""`thimble lab` (= `python -m thimble.lab`): run one of the `EXPERIMENTS`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module

from thimble.agent.errors import UsageError, did_you_mean
from thimble.lab.exit_code import exit_code

EXPERIMENTS: Mapping[str, str] = {
    "replay": "What would recorded trajectories (FILE…) have cost under each strategy?",
    "blame": "What uses the tokens of recorded sessions (FILE…), and where did their prefix break?",
    "sweep": "Which setting of a strategy is best, and how certain is that?",
    "table": "What do solved and failed tasks (FILE) say about each strategy?",
    "simulate": "How do the prompts of a long run grow under each strategy, and what do they cost?",
    "run": "Under which strategies do answers stay right, by question, budget, seed and model?",
    "depth": "Does a model find a fact in the middle of a prompt as well as at its ends?",
    "judge": "Which strategy in FOLDER wins the contest, by laws, cost, facts in view and repeated calls?",
    "comem": "How fast is CoMem on simulated servers, compared with its paper?",
    "memory-model": "With a trained memory model, does a frozen agent act as with the whole history?",
}
"""The question of each experiment. `main` of lab/NAME/command.py gets the arguments, and the command as `prog`.

The folder's name has `_` instead of `-`.
"""


def main(arguments: Sequence[str], prog: str = "thimble lab") -> int:
    """Run an experiment and return its exit code: 0 success, 1 interrupted, 2 wrong usage."""
    return exit_code(prog, partial(_run, arguments, prog))


def _run(arguments: Sequence[str], prog: str) -> None:
    if not arguments or arguments[0] in ("-h", "--help"):
        print("experiments:")
        for name, question in EXPERIMENTS.items():
            print(f"  {prog} {name:15}{question}")
        print(f"\n{prog} NAME --help lists the flags of one.")
        return
    name, *rest = arguments
    if name not in EXPERIMENTS:
        raise UsageError(f"there is no experiment {name!r}", did_you_mean(name, EXPERIMENTS, f"{prog} lists them"))
    import_module(f"thimble.lab.{name.replace('-', '_')}.command").main(rest, f"{prog} {name}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
