"""The table: a SPEC names a strategy and its parameters; whatever it cannot mean is a UsageError that helps."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import LIMITS, budget, outcome, react40, sound_histories
from tests.support.specs import ASKING, build, parts
from thimble.agent.budget import Budget
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message
from thimble.agent.protocols import Strategy
from thimble.agent.side import SideModel
from thimble.strategies.hybrid import Hybrid
from thimble.strategies.none import NoManagement
from thimble.strategies.own import Own
from thimble.strategies.parameter import Parameter, parameter, parameters
from thimble.strategies.table import STRATEGIES, Pipeline, without_a_model


def test_those_that_ask_no_model_are_all_but_those_that_ask_one() -> None:
    assert without_a_model() == [name for name in STRATEGIES if name not in ASKING]


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
    assert [getattr(part, "state", None) for part in parts(again)] == list(state.values())


# --- strategies of one's own ------------------------------------------------------------------------------------------


def inner(spec: str) -> object:
    """The object of a module that a SPEC names."""
    strategy = build(spec)
    assert isinstance(strategy, Own)
    return strategy.inner


def test_a_folder_on_the_way_may_be_called_like_a_file(tmp_path: Path) -> None:
    path = tmp_path / ".pyenv" / "mine.py"
    path.parent.mkdir()
    path.write_text("class Mine:\n    def prepare(self, messages, budget):\n        return messages[:2]\n")
    assert len(build(f"{path}:Mine").prepare(react40(), budget())) == 2


def test_a_file_may_be_written_as_ours_are(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass, field\n\n"
        "@dataclass(frozen=True)\n"
        "class Rule:\n"
        "    keep: int = 2\n\n"
        "def prepare(messages, budget):\n"
        "    return messages[: Rule().keep]\n"
    )
    assert len(build(str(path)).prepare(react40(), budget())) == 2


@pytest.mark.parametrize(
    "text",
    ["", "prepare = 3\n", "def prepare(:\n", "import no_such_module_anywhere\n", "1 / 0\n", "raise SystemExit\n"],
    ids=["empty", "no function", "syntax", "import", "error", "exit"],
)
def test_a_file_that_is_no_strategy_is_a_usage_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"mine\.py"):
        build(str(path))


def test_a_file_whose_class_is_not_named_says_how_to_name_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from thimble.agent.budget import Budget\n\nclass Fuse:\n    def prepare(self, messages, budget): ...\n"
    )
    with pytest.raises(UsageError) as caught:
        build(str(path))
    assert caught.value.fix == f"write {path}:Fuse"


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        build(str(tmp_path / "mine.py"))
    with pytest.raises(UsageError, match="there is no file"):
        build("./none.py")


def test_a_name_in_a_module_is_a_strategy() -> None:
    assert isinstance(inner("thimble.strategies.none:NoManagement"), NoManagement)


def test_a_class_in_a_module_is_given_the_model_that_it_asks_for() -> None:
    strategy = inner("thimble.strategies.hybrid:Hybrid")
    assert isinstance(strategy, Hybrid)
    assert isinstance(strategy.model, SideModel)


def test_an_object_in_a_module_is_a_strategy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine_too.py").write_text("from thimble.strategies.none import NoManagement\nready = NoManagement()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        assert isinstance(inner("mine_too:ready"), NoManagement)
    finally:
        sys.modules.pop("mine_too")


# --- parameters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_parameter_says_what_it_means_and_takes_its_default(name: str) -> None:
    for listed in parameters(STRATEGIES[name]):
        assert listed.meaning
        assert listed.legal
        assert listed.read(listed.shown) == listed.default


def test_what_a_parameter_takes_in_words() -> None:
    listed = {parameter.name: parameter for parameter in parameters(STRATEGIES["observation-masking"])}
    assert list(listed) == ["window", "when", "target", "every"]
    assert listed["when"].legal == "over or always"
    assert listed["window"].legal == "0 to 1,000,000"
    assert listed["target"].legal == "0.1 to 1"
    assert listed["target"].read("0.5") == 0.5
    assert listed["window"] == Parameter("window", 2, "newest turns whose observations stay", paper=10)


@dataclass
class Everything:
    """Takes all that a parameter can be."""

    share: float | None = parameter(None, "a share; unset: none", 0.5, 2)
    price: float | Literal["auto"] = parameter("auto", "a price", 0, 1)
    trim: bool = parameter(True, "whether to trim")
    order: Literal["on", "off", "unset"] = parameter("off", "words that are just words")


def test_every_kind_of_parameter() -> None:
    listed = {parameter.name: parameter for parameter in parameters(Everything)}
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
    (listed,) = (parameter for parameter in parameters(Everything) if parameter.name == name)
    with pytest.raises(UsageError) as caught:
        listed.read(text)
    assert caught.value.what == f"{name}={text} is not possible"
    assert caught.value.fix.startswith(fix)


@given(
    st.sampled_from(parameters(Everything)), st.text(max_size=8) | st.from_regex(r"[-+]?\d{1,5}(\.\d)?", fullmatch=True)
)
def test_the_nearest_value_is_a_legal_one(listed: Parameter, text: str) -> None:
    value = outcome(lambda: listed.read(text))
    if isinstance(value, UsageError) and value.fix.startswith("did you mean"):
        listed.read(value.fix.removeprefix("did you mean ").partition("?")[0])


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_parameter_that_may_be_unset_says_what_that_means(name: str) -> None:
    for listed in parameters(STRATEGIES[name]):
        assert ("unset: " in listed.meaning) == (listed.default is None)
