"""compaction: at its share of the budget, all but the exchange under way becomes one summary."""

from __future__ import annotations

import pytest

from tests.support.histories import Story, budget, react_history
from tests.support.specs import Summariser, build, named_summary
from thimble.agent.messages import Message


def two_exchanges(first: int, second: int) -> list[Message]:
    """A question answered after so many turns of about 650 tokens, and another one, so many turns under way."""
    story = Story().ask("the task")
    for _ in range(first):
        story.turn(600, says=40)
    story.answer("the answer").ask("and then?").turn(600).answer("that").ask("the question")
    for _ in range(second):
        story.turn(600, says=40)
    return story.messages


def test_below_its_share_nothing_happens() -> None:
    backend = Summariser()
    allowed = budget(round(budget().size(react_history(8)) / 0.8) + 1)
    assert build("compaction", backend).prepare(react_history(8), allowed) == react_history(8)
    assert backend.prompts == []
    assert build("compaction:at=0.7", backend).prepare(react_history(8), allowed) != react_history(8)


def test_everything_before_the_current_question_goes() -> None:
    history = two_exchanges(7, 2)
    asked = next(at for at, message in enumerate(history) if message.content == "the question")
    backend = Summariser(lambda messages: f"all of it, and {named_summary(messages)}")
    view = build("compaction", backend).prepare(history, budget())
    assert view == [*history[:2], view[2], *history[asked:]]
    assert view[2].covers == tuple(message.id for message in history[2:asked])
    (prompt,) = backend.prompts
    assert prompt[:-1] == history[:asked]


def test_of_an_exchange_that_is_most_of_the_view_the_old_turns_go_too() -> None:
    history = two_exchanges(1, 9)
    view = build("compaction:tail=3").prepare(history, budget())
    asked = next(message for message in history if message.content == "the question")
    assert view == [*history[:2], asked, view[3], *history[-6:]]
    assert set(view[3].covers) == {message.id for message in history[2:-6] if message is not asked}


@pytest.mark.parametrize("tail", [1, 2, 5])
def test_one_long_exchange_is_compacted_within_itself(tail: int) -> None:
    view = build(f"compaction:tail={tail}").prepare(react_history(12), budget())
    assert view == [*react_history(12)[:2], view[2], *react_history(12)[-2 * tail :]]


def test_an_exchange_that_is_too_long_even_by_itself_is_compacted_in_the_same_call() -> None:
    history, allowed = two_exchanges(12, 9), budget(7_000)
    strategy = build("compaction")
    view = strategy.prepare(history, allowed)
    assert allowed.size(view) <= 0.8 * 7_000
    assert strategy.prepare(history, allowed) == view
