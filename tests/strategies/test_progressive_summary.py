"""progressive-summary: memory_i = f(memory_{i-1}, piece_i), and no call is sent more than one piece."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import budget, calls_of, react_history
from tests.support.specs import Summariser, build, named_summary
from thimble.agent.messages import turns
from thimble.agent.prompts import SUMMARY_TAG


@given(st.integers(1, 8), st.integers(2, 6), st.sampled_from([30, 120, 600]))
def test_each_call_is_sent_the_memory_and_the_next_piece(piece: int, tail: int, tokens: int) -> None:
    backend = Summariser(lambda messages: f"memory {len(backend.prompts)} of {named_summary(messages)}")
    strategy = build(f"progressive-summary:piece={piece},tail={tail}", backend)
    allowed, history = budget(8_000), react_history(60, tokens)
    for messages in calls_of(history):
        strategy.prepare(messages, allowed)
    read: list[str] = []
    for number, prompt in enumerate(backend.prompts):
        assert prompt[:2] == history[:2]
        last = named_summary(backend.prompts[number - 1])
        memory = [f"{SUMMARY_TAG}\nmemory {number} of {last}"] if number else []
        assert [message.content for message in prompt[2:-1] if message.covers] == memory
        assert 1 <= len(turns(prompt)) <= piece
        read += [message.id for message in prompt[2:-1] if not message.covers]
    assert read == [message.id for message in history[2 : 2 + len(read)]]


def test_folding_stops_at_the_target_and_keeps_the_tail() -> None:
    strategy = build("progressive-summary:piece=1,target=0.5")
    view = strategy.prepare(react_history(14), budget())
    assert 0.5 * 8_000 - 700 < budget().size(view) <= 0.5 * 8_000
    deep = build("progressive-summary:piece=50,target=0.1,tail=3").prepare(react_history(14), budget())
    assert deep[-6:] == react_history(14)[-6:]
    assert len(deep) == 9
