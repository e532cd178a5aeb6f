"""A stage for strategies: every SPEC that may be asked for, and summarisers that work, fail or say too much."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hypothesis import strategies as st

from tests.support.embedding import Counting
from tests.support.histories import TinyCounter, is_sound
from thimble.agent.background import Worker
from thimble.agent.budget import Budget
from thimble.agent.errors import ModelError
from thimble.agent.messages import Message, Schema, turns
from thimble.agent.protocols import BackendDefaults, Delta, Expects, Strategy, Text, Usage
from thimble.agent.side import SideModel
from thimble.session.step_worker import StepWorker
from thimble.strategies.comem import Comem
from thimble.strategies.compress import Compress
from thimble.strategies.critic_summary import CriticSummary
from thimble.strategies.dedup import Dedup
from thimble.strategies.hybrid import Hybrid
from thimble.strategies.llm_summary import LLMSummary
from thimble.strategies.observation_masking import ObservationMasking
from thimble.strategies.offload import Offload
from thimble.strategies.paper import N_HYBRID, M, N, scaled
from thimble.strategies.parameter import Parameter, parameters
from thimble.strategies.sliding_window import SlidingWindow
from thimble.strategies.spec import parse
from thimble.strategies.table import STRATEGIES, Pipeline
from thimble.strategies.thrifty import Thrifty
from thimble.strategies.tidy import Tidy
from thimble.strategies.todo import Todo
from thimble.strategies.truncate import Truncate


def short(messages: Sequence[Message]) -> str:
    """A summary as a model might write it: a few of the first words, and a name."""
    text = " ".join((message.content or "")[:200] for message in messages)
    return " ".join([*text.split()[:12], named(messages)])


def named(messages: Sequence[Message]) -> str:
    """The newest number or numbered name before the instruction: the least that a summary can hold."""
    found = (re.search(r"\b[a-z]?\d\d+", message.content or "") for message in reversed(messages[:-1]))
    return next((match[0] for match in found if match), "s")


def fails(messages: Sequence[Message]) -> str:
    """A server that is gone."""
    raise ModelError("the server is gone")


def interrupts(messages: Sequence[Message]) -> str:
    """The user pressed Ctrl-C."""
    raise KeyboardInterrupt


SUMMARISERS: dict[str, Callable[[Sequence[Message]], str]] = {
    "short": short,
    "fails": fails,
    "empty": lambda messages: " \n ",
    "larger": lambda messages: "word " * 100_000,
    "as large": lambda messages: "".join(message.content or "" for message in messages),
}


@dataclass
class Summariser(BackendDefaults):
    """A backend that answers with what a function makes of the prompt; the function may be swapped."""

    answer: Callable[[Sequence[Message]], str] = short
    name: str = "summariser"
    model: str = "tiny"
    counter: TinyCounter = field(default_factory=TinyCounter)
    prompts: list[list[Message]] = field(default_factory=list)
    limits: list[int | None] = field(default_factory=list)

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        expects: Expects = "turn",
    ) -> Generator[Delta, None, None]:
        assert is_sound(messages) == []
        self.prompts.append(list(messages))
        self.limits.append(max_tokens)
        yield Text(self.answer(messages))
        yield Usage()


def build(spec: str, backend: Summariser | None = None, worker: Worker | None = None) -> Strategy:
    """A fresh strategy. What it asks in the background has ended at the next call, unless the worker says otherwise."""
    side = SideModel(backend or Summariser(), Counting(), worker=worker or StepWorker())
    return parse(spec, side)


def parts(strategy: Strategy) -> Sequence[Any]:
    """The strategies of a pipeline, or the one."""
    return strategy.parts if isinstance(strategy, Pipeline) else [strategy]


def leave(strategy: Strategy) -> None:
    """Stop what is asked in the background, as a session does that is left."""
    for part in parts(strategy):
        if isinstance(model := getattr(part, "model", None), SideModel):
            model.stop()


def state_of(strategy: Strategy) -> Any:
    """The state as a session file holds it."""
    return json.loads(json.dumps(getattr(strategy, "state", {})))


Rule = Callable[[Any, Sequence[Message], Budget], bool]


def _gathered(n: int) -> Rule:
    return lambda it, messages, budget: len(turns(messages)) >= scaled(it.every, n, budget) + scaled(it.tail, M, budget)


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
COSTLY = {
    "compress": "what an edit leaves of the observations must be computed anew, and it leaves half of them",
    "truncate": "edits at every call over the budget: that is the lesson",
    **dict.fromkeys(
        ["llm-summary", "critic-summary", "hybrid", "comem"], "edits by a count of turns, whatever that costs"
    ),
    "thrifty": "weighs prefill against what stays, by the price card",
    **dict.fromkeys(["tidy", "dedup"], "hide nothing, so that only `fit` is left where nothing can be written shorter"),
    "todo": "hides nothing, so that only `fit` is left",
    "notes": "nothing is noted in a history of plain reading, so that only `fit` is left",
}
"""Strategies whose edits are not worth their prefill on such a history, and why."""


def exempt(law: int, strategy: Strategy, messages: Sequence[Message], budget: Budget) -> bool:
    """Whether some part need not keep this law at this call."""
    rules = EXEMPT[law]
    return any(type(part) in rules and rules[type(part)](part, messages, budget) for part in parts(strategy))


def fills(strategy: Strategy) -> float:
    """The share of the budget at which the strategy begins to act."""
    return min(getattr(part, "at", 1.0) for part in parts(strategy))


def model_words(part: Any) -> dict[str, str]:
    """What a model wrote that a strategy still goes by, by the ids that it covers: a summary, or a brief for each."""
    masked = part.state.get("masked", {})
    briefs = {id_: text for id_, text in part.state.get("briefs", {}).items() if text and id_ not in masked}
    return {**dict.fromkeys(part.state.get("covers", ()), part.state.get("summary", "")), **briefs}


# --- SPECs ------------------------------------------------------------------------------------------------------------


def values(parameter: Parameter) -> Iterator[str]:
    """Legal values of a parameter, the extreme ones among them."""
    yield from parameter.choices
    if parameter.kind is float:
        yield from (str(value) for value in (parameter.least, 0.37, parameter.most))
    elif parameter.kind is int:
        tries = (parameter.least, 1, 2, 3, 5, 20, parameter.most)
        yield from sorted({str(int(value)) for value in tries if parameter.least <= value <= parameter.most})


@cache
def settings(name: str) -> list[list[str]]:
    """For each parameter any legal value of it, as a SPEC writes it."""
    return [[f"{each.name}={value}" for value in values(each)] for each in parameters(STRATEGIES[name])]


ANY_NAME = st.sampled_from(sorted(STRATEGIES))


@cache
@st.composite
def specs(draw: st.DrawFn, name: str) -> str:
    """A SPEC of one strategy with any of its parameters set; of `pipeline`, two or three of them in a row."""
    if name == OWN:
        return name
    if name == "pipeline":
        return "+".join(draw(specs(draw(ANY_NAME))) for _ in range(draw(st.integers(2, 3))))
    has_paper = any(one.paper for one in parameters(STRATEGIES[name]))
    paper, *drawn = draw(st.binary(min_size=(size := len(settings(name)) + 1), max_size=size))
    chosen = ["paper"] if has_paper and paper % 2 else []
    chosen += [each[at // 2 % len(each)] for each, at in zip(settings(name), drawn, strict=True) if at % 2]
    return f"{name}:{','.join(chosen)}" if chosen else name


OWN = os.environ.get("STRATEGY", "")
EVERY = [OWN] if OWN else [*STRATEGIES, "pipeline"]
"""What the laws are tried on: all of ours, or the SPEC of somebody's own (`make laws STRATEGY=./mine.py`)."""
SUMMARISING = ["progressive-summary", "summary-buffer", "llm-summary", "critic-summary", "hybrid", "compaction"]
ASKING = [*SUMMARISING, "thrifty", "delegate", "comem"]
SOME = (
    [OWN]
    if OWN
    else [
        "none",
        "truncate",
        "sliding-window",
        "sliding-window:window=0",
        "sliding-window:window=3",
        "sliding-window:window=1000000",
        "summary-buffer",
        "summary-buffer:buffer=1,words=20",
        "progressive-summary",
        "progressive-summary:piece=1,tail=1,words=20",
        "llm-summary",
        "llm-summary:paper",
        "llm-summary:every=2,tail=0",
        "critic-summary:every=1,tail=1",
        "compaction",
        "observation-masking",
        "observation-masking:window=0",
        "observation-masking:window=1000000",
        "observation-masking:window=0,when=always",
        "observation-masking:window=10,when=always",
        "observation-masking:target=1",
        "observation-masking:window=2,when=always,every=5",
        "hybrid",
        "hybrid:paper",
        "thrifty",
        "thrifty:window=0,price=1,words=20",
        "thrifty:summaries=off,price=0",
        "offload",
        "offload:share=0.01,window=0",
        "notes",
        "notes:window=0,warn=0.1,target=1",
        "hybrid:window=0,every=1,tail=1",
        "hybrid:window=2,when=over,tail=4",
        "observation-masking+sliding-window",
        "summary-buffer+observation-masking",
        "hybrid+none",
        "notes+none",
        "offload+notes+truncate",
        "tidy",
        "dedup",
        "tidy+observation-masking+dedup",
        "todo+observation-masking",
        "comem",
        "comem:k=1",
        "comem:k=1000,words=20",
        "comem:summary=waited",
        "comem:summary=none",
        "comem+observation-masking",
        "delegate",
        "delegate:window=1,words=20",
        "delegate+observation-masking",
        "retrieval",
        "retrieval:window=0,passages=1,share=1",
        "retrieval+sliding-window",
        "retrieval:by=meaning",
        "retrieval:window=0,passages=1,share=1,by=meaning",
        "compress",
        "compress:window=0,ratio=0.1,target=0.1",
    ]
)
