"""Runs of agents as sizes in tokens: drawn from means, or taken from recorded trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log1p, sqrt
from random import Random
from statistics import NormalDist

from thimble.agent.budget import Counter
from thimble.agent.messages import turns
from thimble.commands.trajectories import Trajectory

MAX_STEPS = 100
"""The paper's limit on steps (4.1)."""
SIZE_SPREAD = 0.5
"""Numbers of calls and sizes are lognormal, with this share of the mean as their standard deviation."""


@dataclass(frozen=True, slots=True)
class TurnSize:
    """Tokens of a call's reply (reasoning and action), and of the observation before the next call."""

    output: int
    observation: int

    @property
    def size(self) -> int:
        """Tokens that the turn adds to the history."""
        return self.output + self.observation


@dataclass(frozen=True, slots=True)
class AgentRun:
    """The tokens before an agent's first call, and its turns."""

    head: int
    turns: Sequence[TurnSize]


@dataclass(frozen=True, slots=True)
class MeanSizes:
    """Mean tokens: of the part before the first call (the same in all runs), of a reply and of an observation."""

    head: int
    output: float
    observation: float


def draw_runs(number: int, calls: float, means: MeanSizes, seed: int) -> list[AgentRun]:
    """Draw `number` runs. Their numbers of calls are quantiles of the distribution; the seed draws their sizes."""
    chance = Random(seed)
    runs = []
    for at in range(number):
        length = min(MAX_STEPS, _lognormal(calls, (at + 0.5) / number))
        sizes = [
            [_lognormal(mean, 1 - chance.random()) for mean in (means.output, means.observation)] for _ in range(length)
        ]
        runs.append(AgentRun(means.head, [TurnSize(*each) for each in sizes]))
    return runs


def _lognormal(mean: float, quantile: float) -> int:
    """A quantile of the lognormal distribution with this mean, at least 1."""
    variance = log1p(SIZE_SPREAD**2)
    return max(1, round(mean * exp(NormalDist(-variance / 2, sqrt(variance)).inv_cdf(quantile))))


def recorded_sizes(trajectory: Trajectory, counter: Counter) -> AgentRun:
    """The sizes of a recorded run. User messages between two calls count as observations."""
    messages = trajectory.messages
    sizes = [counter.count(message) for message in messages]
    bounds = [*(turn.start for turn in turns(messages)), len(messages)]
    found = [TurnSize(sizes[at], sum(sizes[at + 1 : stop])) for at, stop in pairwise(bounds)]
    return AgentRun(counter.overhead(trajectory.tools) + sum(sizes[: bounds[0]]), found)
