"""Replayed: what the history of a session would have been sent, and have cost, under one strategy."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from thimble.agent.errors import BudgetError, UsageError
from thimble.agent.events import SideCalled
from thimble.agent.fates import Fate
from thimble.agent.steps import FIT
from thimble.agent.view import View
from thimble.session.replay import replay
from thimble.session.session import Session


@dataclass
class Replayed:
    """The figures of one strategy, in tokens or counts.

    `prompt` and `prefill` are sums over all calls, the next one among them; `refused` counts calls that the budget
    could not hold, `over` those that would be sent over it, by at most `most_over` tokens. `next` is the view of the
    next call, None where the budget cannot hold it; `fates` counts messages by what became of them there, `fitted`
    those of them whose fate `fit` chose. `asked` are the calls of a model that the strategy made. `failed` says how a
    strategy broke.
    """

    spec: str
    prompt: int = 0
    prefill: int = 0
    refused: int = 0
    over: int = 0
    most_over: int = 0
    next: View | None = None
    fates: Mapping[Fate, int] = field(default_factory=dict)
    fitted: Mapping[str, int] = field(default_factory=dict)
    asked: Sequence[SideCalled] = ()
    failed: str = ""

    @property
    def kept(self) -> int:
        """The number of messages that the next prompt holds unchanged."""
        return self.fates.get("kept", 0)

    @property
    def fits(self) -> bool:
        """Whether every call kept to the budget."""
        return not (self.failed or self.refused or self.over)

    def add(self, view: View | BudgetError) -> None:
        """Enter the next call."""
        self.next = None
        if isinstance(view, BudgetError):
            self.refused += 1
            return
        self.next = view
        self.prompt += view.tokens
        self.prefill += view.prefill
        self.over += view.tokens > view.limit
        self.most_over = max(self.most_over, view.tokens - view.limit)


def replayed(session: Session, spec: str) -> Replayed:
    """The figures of the session's history under a strategy, as if it had been in use from the start.

    The tools are those that it would offer with it. Nothing of the session changes. A strategy that asks a model
    asks the one that it would ask in the session.

    Raises:
        UsageError: the SPEC names no strategy.
    """
    found, fork = Replayed(spec), session.fork(spec)
    tools, side = fork.schemas(), fork.side
    side.offer(tools, fork.examples, fork.backend)
    try:
        for view in replay(fork.history, fork.strategy, fork.budget(tools)):
            found.add(view)
    except (Exception, SystemExit) as error:  # a strategy of the user's own, whatever it does
        found.failed = broke(error, spec)
    found.asked = tuple(event for event in side.drain() if isinstance(event, SideCalled))
    if found.next and not found.failed:
        found.fates = Tally(found.next.fates)
        found.fitted = Tally(steps[-1].fate for steps in found.next.steps.values() if steps[-1].by == FIT)
    return found


def broke(error: BaseException, spec: str) -> str:
    """`line 3: IndexError: list index out of range`: how a strategy broke, and where in a file of the user's own."""
    return str(error).removeprefix(f"{spec}, ") if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
