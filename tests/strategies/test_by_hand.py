"""A summary by hand, under every strategy that has one, also as a part of a pipeline."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import Story, budget, is_faithful, is_sound, sound_histories
from tests.support.specs import SUMMARISERS, SUMMARISING, Summariser, build
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message, turns
from thimble.agent.turns import pinned
from thimble.agent.view import prepare
from thimble.strategies.by_hand import fold_now

HAVE = [*SUMMARISING, "comem", "thrifty"]


@pytest.mark.parametrize(
    "spec", [*HAVE, "observation-masking+summary-buffer", "compaction+sliding-window", "compaction:when=asked+none"]
)
@given(st.integers(2, 8), st.text(max_size=30))
def test_all_before_the_newest_turn_is_folded_and_the_words_are_asked_for(spec: str, count: int, words: str) -> None:
    story = Story().ask("the task")
    for _ in range(count):
        story.turn(80)
    history, asked = story.answer("done").ask("and now?").turn(60).messages, Summariser()
    strategy, allowed = build(spec, asked), budget(4_000)
    assert fold_now(strategy, history, allowed, words)
    assert words in asked.prompts[-1][-1].content
    view = prepare(history, strategy, allowed)
    stays = {message.id for message in pinned(history)}
    newest = turns(history)[-1].start
    for message, fate in list(view.fated)[:newest]:
        assert fate == ("kept" if message.id in stays else "summarised")


@given(st.integers(2, 8), st.text(min_size=1, max_size=30))
def test_comem_asks_for_the_words_again_since_it_reads_the_whole_history_again(count: int, words: str) -> None:
    story = Story().ask("the task")
    for _ in range(count):
        story.turn(80)
    before, asked, allowed = [*story.messages], Summariser(), budget(20_000)
    strategy = build("comem:k=1,summary=waited", asked)
    assert fold_now(strategy, before, allowed, words)
    again = build("comem:k=1,summary=waited", asked)
    again.state = strategy.state
    story.turn(80).turn(80)
    again.prepare(story.messages, allowed)
    assert len(asked.prompts) == 2
    assert story.messages[3] in asked.prompts[-1], "it reads the whole history"
    assert words in asked.prompts[-1][-1].content


@pytest.mark.parametrize("name", HAVE)
@given(sound_histories(most_turns=12), st.sampled_from(sorted(SUMMARISERS)))
def test_the_laws_hold_after_it_whatever_the_model_says(name: str, history: list[Message], answer: str) -> None:
    strategy, allowed = build(name, Summariser(SUMMARISERS[answer])), budget(3_000, overhead=20)
    before = allowed.size(strategy.prepare(history, allowed))
    try:
        fold_now(strategy, history, allowed, "the figures")
    except UsageError:
        return
    view = strategy.prepare(history, allowed)
    assert is_sound(view) == []
    assert is_faithful(view, history) == []
    assert allowed.size(view) <= max(before, allowed.size(history))


@pytest.mark.parametrize("count", [0, 1])
def test_one_turn_is_not_folded(count: int) -> None:
    story = Story().ask("?")
    for _ in range(count):
        story.turn(500)
    asked = Summariser()
    with pytest.raises(UsageError, match="nothing to summarise"):
        fold_now(build("compaction", asked), story.messages, budget(4_000), "")
    assert not asked.prompts


def test_a_failed_summary_before_it_does_not_make_it_wait() -> None:
    history = Story().ask("?").turn(900).turn(900).turn(90).messages
    asked = Summariser(SUMMARISERS["fails"])
    strategy = build("compaction", asked)
    assert not fold_now(strategy, history, budget(4_000), "")
    asked.answer = SUMMARISERS["short"]
    assert fold_now(strategy, history, budget(4_000), "")
