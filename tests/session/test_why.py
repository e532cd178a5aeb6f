"""Why: every message of every view has a rule, and where a strategy or `fit` acted it says so with the numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.histories import TinyCounter, budget, react_history
from tests.support.scripted import Scripted
from thimble.agent.budget import Budget
from thimble.agent.messages import Message
from thimble.agent.protocols import Strategy
from thimble.agent.side import SideModel
from thimble.agent.view import View
from thimble.commands.replay import replay_strategy
from thimble.commands.why import NO_REASON, why
from thimble.strategies.own import OwnStrategy
from thimble.strategies.spec import make_strategy


def last(spec: str, limit: int = 2_000) -> View:
    strategy = make_strategy(spec, SideModel(Scripted([], TinyCounter())))
    view = [*replay_strategy([*react_history(12), Message("q", "user", "And now?")], strategy, budget(limit))][-1].view
    assert isinstance(view, View)
    return view


def whys(view: View, fate: str) -> set[str]:
    return {why(view, place) for place, its in enumerate(view.fates) if its == fate}


@pytest.mark.parametrize(
    ("spec", "fate", "words"),
    [
        (
            "observation-masking",
            "masked",
            " of 2,000 tokens; wanted 40% of the budget, reached 77%: the 2 newest turns stay",
        ),
        ("observation-masking:when=always,window=3", "masked", "older than the 3 newest turns"),
        ("offload", "offloaded", "larger than 25% of the budget when it came"),
        ("sliding-window", "dropped", "tokens: slid down to 20% of it"),
        ("sliding-window:window=3", "dropped", "older than the 3 newest turns"),
        ("truncate", "dropped", "older than the newest messages that 2,000 tokens hold, which are "),
        ("observation-masking+sliding-window:window=1", "dropped", "older than the newest turn"),
    ],
)
def test_a_strategy_says_by_which_rule_it_acted(spec: str, fate: str, words: str) -> None:
    assert any(words in said for said in whys(last(spec), fate)), whys(last(spec), fate)


def test_what_fit_leaves_out_is_laid_to_fit() -> None:
    class Everything(Strategy):
        def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
            return [*messages]

    view = [*replay_strategy(react_history(12), Everything(), budget(2_000))][-1].view
    assert isinstance(view, View)
    (said,) = whys(view, "dropped")
    assert said.startswith("fit left it out (the view was ")
    assert said.endswith(" of 2,000 tokens: the oldest went, a quarter of the budget at a time)")


def test_a_strategy_that_drops_and_does_not_say_why() -> None:
    class Last(Strategy):
        def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
            return [*messages[-1:]]

    view = [*replay_strategy(react_history(3), Last(), budget())][-1].view
    assert isinstance(view, View)
    assert whys(view, "dropped") == {NO_REASON}


def test_a_why_that_fails_costs_no_view() -> None:
    class Broken:
        def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
            return [*messages[-1:]]

        def why(self, message: Message) -> str:
            raise ZeroDivisionError("of mine")

    view = [*replay_strategy(react_history(3), OwnStrategy("mine", Broken()), budget())][-1].view
    assert isinstance(view, View)
    assert whys(view, "dropped") == {"mine: its why() failed: ZeroDivisionError: of mine"}


def test_what_is_kept_is_kept_by_a_law_or_because_nothing_was_done() -> None:
    view = last("none", limit=100_000)
    said = [why(view, place) for place in range(len(view.history))]
    assert said[0] == "the system message is first in every view, byte for byte"
    assert said[1] == "the first task stays in every view, word for word"
    assert said[-1] == "the current question stays in every view, word for word"
    assert said[2] == f"the strategy left it as it was; the view is {view.tokens:,} of 100,000 tokens"
