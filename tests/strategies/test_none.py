"""none: nothing is done, and that shows."""

from __future__ import annotations

from hypothesis import given

from tests.support.histories import broken_histories, budget, react40
from thimble.agent.messages import Message
from thimble.strategies.none import NoManagement


@given(broken_histories())
def test_none_sends_everything(history: list[Message]) -> None:
    view = NoManagement().prepare(history, budget(1))
    assert view == history
    assert view is not history


def test_none_is_not_fitted() -> None:
    assert NoManagement.fitted is False
    assert budget().over(NoManagement().prepare(react40(), budget()))
