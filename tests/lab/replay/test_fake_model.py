"""The summaries that a replay stands on."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from thimble.agent.messages import Message
from thimble.agent.protocols import Text
from thimble.agent.side import SideModel
from thimble.lab.replay.fake_model import FakeModel
from thimble.lab.replay.recorded_replay import counter_of

MODELS = ["no such model", "qwen2.5:7b"]


def ask(server: FakeModel, *contents: str, most: int | None = None) -> str:
    messages = [Message(f"m{number}", "user", content) for number, content in enumerate(contents)]
    return "".join(delta.text for delta in server.stream(messages, (), max_tokens=most) if isinstance(delta, Text))


@given(st.integers(0, 1500), st.one_of(st.none(), st.integers(1, 1500)), st.sampled_from(MODELS))
@settings(max_examples=30)
def test_a_summary_is_as_long_as_was_asked_and_never_longer_than_allowed(
    tokens: int, most: int | None, model: str
) -> None:
    server = FakeModel(counter_of(model), tokens)
    texts = [ask(server, "x", most=most) for _ in range(3)]
    wanted = min(tokens, most or tokens)
    assert all(wanted - 4 <= output <= wanted for _, output in server.drain())
    assert len(set(texts)) == (3 if wanted > 9 else len(set(texts)))
    again = FakeModel(counter_of(model), tokens)
    assert texts == [ask(again, "y", most=most) for _ in range(3)]


@given(st.integers(1, 1500), st.sampled_from(MODELS))
@settings(max_examples=30)
def test_a_strategy_gets_the_whole_summary(tokens: int, model: str) -> None:
    asked, streamed = FakeModel(counter_of(model), tokens), FakeModel(counter_of(model), tokens)
    side = SideModel(asked)
    for _ in range(5):
        assert side.ask([Message("m0", "user", "x")], "summary", tokens) == ask(streamed, "x")
