"""The judge: tries an exercise's checks on new histories, and finds the smallest one that breaks a check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from thimble.agent.errors import ThimbleError, in_line
from thimble.agent.messages import Message, blocks
from thimble.agent.view import measure_view
from thimble.strategies.own_code import HOW_TO_RETRY
from thimble.workshop.checks import Fault, TrialRun, named_check
from thimble.workshop.exercise_set import Exercise
from thimble.workshop.trial import WordCounter, WorkshopTrial, a_limit, invent_history, spec_of

Row = Sequence[str]
"""A message as `/context` shows it: number, role, tokens before, tokens after, fate, first words."""


@dataclass(frozen=True)
class WorkshopVerdict:
    """Whether an exercise is solved; if not, why, how to fix it, and the smallest history that shows it, if any.

    If it is solved, `why` is a check's remark, or "".

    `head` names the call that the rows show; `wrong` is the index of the wrong message in them, or -1.
    """

    passed: bool
    why: str = ""
    fix: str = ""
    check: str = ""
    head: str = ""
    rows: Sequence[Row] = ()
    wrong: int = -1


def judge_exercise(exercise: Exercise, file: Path, seed: int) -> WorkshopVerdict:
    """Try each check of the exercise in turn, on all its histories, which depend on the seed."""
    random = Random(seed)
    try:
        runs: list[TrialRun] = []
        runs += (TrialRun(trial, trial.run(), runs) for trial in _iter_trials(exercise, file, random))
        for name, given in exercise.named_checks():
            for run in runs:
                if (fault := named_check(name)(run, **given)) and fault.call < 0:
                    return WorkshopVerdict(False, fault.why, "", name)
                if fault:
                    return _shown(name, *_shrink_run(name, given, run, fault))
    except ThimbleError as error:
        return WorkshopVerdict(False, error.what, error.fix.replace(HOW_TO_RETRY, "fix it, and check again"))
    return WorkshopVerdict(True, "; ".join(runs[-1].said))


def _iter_trials(exercise: Exercise, file: Path, random: Random) -> Iterator[WorkshopTrial]:
    """The trials, short histories first."""
    spec, solution = (spec_of(one, exercise.member) for one in (file, exercise.solution))
    least, most = exercise.turns
    for number in range(exercise.histories):
        turns = least + (most - least) * number // max(1, exercise.histories - 1)
        history = invent_history(random, turns, exercise.words, exercise.tools)
        counter = WordCounter(random.randint(3, 6), random.randint(20, 40))
        limit = exercise.limit or a_limit(random, history, counter)
        yield WorkshopTrial(spec, solution, history, limit, lag=exercise.lag, counter=counter)


def _shrink_run(name: str, given: Mapping[str, object], run: TrialRun, fault: Fault) -> tuple[TrialRun, Fault]:
    """The run without later calls, and without each block that is not needed to break the check."""

    def tried(history: Sequence[Message]) -> bool:
        nonlocal run, fault
        try:
            trial = replace(run.trial, history=history)
            shorter = TrialRun(trial, trial.run())
            found = named_check(name)(shorter, **given) if shorter.calls else None
        except ThimbleError:
            return False
        if found:
            run, fault = shorter, found
        return found is not None

    tried(run.calls[fault.call].history)
    _drop_blocks(lambda: run.trial.history, tried)
    return run, fault


def _drop_blocks(history: Callable[[], Sequence[Message]], tried: Callable[[Sequence[Message]], bool]) -> None:
    """Try to leave out each block, newest first; `tried` keeps a shorter history if that still fails."""
    at = len(blocks(history()))
    while at := at - 1:  # the first block is the task
        block = blocks(history())[at]
        whole = history()
        tried([*whole[: block.start], *whole[block.stop :]])


def _shown(name: str, run: TrialRun, fault: Fault) -> WorkshopVerdict:
    from thimble.repl.commands.context.rows import rows_of

    call, budget = run.calls[fault.call], run.trial.budget
    view = measure_view(call.history, call.view, budget)
    found = rows_of(view, budget.count)
    rows = [
        (
            row.name,
            row.message.role,
            f"{row.tokens_before:,}" if row.before else "",
            f"{row.tokens_after:,}" if row.after else "",
            row.fate,
            in_line("→ tool " * len(row.message.calls) + (row.after or row.message).content)[:60],
        )
        for row in found
    ]
    size = f"{budget.overhead:,}"
    overhead = ("", "overhead", size, size, "", "tool schemas and template")
    wrong = next((at for at, row in enumerate(found) if row.message.id == fault.message), -1)
    sizes = f"{view.history_tokens:,} → {view.tokens:,} of {budget.limit:,} tokens"
    head = f"call {fault.call + 1}, the smallest history found: {sizes}"
    return WorkshopVerdict(False, fault.why, "", name, head, [*rows, overhead], wrong)
