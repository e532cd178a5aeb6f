"""Simulate agents on two servers, with the full history, the newest turns, or summaries of a memory model (CoMem).

The prompts are those of the strategy `comem` (strategies/comem.py) without a budget: k-step-off is its default,
synchronous is `summary=waited`, and no summary is `summary=none`.
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
"""The tokens of a summary: the paper's maximum (4.2)."""
Strategy = Literal["full context", "no summary", "synchronous", "k-step-off"]
COMEM_STRATEGIES: Sequence[Strategy] = get_args(Strategy)


@dataclass(frozen=True, slots=True)
class Deployment:
    """Two servers and a strategy. `tool`: seconds that the environment takes between two calls of an agent."""

    agent: Host
    memory: Host
    strategy: Strategy
    k: int
    offload: bool
    tool: float
    summary: int = SUMMARY_TOKENS


@dataclass(slots=True)
class PipelineOutcome:
    """Seconds until the last agent ended, seconds that agents waited for summaries, and the counts of the servers."""

    seconds: float
    waited: float
    agent: Counts
    memory: Counts


def simulate_agents(runs: Sequence[AgentRun], setting: Deployment) -> PipelineOutcome:
    """Run all agents at once, on servers with an empty cache.

    Raises:
        UsageError: simpy is not installed, or a prompt does not fit on its server.
    """
    try:
        from simpy import AllOf, Environment
    except ImportError as error:
        raise UsageError("the simulation needs simpy", "pip install simpy") from error
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
        """Play the run, call by call.

        The window starts at the end of the current summary. A summary covers the turns up to `step` - k, and is used
        in at least k prompts; the next one is requested when it would cover k more turns.
        """
        setting, k = self.setting, self.setting.k
        summarised = setting.strategy in ("synchronous", "k-step-off")
        history = [*accumulate((turn.size for turn in self.run.turns), initial=self.run.head)]
        before = start = since = asked = 0
        pending: Event | None = None
        for step, turn in enumerate(self.run.turns):
            was = start
            if setting.strategy == "no summary":
                start = max(0, step - k)
            if pending and pending.triggered and (not start or step - since >= k):
                start, since, pending = asked, step, None
            if summarised and not pending and step - k - start >= k:
                pending = self.memory.ask(
                    PromptRequest(self.number, history[step - k], history[asked] if asked else 0, setting.summary)
                )
                asked = step - k
                if setting.strategy == "synchronous":
                    called = self.env.now
                    yield pending
                    self.waited += self.env.now - called
                    start, since, pending = asked, step, None
            prompt = self.run.head + history[step] - history[start] + (setting.summary if summarised and start else 0)
            shared = before if start == was else self.run.head
            yield self.agent.ask(PromptRequest(self.number, prompt, shared, turn.output))
            before = prompt + turn.output
            if step + 1 < len(self.run.turns):
                yield self.env.timeout(setting.tool)
