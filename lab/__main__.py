"""`thimble lab` (= `python -m lab`): the experiments, one for each row of `EXPERIMENTS`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial

from agent.errors import UsageError
from lab.ended import ended


@dataclass(frozen=True, slots=True)
class Experiment:
    """A row of the table. `run` gets the arguments after the experiment's name, and the command as `prog`."""

    question: str
    run: Callable[[Sequence[str], str], object]


def _replay(arguments: Sequence[str], prog: str) -> None:
    from lab.replay.command import main

    main(arguments, prog)


def _sweep(arguments: Sequence[str], prog: str) -> None:
    from lab.sweep.command import main

    main(arguments, prog)


def _table(arguments: Sequence[str], prog: str) -> None:
    from lab.table.command import main

    main(arguments, prog)


def _simulate(arguments: Sequence[str], prog: str) -> None:
    from lab.simulate.command import main

    main(arguments, prog)


def _questions(arguments: Sequence[str], prog: str) -> None:
    from lab.questions import main

    main(arguments, prog)


def _run_study(arguments: Sequence[str], prog: str) -> None:
    from lab.run.command import main

    main(arguments, prog)


def _comem(arguments: Sequence[str], prog: str) -> None:
    from lab.comem.command import main

    main(arguments, prog)


EXPERIMENTS: Mapping[str, Experiment] = {
    "replay": Experiment("What would recorded trajectories (FILE…) have cost under each strategy?", _replay),
    "sweep": Experiment("Which setting of a strategy is best, and how sure is that?", _sweep),
    "table": Experiment("What do the rows of a paper, or your own (FILE), say of each strategy?", _table),
    "simulate": Experiment(
        "How do the prompts of a long run grow under each strategy, and what do they cost?", _simulate
    ),
    "questions": Experiment("Which strategy keeps the answers to the questions?", _questions),
    "run": Experiment("How do strategies do on questions × budgets × seeds × models, in a store?", _run_study),
    "comem": Experiment("How fast is CoMem on simulated servers, and how fast in its paper?", _comem),
}


def main(arguments: Sequence[str], prog: str = "thimble lab") -> int:
    """Run an experiment and return its exit code: 0 done, 1 stopped, 2 wrong usage."""
    return ended(prog, partial(_run, arguments, prog))


def _run(arguments: Sequence[str], prog: str) -> None:
    if not arguments or arguments[0] in ("-h", "--help"):
        print("experiments:")
        for name, experiment in EXPERIMENTS.items():
            print(f"  {prog} {name:15}{experiment.question}")
        print(f"\n{prog} NAME --help lists the flags of one.")
        return
    name, *rest = arguments
    if name not in EXPERIMENTS:
        near = get_close_matches(name, EXPERIMENTS, 1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"there is no experiment {name!r}", f"{hint}{prog} lists them")
    EXPERIMENTS[name].run(rest, f"{prog} {name}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
