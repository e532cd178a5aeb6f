"""hybrid: masks first; a summary when N turns have gathered, as the paper says, or when masks are not enough."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import LIMITS, budget, calls_of, react_history, sound_histories
from tests.support.specs import Summariser, build, named_summary, parts_of
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message, turns
from thimble.agent.prompts import SUMMARY_TAG
from thimble.strategies.observation_masking import ObservationMasking


@given(st.integers(1, 12), st.integers(0, 6), st.integers(0, 8), st.integers(1, 40))
def test_eq_5_and_6_to_the_letter(more: int, m: int, w: int, steps: int) -> None:
    """The summary holds the turns up to t_last, and is renewed when those since reach N (above M); W masks the rest."""
    n = m + more
    backend = Summariser(named_summary)
    strategy = build(f"hybrid:every={n},tail={m},window={w},early=off", backend)
    history = react_history(steps, tokens=200)
    t_last, made = 0, 0
    for messages in calls_of(history):
        t = len(turns(messages)) + 1
        if (t - 1) - t_last >= n:
            t_last, made = t - 1 - m, made + 1
        view = strategy.prepare(messages, budget(10**9))
        assert len(backend.prompts) == made
        expected = messages[:2]
        for i, turn in enumerate(turns(messages), 1):
            if i > t_last:
                expected += [messages[index] for index in turn]
        shown = [message for message in view if not message.covers]
        assert [message.id for message in shown] == [message.id for message in expected]
        assert len(view) == len(shown) + bool(t_last)
        for i, turn in enumerate(turns(messages), 1):
            hidden = [one.content.startswith("[masked") for one in shown if one.id == messages[turn.stop - 1].id]
            assert hidden in ([], [i < t - w])


def test_the_summariser_reads_the_observations_unmasked() -> None:
    backend = Summariser()
    strategy = build("hybrid:window=0,every=5,tail=1", backend)
    for messages in calls_of(react_history(12, tokens=100)):
        strategy.prepare(messages, budget())
    assert len(backend.prompts) == 2
    for prompt in backend.prompts:
        assert not any("[masked" in message.content for message in prompt)
    assert backend.prompts[0][:-1] == react_history(4, tokens=100)


SAME = st.builds(react_history, st.integers(1, 30), st.integers(50, 1_500))


@given(SAME | sound_histories(most_turns=40), LIMITS, st.integers(1, 12), st.sampled_from(["always", "over"]))
def test_before_its_time_it_folds_only_where_no_mask_is_left_that_would_be_enough(
    history: list[Message], limit: int, window: int, when: str
) -> None:
    """Over the budget the window of masks shrinks first, down to the newest turn."""
    backend, allowed = Summariser(), budget(limit)
    strategy = build(f"hybrid:window={window},when={when},every=1000", backend)
    (part,) = parts_of(strategy)
    for messages in calls_of(history):
        asked, state = len(backend.prompts), build("hybrid")
        state.state = part.state  # type: ignore[attr-defined]
        strategy.prepare(messages, allowed)
        if len(backend.prompts) > asked:
            (before,) = parts_of(state)
            folded = before.folding.view(messages)
            assert allowed.over(ObservationMasking(1, "always").prepare(folded, allowed))


@pytest.mark.parametrize("tokens", [300, 600, 1_200, 2_400])
def test_at_the_default_budget_it_masks_from_its_first_edit_and_folds_when_eleven_turns_are_there(tokens: int) -> None:
    """The results are of the sizes that our tools give."""
    backend = Summariser()
    strategy = build("hybrid", backend)
    for messages in calls_of(react_history(11, tokens)):
        assert bool(backend.prompts) == (len(turns(messages)) > 11)
        view = strategy.prepare(messages, budget())
        assert not budget().over(view)
        assert any(message.content.startswith("[masked") for message in view) == (3 < len(turns(messages)) < 11)
    assert backend.prompts


def test_masks_may_wait_for_the_budget() -> None:
    strategy = build("hybrid:when=over,window=2,every=43")
    for messages in calls_of(react_history(11)):
        assert strategy.prepare(messages, budget()) == messages
    assert any(message.content.startswith("[masked") for message in strategy.prepare(react_history(14), budget()))


@pytest.mark.parametrize("spec", ["hybrid", "hybrid:when=over,window=2"])
def test_a_summary_comes_earlier_when_masks_are_not_enough(spec: str) -> None:
    """It leaves as many of the newest turns as take two fifths of the budget."""
    backend = Summariser(named_summary)
    view = build(spec, backend).prepare(react_history(30), budget(2_000))
    assert len(backend.prompts) > 0
    assert [message.content for message in view if message.covers] == [
        f"{SUMMARY_TAG}\n{named_summary(backend.prompts[-1])}"
    ]
    assert budget().size(view[3:]) <= 0.4 * 2_000
    assert view[-2:] == react_history(30)[-2:]


def test_a_summary_by_turns_that_is_not_enough_is_followed_by_one_for_the_budget_in_the_same_call() -> None:
    strategy = build("hybrid:every=6,tail=5", Summariser(named_summary))
    view = strategy.prepare(react_history(8), budget(2_000))
    assert not budget(2_000).over(view)
    assert strategy.prepare(react_history(8), budget(2_000)) == view


@pytest.mark.parametrize(
    ("spec", "limit", "turns_of_summaries"),
    [
        ("hybrid:every=10", 31_000, range(10, 51, 5)),
        ("hybrid:tail=10,early=off", 8_000, range(20, 51, 10)),
        ("hybrid:paper", 31_000, [43]),
    ],
)
def test_what_is_unset_leaves_turns_between_two_summaries(
    spec: str, limit: int, turns_of_summaries: Sequence[int]
) -> None:
    backend = Summariser()
    strategy = build(spec, backend)
    for messages in calls_of(react_history(50, tokens=100)):
        strategy.prepare(messages, budget(limit))
    assert len(backend.prompts) == len(turns_of_summaries)


@pytest.mark.parametrize("settings", ["every=10,tail=10", "every=1,tail=4", "paper,tail=43", "paper,every=10"])
def test_a_tail_that_would_summarise_at_every_turn_is_refused(settings: str) -> None:
    with pytest.raises(UsageError, match="would ask for a summary at every turn") as caught:
        build(f"hybrid:{settings}")
    assert "give a tail below" in caught.value.fix
