"""Make an agent from the settings of a session: its models, its strategy, its tools."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from thimble.agent.agent import Agent
from thimble.agent.protocols import Backend, Embedder, Strategy
from thimble.agent.side import SideModel
from thimble.agent.state import State
from thimble.models.prices import by_timings, fixed_card, read_prices
from thimble.session.backends import SIDE_MODELS, Backends
from thimble.session.calls import by_schema
from thimble.session.delegate import write_brief
from thimble.session.settings import Settings
from thimble.session.settings_table import AUTO
from thimble.strategies.paper_names import use_our_names
from thimble.tools import load_installed, on_demand, small_model_tools, toolbox
from thimble.tools.examples import examples
from thimble.tools.notebook import Notebook

if TYPE_CHECKING:
    from thimble.corpus.library import Library

SUB_AGENT_STRATEGY = "observation-masking"
"""The strategy of a sub-agent."""


def make_agent(settings: Settings, backends: Backends, backend: Backend, embedder: Embedder | None) -> Agent:
    """Make an agent with these settings that talks to `backend`. It has neither tools nor a system prompt yet.

    Raises:
        UsageError: the strategy, a price or the name of a side model is not valid.
        ModelError: a side model cannot be used.
    """
    spec = use_our_names(settings.strategy.strip())
    summariser, memory = map(backends.side_model, SIDE_MODELS)
    if summariser and summariser.id == backend.id and not ("@" in settings.summariser or backend.id.built_in):
        summariser = backend  # the same one, or they would not share a prefix
    side = SideModel(summariser or backend, embedder, memory, summariser=backends.summariser)
    return Agent(
        backend=backend,
        strategy=strategy_of(spec, side),
        state=State(spec, settings.budget, model=str(backend.id)),
        tools={},
        side=side,
        max_turns=settings.max_turns,
        temperature=0.0 if settings.temperature == 0 else None,
        prices=by_timings if settings.price == AUTO else fixed_card(read_prices(settings.price)),
    )


def equip_agent(agent: Agent, library: Library, files: Path, notes: Notebook, embedder: Embedder | None) -> list[str]:
    """Give an agent its tools; to one that calls by schema the everyday ones, with worked examples.

    Returns:
        A line for each tool of an installed package that cannot be used.
    """
    from thimble.session.grounding import ground_answer  # the first prompt need not wait for it

    side = agent.side

    def delegated(task: str) -> str:
        return write_brief(agent, task, strategy_of(SUB_AGENT_STRATEGY, side))

    agent.tools = toolbox(library, files, notes, embedder)
    agent.on_demand = on_demand(lambda: agent.history, delegated)
    agent.examples = tuple(examples()) if by_schema(agent.backend) else ()
    agent.grounds = ground_answer
    if agent.examples:
        from thimble.corpus.search import Search

        agent.on_demand |= agent.tools
        agent.tools = small_model_tools(library, files, embedder, lambda: agent.history)
        agent.grounds = partial(ground_answer, search=Search(library, embedder))
    others, problems = load_installed({*agent.tools, *agent.on_demand})
    agent.tools |= others
    return problems


def strategy_of(spec: str, side: SideModel) -> Strategy:
    """The strategy of a SPEC. This imports all strategies, late, so that the first prompt need not wait."""
    from thimble.strategies.spec import make_strategy

    return make_strategy(spec, side)
