"""Tokens a turn by the equations of The Complexity Trap (Lindenbauer et al. 2025), for turns of one size (Eq. 7)."""

from __future__ import annotations

from dataclasses import dataclass

from thimble.agent.budget import Budget, Counter
from thimble.agent.messages import Message
from thimble.agent.prompts import SUMMARY_TAG
from thimble.agent.protocols import Strategy, Text
from thimble.commands.trajectories import Trajectory
from thimble.lab.replay.fake_model import FakeModel
from thimble.strategies.hybrid import Hybrid
from thimble.strategies.llm_summary import LLMSummary
from thimble.strategies.none import NoManagement
from thimble.strategies.observation_masking import ObservationMasking, mask_message
from thimble.strategies.paper import N_HYBRID, M, N, scale_turns


@dataclass(frozen=True, slots=True)
class Sizes:
    """Tokens of the parts of a prompt. `head`: everything before turn 1; `turn`: reasoning and action of one turn.

    `mask` is the placeholder p of an observation, `summary` the summary s.
    """

    head: int
    turn: int
    observation: int
    mask: int
    summary: int


@dataclass(frozen=True, slots=True)
class Rule:
    """Mask all but the newest `window` observations; fold all turns but the newest `tail` when `gathered` are there.

    None: no masks, or no summaries. Turns count from 1; before turn t, t - 1 turns are over.
    """

    window: int | None = None
    gathered: int | None = None
    tail: int = 0

    def folded(self, turn: int) -> int:
        """Turns in the summary, t_last: a fold each time that so many have gathered since the last (Eq. 5)."""
        every = (self.gathered or 0) - self.tail
        return every * max(0, (turn - 1 - self.tail) // every) if self.gathered else 0

    def masked(self, turn: int) -> int:
        """Masked observations outside of the summary: those with i < t - W (Eq. 4)."""
        return 0 if self.window is None else max(0, turn - 1 - self.folded(turn) - self.window)

    def prompt(self, of: Sizes, turn: int) -> int:
        """Tokens that the call of this turn is sent (Eq. 2, 3 and 6)."""
        return self._head(of, turn) + self._masks(of, self.masked(turn)) + self._plain(of, turn)

    def prefill(self, of: Sizes, turn: int) -> int:
        """Tokens of it behind what it shares with the prompt of the turn before, in whole messages."""
        prompt = self.prompt(of, turn)
        if turn == 1:
            return prompt
        if self.folded(turn) != self.folded(turn - 1):
            return prompt - of.head
        before = self.masked(turn - 1)
        if self.masked(turn) != before and self.window:  # with no window, no observation was ever sent
            return prompt - self._head(of, turn) - self._masks(of, before) - of.turn
        return prompt - self.prompt(of, turn - 1)

    def _head(self, of: Sizes, turn: int) -> int:
        return of.head + of.summary * bool(self.folded(turn))

    def _masks(self, of: Sizes, count: int) -> int:
        return count * (of.turn + of.mask)

    def _plain(self, of: Sizes, turn: int) -> int:
        return (turn - 1 - self.folded(turn) - self.masked(turn)) * (of.turn + of.observation)


def rule_of(strategy: Strategy, budget: Budget) -> Rule | None:
    """The rule that a strategy follows; None where the paper has no equation for it."""
    match strategy:
        case NoManagement():
            return Rule()
        case ObservationMasking(when="always", every=1, window=window):
            return Rule(window)
        case LLMSummary(every=every, tail=tail):
            newest = scale_turns(tail, M, budget)
            return Rule(None, scale_turns(every, N, budget) + newest, newest)
        case Hybrid(when="always", early=False, window=window, every=every, tail=tail):
            newest = scale_turns(tail, M, budget)
            gathered = max(scale_turns(None, N_HYBRID, budget), 2 * newest) if every is None else every
            newest = min(newest, gathered // 2) if tail is None else newest
            return Rule(scale_turns(window, M, budget, least=2), gathered, newest)
    return None


def sizes(of: Trajectory, counter: Counter, summary: int) -> Sizes:
    """The sizes of its parts, as the counter has them; a summary has so many tokens and its tag."""
    task, act, see, *_ = of.messages
    asked = FakeModel(counter, summary).stream([task], ())
    text = "".join(delta.text for delta in asked if isinstance(delta, Text))
    folded = Message("summary", "user", f"{SUMMARY_TAG}\n{text}")
    count = counter.count
    return Sizes(counter.overhead(()) + count(task), count(act), count(see), count(mask_message(see)), count(folded))
