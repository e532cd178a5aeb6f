"""Small hosts, runs and settings for the laws of the simulation."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from thimble.lab.comem.agent_runs import AgentRun, TurnSize
from thimble.lab.comem.hosts import USABLE, Gpu, Host, Model
from thimble.lab.comem.pipeline import COMEM_STRATEGIES, Deployment

MODEL = Model("small", parameters=1_000, active=1_000, width=2, kv=64)
GPU = Gpu("old", memory=1e9, bandwidth=1e5, pcie=1e4, operations={2: 1e7}, chunk=16)
AMPLE = 100_000
TURNS = st.builds(TurnSize, st.integers(1, 20), st.integers(0, 60))
RUNS = st.builds(AgentRun, st.integers(1, 50), st.lists(TURNS, min_size=1, max_size=9))
BATCHES = st.lists(RUNS, min_size=1, max_size=5)
MODELS = st.sampled_from([MODEL, replace(MODEL, active=300, chosen=0.1)])


def host(room: int = AMPLE, model: Model = MODEL, gpu: Gpu = GPU) -> Host:
    """A host whose cache holds so many tokens."""
    memory = (model.weights + (room + 0.5) * model.kv) / USABLE
    return Host(model, replace(gpu, memory=memory), 1)


def largest(run: AgentRun, summary: int) -> int:
    """Tokens that no request of the run passes, under any strategy."""
    return run.head + summary + sum(turn.size for turn in run.turns) + summary


@st.composite
def scenes(draw: st.DrawFn, batches: st.SearchStrategy[list[AgentRun]] = BATCHES) -> tuple[list[AgentRun], Deployment]:
    """Runs and two servers, mostly with too little room for all of them."""
    runs = draw(batches)
    summary = draw(st.integers(1, 60))
    least = max(largest(run, summary) for run in runs)
    agent, memory = (host(least + draw(st.integers(0, least)), draw(MODELS)) for _ in range(2))
    strategy = draw(st.sampled_from(COMEM_STRATEGIES))
    tool = draw(st.sampled_from([0.0, 0.01, 1.0]))
    return runs, Deployment(agent, memory, strategy, draw(st.integers(1, 3)), draw(st.booleans()), tool, summary)
