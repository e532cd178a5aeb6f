"""Agents on two servers, with the full history, with the newest turns, or with summaries of a memory model (CoMem).

A window moves every k steps (Figure 4): between two moves the prompt grows at its end, and its cache is used again.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, get_args

from thimble.agent.errors import UsageError
from thimble.lab.comem.agent_runs import AgentRun
from thimble.lab.comem.hosts import Host
from thimble.lab.comem.simulated_server import Counts, PromptRequest, SimulatedServer

if TYPE_CHECKING:
    from simpy import Environment, Event

SUMMARY_TOKENS = 2_048
"""Tokens of a summary: the paper's maximum (4.2)."""
Strategy = Literal["full context", "no summary", "synchronous", "k-step-off"]
COMEM_STRATEGIES: Sequence[Strategy] = get_args(Strategy)


@dataclass(frozen=True, slots=True)
class Deployment:
    """Two servers and a strategy. `tool` is the seconds of the environment between two calls of an agent."""

    agent: Host
    memory: Host
    strategy: Strategy
    k: int
    offload: bool
    tool: float
    summary: int = SUMMARY_TOKENS


@dataclass(slots=True)
class PipelineOutcome:
    """Seconds until the last agent has ended, seconds that agents waited for summaries, and what the servers did."""

    seconds: float
    waited: float
    agent: Counts
    memory: Counts


def simulate(runs: Sequence[AgentRun], setting: Deployment) -> PipelineOutcome:
    """All runs at once, from empty servers.

    Raises:
        UsageError: simpy is not installed, or a prompt has no room on its server.
    """
    try:
        from simpy import AllOf, Environment
    except ImportError as error:
        raise UsageError("the simulation needs simpy", "pip install 'thimble-agent[simulation]'") from error
    env = Environment()
    agent, memory = (SimulatedServer(env, host, setting.offload) for host in (setting.agent, setting.memory))
    agents = [_Agent(env, number, run, setting, agent, memory) for number, run in enumerate(runs)]
    env.run(AllOf(env, [env.process(one.work()) for one in agents]))
    return PipelineOutcome(env.now, sum(one.waited for one in agents), agent.counts, memory.counts)


@dataclass(slots=True)
class _Agent:
    env: Environment
    number: int
    run: AgentRun
    setting: Deployment
    agent: SimulatedServer
    memory: SimulatedServer
    waited: float = 0.0

    def work(self) -> Generator[Event, object, None]:
        """The run, call by call (Algorithm 1)."""
        setting, k = self.setting, self.setting.k
        history = [*accumulate((turn.size for turn in self.run.turns), initial=self.run.head)]
        before, start, summary = 0, 0, 0
        pending: Event | None = None
        for step, turn in enumerate(self.run.turns):
            shared = before
            if setting.strategy != "full context" and step and step % k == 0:
                if start + k < step:  # the window moves: turns start to start + k leave it
                    start += k
                    shared = self.run.head
                    if setting.strategy != "no summary":
                        asked = self.env.now
                        yield pending or self._summary(history, start)
                        self.waited += self.env.now - asked
                        summary = setting.summary
                if setting.strategy == "k-step-off":
                    pending = self._summary(history, step)
            prompt = history[step] - history[start] + self.run.head + summary
            yield self.agent.ask(PromptRequest(self.number, prompt, shared, turn.output))
            before = prompt + turn.output
            if step + 1 < len(self.run.turns):
                yield self.env.timeout(setting.tool)

    def _summary(self, history: Sequence[int], step: int) -> Event:
        """The reply of the memory model to the history before a step; it has read the history k steps before."""
        shared = history[step - self.setting.k] if step > self.setting.k else 0
        return self.memory.ask(PromptRequest(self.number, history[step], shared, self.setting.summary))
