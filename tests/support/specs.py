"""A stage for strategies: every SPEC that may be asked for, and summarisers that work, fail or say too much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from tests.support.embedding import Counting
from thimble.agent.background import Worker
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message
from thimble.agent.protocols import Strategy
from thimble.agent.side import SideModel
from thimble.session.step_worker import StepWorker
from thimble.strategies.laws.subjects import SUMMARISERS as SUMMARISERS
from thimble.strategies.laws.subjects import Summariser
from thimble.strategies.laws.subjects import fail as fail
from thimble.strategies.laws.subjects import named_summary as named_summary
from thimble.strategies.laws.subjects import parts_of as parts_of
from thimble.strategies.laws.subjects import short_summary as short_summary
from thimble.strategies.parameter import Parameter, parameters_of
from thimble.strategies.spec import make_strategy
from thimble.strategies.table import STRATEGIES


def interrupts(messages: Sequence[Message]) -> str:
    """The user pressed Ctrl-C."""
    raise KeyboardInterrupt


def build(spec: str, backend: Summariser | None = None, worker: Worker | None = None) -> Strategy:
    """A fresh strategy. What it asks in the background has ended at the next call, unless the worker says otherwise."""
    side = SideModel(backend or Summariser(), Counting(), worker=worker or StepWorker())
    return make_strategy(spec, side)


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
    return [[f"{each.name}={value}" for value in values(each)] for each in parameters_of(STRATEGIES[name])]


ANY_NAME = st.sampled_from(sorted(STRATEGIES))


@cache
@st.composite
def specs(draw: st.DrawFn, name: str) -> str:
    """A SPEC of one strategy with any of its parameters set; of `pipeline`, two or three of them in a row."""
    if name == "pipeline":
        return "+".join(draw(specs(draw(ANY_NAME))) for _ in range(draw(st.integers(2, 3))))
    has_paper = any(one.paper for one in parameters_of(STRATEGIES[name]))
    paper, *drawn = draw(st.binary(min_size=(size := len(settings(name)) + 1), max_size=size))
    chosen = ["paper"] if has_paper and paper % 2 else []
    chosen += [each[at // 2 % len(each)] for each, at in zip(settings(name), drawn, strict=True) if at % 2]
    spec = f"{name}:{','.join(chosen)}" if chosen else name
    if name == "hybrid":  # the one that refuses values which are legal alone: a tail must be below N
        try:
            build(spec)
        except UsageError:
            reject()
    return spec


EVERY = [*STRATEGIES, "pipeline"]
"""What the laws are tried on."""
SUMMARISING = ["progressive-summary", "summary-buffer", "llm-summary", "critic-summary", "hybrid", "compaction"]
ASKING = [*SUMMARISING, "thrifty", "delegate", "comem"]
SOME = [
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
    "hybrid:window=0,every=1,tail=0",
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
