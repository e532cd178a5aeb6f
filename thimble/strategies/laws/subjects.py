"""Strategies under the laws: a model for them to ask, and the exemptions of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from thimble.agent.budget import Budget
from thimble.agent.errors import ModelError
from thimble.agent.messages import Message, Schema, turns
from thimble.agent.protocols import Backend, Delta, Expects, Strategy, Text, Usage
from thimble.agent.side import SideModel
from thimble.strategies.comem import Comem
from thimble.strategies.compress import Compress
from thimble.strategies.critic_summary import CriticSummary
from thimble.strategies.dedup import Dedup
from thimble.strategies.hybrid import Hybrid
from thimble.strategies.laws.histories import TinyCounter, is_sound
from thimble.strategies.llm_summary import LLMSummary
from thimble.strategies.observation_masking import ObservationMasking
from thimble.strategies.offload import Offload
from thimble.strategies.paper import N_HYBRID, M, N, scale_turns
from thimble.strategies.sliding_window import SlidingWindow
from thimble.strategies.table import Pipeline
from thimble.strategies.thrifty import Thrifty
from thimble.strategies.tidy import Tidy
from thimble.strategies.todo import Todo
from thimble.strategies.truncate import Truncate


def short_summary(messages: Sequence[Message]) -> str:
    """A summary as a model might write it: a few of the first words, and a name."""
    text = " ".join((message.content or "")[:200] for message in messages)
    return " ".join([*text.split()[:12], named_summary(messages)])


def named_summary(messages: Sequence[Message]) -> str:
    """The newest number or numbered name before the instruction: the least that a summary can hold."""
    found = (re.search(r"\b[a-z]?\d\d+", message.content or "") for message in reversed(messages[:-1]))
    return next((match[0] for match in found if match), "s")


def fail(messages: Sequence[Message]) -> str:
    """A server that is gone."""
    raise ModelError("the server is gone")


SUMMARISERS: dict[str, Callable[[Sequence[Message]], str]] = {
    "short": short_summary,
    "fails": fail,
    "empty": lambda messages: " \n ",
    "larger": lambda messages: "word " * 100_000,
    "as large": lambda messages: "".join(message.content or "" for message in messages),
}


@dataclass
class Summariser(Backend):
    """A backend that answers with a function of the prompt; the function may be swapped."""

    answer: Callable[[Sequence[Message]], str] = short_summary
    name: str = "summariser"
    model: str = "tiny"
    counter: TinyCounter = field(default_factory=TinyCounter)
    prompts: list[list[Message]] = field(default_factory=list)
    limits: list[int | None] = field(default_factory=list)
    longest: int | None = None

    def longest_prompt(self) -> int | None:
        """The given one."""
        return self.longest

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        expects: Expects = "turn",
    ) -> Generator[Delta, None, None]:
        """Stream the answer to a sound prompt, and remember the prompt."""
        assert is_sound(messages) == []
        self.prompts.append(list(messages))
        self.limits.append(max_tokens)
        yield Text(self.answer(messages))
        yield Usage()


def parts_of(strategy: Strategy) -> Sequence[Any]:
    """The strategies of a pipeline, or the one."""
    return strategy.parts if isinstance(strategy, Pipeline) else [strategy]


def stop_background_calls(strategy: Strategy) -> None:
    """Stop the calls in the background, as leaving a session does."""
    for part in parts_of(strategy):
        if isinstance(model := getattr(part, "model", None), SideModel):
            model.stop()


def state_of(strategy: Strategy) -> Any:
    """The state as a session file stores it."""
    return json.loads(json.dumps(getattr(strategy, "state", {})))


Rule = Callable[[Any, Sequence[Message], Budget], bool]


def _gathered(n: int) -> Rule:
    return lambda it, messages, budget: (
        len(turns(messages)) >= scale_turns(it.every, n, budget) + scale_turns(it.tail, M, budget)
    )


BY_TURNS: dict[type, Rule] = {
    SlidingWindow: lambda it, messages, budget: it.window is not None,
    ObservationMasking: lambda it, messages, budget: it.when == "always",
    Hybrid: lambda it, messages, budget: it.when == "always" or _gathered(N_HYBRID)(it, messages, budget),
    LLMSummary: _gathered(N),
    CriticSummary: _gathered(N),
    Comem: lambda it, messages, budget: len(turns(messages)) > it.k,
}
"""When a strategy's own rule counts turns, as the papers' do: it may change a view that fits, and edit as it counts."""
EXEMPT: dict[int, dict[type, Rule]] = {
    3: dict.fromkeys(
        [ObservationMasking, Hybrid], lambda it, messages, budget: it.when == "always"
    ),  # Eq. 4: any length
    4: {Comem: lambda it, messages, budget: it.summary == "background"},  # a summary may come between two same calls
    5: {
        Todo: lambda it, messages, budget: any(call.name == "todo" for message in messages for call in message.calls),
        **BY_TURNS,
        SlidingWindow: lambda it, messages, budget: it.window is not None or it.room is not None,
        **dict.fromkeys([Thrifty, Tidy, Dedup], lambda it, messages, budget: True),
        Compress: lambda it, messages, budget: it.when == "arrival",
        Offload: lambda it, messages, budget: max(map(budget.count, messages), default=0) > it.share * budget.limit,
    },
    6: {
        **BY_TURNS,
        Truncate: lambda it, messages, budget: True,
    },
    7: {Comem: lambda it, messages, budget: it.summary != "waited"},  # test_comem.py has its law
}
"""By law: when a strategy need not keep it, because its own rule says otherwise. A line a strategy."""


def is_exempt(law: int, strategy: Strategy, messages: Sequence[Message], budget: Budget) -> bool:
    """Whether some part need not keep this law at this call."""
    rules = EXEMPT[law]
    return any(type(part) in rules and rules[type(part)](part, messages, budget) for part in parts_of(strategy))


def acting_share(strategy: Strategy) -> float:
    """The share of the budget at which the strategy starts to act."""
    return min(getattr(part, "at", 1.0) for part in parts_of(strategy))
