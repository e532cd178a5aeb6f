"""The table: a SPEC names a strategy and its parameters; whatever it cannot mean is a UsageError that helps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given

from tests.support.histories import LIMITS, budget, react40, sound_histories
from tests.support.specs import ASKING, build, parts_of
from thimble.agent.budget import Budget
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message
from thimble.agent.protocols import Strategy
from thimble.strategies.parameter import parameter, parameters_of
from thimble.strategies.table import STRATEGIES, Pipeline, list_without_model


def test_those_that_ask_no_model_are_all_but_those_that_ask_one() -> None:
    assert list_without_model() == [name for name in STRATEGIES if name not in ASKING]


# --- pipelines --------------------------------------------------------------------------------------------------------


def test_a_pipeline_is_its_parts_one_after_the_other() -> None:
    together = build("observation-masking:window=0,when=always + sliding-window:window=3")
    assert isinstance(together, Pipeline)
    one, other = build("observation-masking:window=0,when=always"), build("sliding-window:window=3")
    step = one.prepare(react40(), budget())
    assert together.prepare(react40(), budget()) == other.prepare(step, budget())


class Returns(Strategy):
    """Puts a line of its own behind the history, in a list of its own."""

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        return [*messages, Message("hint", "user", "Be brief.")]


class Yields(Returns):
    """The same, one message after the other."""

    def prepare(self, messages: Sequence[Message], budget: Budget) -> Iterator[Message]:  # type: ignore[override]
        yield from super().prepare(messages, budget)


class Appends(Returns):
    """The same, in the list that it was given."""

    def prepare(self, messages: list[Message], budget: Budget) -> list[Message]:  # type: ignore[override]
        messages[:] = super().prepare(messages, budget)
        return messages


@pytest.mark.parametrize("kind", [Yields, Appends])
@given(sound_histories(), LIMITS)
def test_a_part_may_do_what_a_strategy_alone_may(kind: type[Returns], history: list[Message], limit: int) -> None:
    views = [Pipeline([part(), build("sliding-window")]).prepare(history, budget(limit)) for part in (Returns, kind)]
    assert views[0] == views[1]


def test_a_pipeline_is_fitted_as_its_last_part_wishes() -> None:
    assert build("none+sliding-window").fitted is True  # type: ignore[attr-defined]
    assert build("sliding-window+none").fitted is False  # type: ignore[attr-defined]


def test_a_pipeline_s_state_is_that_of_its_parts() -> None:
    spec = "none+observation-masking+sliding-window"
    pipeline = build(spec)
    pipeline.prepare(react40(), budget(2_000))
    state = pipeline.state  # type: ignore[attr-defined]
    assert (state["0"], set(state)) == (None, {"0", "1", "2"})
    again = build(spec)
    again.state = state  # type: ignore[attr-defined]
    assert [getattr(part, "state", None) for part in parts_of(again)] == list(state.values())


# --- parameters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_parameter_says_what_it_means_and_takes_its_default(name: str) -> None:
    for listed in parameters_of(STRATEGIES[name]):
        assert listed.meaning
        assert listed.legal
        assert listed.read(listed.shown) == listed.default
        assert ("unset: " in listed.meaning) == (listed.default is None)


@dataclass
class Everything:
    """Takes all that a parameter can be."""

    share: float | None = parameter(None, "a share; unset: none", 0.5, 2)
    price: float | Literal["auto"] = parameter("auto", "a price", 0, 1)
    trim: bool = parameter(True, "whether to trim")
    order: Literal["on", "off", "unset"] = parameter("off", "words that are just words")


def test_every_kind_of_parameter() -> None:
    listed = {parameter.name: parameter for parameter in parameters_of(Everything)}
    assert [parameter.shown for parameter in listed.values()] == ["unset", "auto", "on", "off"]
    assert listed["share"].legal == "0.5 to 2 or unset"
    assert [listed["share"].read(text) for text in ("unset", "1", "0.5")] == [None, 1.0, 0.5]
    assert listed["price"].legal == "0 to 1 or auto"
    assert [listed["price"].read(text) for text in ("auto", "0.1")] == ["auto", 0.1]
    assert listed["trim"].legal == "on or off"
    assert [listed["trim"].read(text) for text in ("on", "off")] == [True, False]
    assert listed["order"].legal == "on, off or unset"
    assert [listed["order"].read(text) for text in ("on", "off", "unset")] == ["on", "off", "unset"]


@pytest.mark.parametrize(
    ("name", "text", "fix"),
    [
        ("share", "3", "share takes 0.5 to 2 or unset: a share"),
        ("share", "none", "share takes 0.5 to 2 or unset: a share"),
        ("price", "atuo", "did you mean auto? price takes 0 to 1 or auto: a price"),
        ("trim", "1", "trim takes on or off: whether"),
        ("trim", "of", "did you mean off? trim takes on or off: whether"),
    ],
)
def test_a_value_that_is_not_legal_gets_the_nearest_that_is(name: str, text: str, fix: str) -> None:
    (listed,) = (parameter for parameter in parameters_of(Everything) if parameter.name == name)
    with pytest.raises(UsageError) as caught:
        listed.read(text)
    assert caught.value.what == f"{name}={text} is not valid"
    assert caught.value.fix.startswith(fix)
