"""A sub-agent: it does a reading task in a fresh context and returns a brief of limited size."""

from __future__ import annotations

from bisect import bisect_right

from thimble.agent.agent import Agent
from thimble.agent.budget import Counter
from thimble.agent.errors import BudgetError, ToolError
from thimble.agent.events import Answered
from thimble.agent.loop import run
from thimble.agent.messages import Message
from thimble.agent.prompts import DELEGATE_PROMPT
from thimble.agent.protocols import Strategy
from thimble.agent.side import SideModel
from thimble.agent.state import State
from thimble.models.prices import fixed_card

BRIEF_WORDS = 250
"""The length of the brief that the prompt asks for."""
MAX_BRIEF_TOKENS = 500
"""The most tokens of a brief; a longer one is cut."""
WRITING_TOOLS = {"save_note"}
"""Tools that a sub-agent does not get: it only reads."""


def write_brief(agent: Agent, task: str, strategy: Strategy) -> str:
    """A sub-agent's report on a task in at most `MAX_BRIEF_TOKENS` tokens; it says so if it was cut.

    The sub-agent uses the agent's backend, budget and usual tools except those that write, and none on demand. It has
    its own history, ledger and strategy. The agent's side model reports each of its model calls, failed ones too.

    Raises:
        ToolError: the budget cannot hold the task, or there is no answer.
        ModelError: the server cannot be used.
    """
    backend = agent.side.with_reports(agent.backend, "delegate")
    reader = Agent(
        backend=backend,
        strategy=strategy,
        state=State("delegate", agent.limit, DELEGATE_PROMPT.format(words=BRIEF_WORDS)),
        tools={name: tool for name, tool in agent.tools.items() if name not in WRITING_TOOLS},
        side=SideModel(backend),
        max_turns=agent.max_turns,
        max_output=agent.max_output,
        temperature=agent.temperature,
        prices=fixed_card(agent.price_card()),
        examples=agent.examples,
    )
    try:
        text = next((event.text.strip() for event in run(reader, task) if isinstance(event, Answered)), "")
    except BudgetError as error:
        raise ToolError(f"{error.what}: give a shorter task") from error
    if not text:
        raise ToolError("the sub-agent returned an empty answer; rephrase the task or read the source yourself")
    return cut_to_tokens(text, MAX_BRIEF_TOKENS, agent.backend.counter)


def cut_to_tokens(text: str, most: int, counter: Counter) -> str:
    """The text in at most `most` tokens, cut between words if possible; a cut text says so."""

    def tokens(shown: str) -> int:
        return counter.count(Message("brief", "tool", shown)) - counter.count(Message("brief", "tool"))

    whole = tokens(text)
    if whole <= most:
        return text

    def marked(length: int) -> str:
        space = text.rfind(" ", 0, length)
        return f"{text[: space if space > length // 2 else length]}\n[cut: the brief had {whole:,} tokens]"

    length = bisect_right(range(len(text)), most, key=lambda length: tokens(marked(length)))
    return marked(max(0, length - 1))
