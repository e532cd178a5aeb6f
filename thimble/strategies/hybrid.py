"""hybrid: mask first, summarise last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from thimble.agent.budget import Budget
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message
from thimble.agent.side import SideModel
from thimble.strategies.masks import Masks
from thimble.strategies.observation_masking import ObservationMasking
from thimble.strategies.paper import N_HYBRID, M, scale_turns
from thimble.strategies.parameter import parameter
from thimble.strategies.state import Stateful
from thimble.strategies.summary import Folded, Folding, newest_that_fit

SHARE = 0.4
"""Share of the budget for the newest turns when masks alone are not enough."""


@dataclass
class MasksAndSummary(Masks, Folded):
    """The masks and the summary."""


@dataclass
class Hybrid(Stateful):
    """Mask old observations, and summarise only after many turns. Masks need no model; a summary limits the rest.

    The masks are those of observation-masking with W = `window`. When N turns have gathered since the last summary, a
    new one replaces all except the newest M turns, and reads their observations unmasked. N is `every` and M `tail`;
    the hybrid of The Complexity Trap has W = M = 10 and N = 43, so that its summaries come in turns 43, 76 and 109:
    N - M turns lie between two of them, so M must be below N.
    With `early`, a view over the budget is masked further, up to the newest turn, and, only if that is not enough,
    summarised early. With `when=over`, observations are masked only when the view is over the budget.
    """

    model: SideModel
    window: int | None = parameter(
        None, "newest turns whose observations stay (W); unset: as the budget allows", paper=M
    )
    when: Literal["always", "over"] = parameter(
        "always", "mask at every call, or only when over the budget", paper="always"
    )
    every: int | None = parameter(
        None, "turns after which a summary is made (N); unset: as the budget allows, at least 2 M", 1, paper=N_HYBRID
    )
    tail: int | None = parameter(
        None, "newest turns kept word for word (M < N); unset: as the budget allows, at most N / 2", paper=M
    )
    early: bool = parameter(True, "over the budget, mask more, then summarise", paper=False)
    words: int = parameter(400, "length asked of the summary", 20, 10_000)
    memory: MasksAndSummary = field(default_factory=MasksAndSummary)

    def __post_init__(self) -> None:
        if self.every is not None and self.tail is not None and self.tail >= self.every:
            what = f"hybrid:every={self.every},tail={self.tail} would ask for a summary at every turn"
            raise UsageError(what, f"N - M turns lie between two summaries: give a tail below {self.every}")

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history masked, with its oldest part summarised; see the class."""
        folding, every, tail = (
            self.folding,
            scale_turns(self.every, N_HYBRID, budget),
            scale_turns(self.tail, M, budget),
        )
        if self.every is None:  # M must be below N: otherwise it would summarise at every turn
            every = max(every, 2 * tail)
        elif self.tail is None:
            tail = min(tail, every // 2)
        folding.fold_by_turns(messages, every, tail, budget)
        view = self._masked(folding.view(messages), budget)
        if not self.early or not budget.over(view):
            return view
        kept = {message.id for message in view[newest_that_fit(view, 1, SHARE * budget.limit, budget) :]}
        upto = next((index for index, message in enumerate(messages) if message.id in kept), 0)
        why = f"the view was {budget.size(view):,} of {budget.limit:,} tokens although masked"
        return self._masked(folding.view(messages), budget) if folding.fold(messages, upto, budget, why) else view

    @property
    def folding(self) -> Folding:
        """The settings and the memory of its summary."""
        return Folding(self.model, self.words, self.memory)

    def _masked(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The view masked with the window; over the budget, if `early`, also with a smaller one, whose masks stay."""
        masking = ObservationMasking(scale_turns(self.window, M, budget, least=2), self.when, memory=self.memory)
        view = masking.prepare(messages, budget)
        if self.when == "over" or not self.early:
            return view
        return ObservationMasking(1, target=1, memory=self.memory).prepare(view, budget)
