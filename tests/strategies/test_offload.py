"""offload: bulky results are references from the start, so that the prefix stays; nothing is ever lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import LIMITS, Story, budget, calls_of, outcome, react_history, sound_histories, words
from tests.support.specs import build
from thimble.agent.errors import BudgetError
from thimble.agent.fit import fit
from thimble.agent.messages import Message, turns
from thimble.agent.view import prepare
from thimble.strategies.offload import Offload

SHARES = st.sampled_from([0.01, 0.05, 0.25, 1.0])


def references(view: list[Message]) -> set[str]:
    return {message.id for message in view if message.content.startswith("[offloaded: ")}


def results(history: list[Message]) -> list[Message]:
    """The results of turns that wait for nothing more."""
    whole = [turn for turn in turns(history) if len(turn) > len(history[turn.start].calls)]
    return [history[index] for turn in whole for index in turn[1:]]


@given(sound_histories(most_turns=40), SHARES)
def test_while_all_fits_just_the_bulky_results_are_references(history: list[Message], share: float) -> None:
    allowed = budget(budget().size(history))
    strategy = Offload(share)
    for messages in calls_of(history):
        view = strategy.prepare(messages, allowed)
        for message, shown in zip(messages, view, strict=True):
            bulky = message in results(messages) and allowed.count(message) > share * allowed.limit
            if message.id not in references(view):
                assert shown is message
                assert not bulky or message.name == "recall" or allowed.count(message) <= 25  # as its reference has
            else:
                assert bulky


@given(sound_histories(most_turns=40), LIMITS, SHARES, st.integers(0, 6))
def test_once_a_reference_always_the_same_reference(
    history: list[Message], limit: int, share: float, window: int
) -> None:
    strategy, before = Offload(share, window), {}
    for messages in calls_of(history):
        now = {message.id: message for message in strategy.prepare(messages, budget(limit)) if message.ref}
        assert before == {id_: now[id_] for id_ in before}
        before = now


def test_a_bulky_result_never_enters_the_prompt_and_the_prefix_never_changes() -> None:
    story = Story().ask("?")
    for tokens in (300, 3_000, 300, 5_000, 60_000, 300, 2_500, 300):
        story.turn(tokens)
    strategy, before = Offload(), None
    for messages in calls_of(story.messages):
        before = prepare(messages, strategy, budget(), before)
        assert not before.edited
        assert before.tokens < 3_000
    assert [fate for fate in before.fates if fate != "kept"] == ["offloaded"] * 4


def test_a_reference_says_how_large_it_is_how_it_begins_and_how_to_have_it_back() -> None:
    history = Story().ask("?").turn(3_000).turn(150).messages
    view = Offload().prepare(history, budget())
    assert view[3].content.startswith(
        '[offloaded: 3,004 tokens of read_article; recall(id="m4") shows it; it begins:\nr'
    )
    assert history[3].content.startswith(view[3].content.split("\n", 1)[1].removesuffix("…]"))
    assert len(view[3].content) < 500
    assert (view[3].ref, view[3].why) == ("m4", "larger than 25% of the budget when it came")
    short = Offload(0.01).prepare(history, budget())[5]
    assert short.content == '[offloaded: 154 tokens of read_article; recall(id="m6") shows it]'


def test_a_recalled_result_is_shown_until_it_is_old_and_the_budget_is_full() -> None:
    story = Story().ask("?").turn(3_000).recall("m4", 3_000)
    strategy = Offload()
    assert references(strategy.prepare(story.messages, budget())) == {"m4"}
    for _ in range(9):
        story.turn(600)
    view = strategy.prepare(story.messages, budget())
    assert {"m4", "m6"} <= references(view)
    assert not budget().over(view)


@given(sound_histories(most_turns=40), LIMITS, st.integers(1, 6))
def test_under_pressure_old_ones_go_first_and_the_newest_turn_stays(
    history: list[Message], limit: int, window: int
) -> None:
    allowed = budget(limit)
    gone = references(Offload(1.0, window).prepare(history, allowed))
    may_go = references(Offload(0.01, window).prepare(history, budget(1)))
    fair = [m.id in gone for m in history if m.id in may_go and allowed.count(m) <= limit]
    assert fair == sorted(fair, reverse=True)
    newest = [history[index] for turn in turns(history)[-1:] for index in turn]
    assert all(allowed.count(message) > limit for message in newest if message.id in gone)


def test_a_mask_that_came_before_stays_a_mask() -> None:
    strategy = build("observation-masking:window=1,when=always+offload:share=0.05")
    for messages in calls_of(react_history(4)):
        view = strategy.prepare(messages, budget())
    assert [m.content[:8] for m in view if m.role == "tool"] == ["[masked:"] * 3 + ["[offload"]


def test_in_a_tiny_budget_a_reference_leaves_room_for_what_must_stay() -> None:
    allowed, fitting = budget(200, overhead=20), 0
    for tokens in range(20, 130):
        history = Story().ask(words(40, "task")).ask(words(tokens, "question")).turn(450, says=0).messages
        if not isinstance(outcome(lambda history=history: fit(history, allowed)), BudgetError):
            assert prepare(history, build("offload"), allowed).tokens <= 200, tokens
            fitting += 1
    assert fitting
