"""A stage for strategies: every SPEC that may be asked for, and summarisers that work, fail or say too much."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from agent.errors import ModelError
from agent.messages import Message, turns
from agent.protocols import Delta, Schema, Strategy, Text, Usage
from agent.side import SideModel
from strategies.parameter import Parameter, parameters
from strategies.table import STRATEGIES, Pipeline, parse
from tests.histories import TinyCounter, is_sound


def short(messages: Sequence[Message]) -> str:
    """A summary as a model might write it: a few of the first words."""
    return " ".join(" ".join((message.content or "")[:200] for message in messages).split()[:12]) or "nothing"


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
class Summariser:
    """A backend that answers with what a function makes of the prompt; the function may be swapped."""

    answer: Callable[[Sequence[Message]], str] = short
    name: str = "summariser"
    model: str = "tiny"
    counter: TinyCounter = field(default_factory=TinyCounter)
    prompts: list[list[Message]] = field(default_factory=list)
    limits: list[int | None] = field(default_factory=list)

    def stream(
        self, messages: Sequence[Message], tools: Sequence[Schema], *, max_tokens: int | None = None
    ) -> Generator[Delta, None, None]:
        assert is_sound(messages) == []
        self.prompts.append(list(messages))
        self.limits.append(max_tokens)
        yield Text(self.answer(messages))
        yield Usage()


def build(spec: str, backend: Summariser | None = None) -> Strategy:
    """A fresh strategy."""
    return parse(spec, SideModel(backend or Summariser()))


def parts(strategy: Strategy) -> Sequence[Any]:
    """The strategies of a pipeline, or the one."""
    return strategy.parts if isinstance(strategy, Pipeline) else [strategy]


def state_of(strategy: Strategy) -> Any:
    """The state as a session file holds it."""
    return json.loads(json.dumps(getattr(strategy, "state", {})))


def at_every_call(strategy: Strategy, messages: Sequence[Message]) -> bool:
    """Whether the strategy's own rule counts turns, so that it may change a view that fits, as the papers do."""
    found = len(turns(messages))
    return any(
        getattr(part, "window", None) is not None and getattr(part, "when", "always") == "always"
        for part in parts(strategy)
    ) or any(
        found >= getattr(part, "summarise_at", 10**9) + part.tail for part in parts(strategy) if hasattr(part, "tail")
    )


# --- SPECs ------------------------------------------------------------------------------------------------------------


def values(parameter: Parameter) -> Iterator[str]:
    """Legal values of a parameter, the extreme ones among them."""
    if parameter.choices:
        yield from parameter.choices
    elif parameter.kind is float:
        yield from (str(value) for value in (parameter.least, 0.37, parameter.most))
    else:
        tries = (parameter.least, 1, 2, 3, 5, 20, parameter.most)
        yield from sorted({str(int(value)) for value in tries if parameter.least <= value <= parameter.most})


@st.composite
def specs(draw: st.DrawFn, name: str) -> str:
    """A SPEC of one strategy with any of its parameters set; of `pipeline`, two or three of them in a row."""
    if name == "pipeline":
        return "+".join(draw(specs(draw(st.sampled_from(sorted(STRATEGIES))))) for _ in range(draw(st.integers(2, 3))))
    settings = [
        f"{parameter.name}={draw(st.sampled_from(list(values(parameter))))}"
        for parameter in parameters(STRATEGIES[name])
        if draw(st.booleans())
    ]
    return f"{name}:{','.join(settings)}" if settings else name


EVERY = [*STRATEGIES, "pipeline"]
SOME = [
    "none",
    "sliding-window",
    "sliding-window:window=0",
    "sliding-window:window=3",
    "sliding-window:window=1000000",
    "summary-buffer",
    "summary-buffer:buffer=1,words=20",
    "observation-masking",
    "observation-masking:window=0",
    "observation-masking:window=1000000",
    "observation-masking:window=0,when=always",
    "observation-masking:window=10,when=always",
    "observation-masking:target=1",
    "hybrid",
    "hybrid:window=0,summarise_at=1,tail=1",
    "hybrid:window=10,summarise_at=43,tail=10",
    "observation-masking+sliding-window",
    "summary-buffer+observation-masking",
    "hybrid+none",
]
