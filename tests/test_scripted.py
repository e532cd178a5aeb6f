from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.estimate import EstimateCounter
from tests.support.scripted import Scripted
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.protocols import Delta, Text, Thinking, Usage
from thimble.models.counting.prefix import PrefixMeter

USER = Message("u", "user", "What holds 2 ml?")
CALL = ToolCall("c1", "list_articles", "{}")
TOOL = {"type": "function", "function": {"name": "list_articles"}}


def said(model: Scripted, messages: Sequence[Message] = (USER,), tools: Sequence[Schema] = ()) -> list[Delta]:
    """The deltas of the next reply, without its usage."""
    deltas = list(model.stream(messages, tools))
    assert isinstance(deltas[-1], Usage)
    return deltas[:-1]


# ---- the script ----


@pytest.mark.parametrize(
    ("step", "deltas"),
    [
        ("A thimble.", [Text("A thimble.")]),
        (Text("A thimble."), [Text("A thimble.")]),
        (CALL, [CALL]),
        ([Thinking("hm"), Text("I look."), CALL, CALL], [Thinking("hm"), Text("I look."), CALL, CALL]),
        (lambda messages, tools: f"{len(messages)} and {len(tools)}", [Text("1 and 1")]),
        (lambda messages, tools: [CALL], [CALL]),
        ([], []),
    ],
)
def test_every_kind_of_step(step: Any, deltas: list[Delta]) -> None:
    model = Scripted([step])
    assert said(model, tools=[TOOL]) == deltas
    model.assert_done()


def test_an_error_may_come_first_or_in_the_middle() -> None:
    model = Scripted([ValueError("one"), [Text("half"), KeyboardInterrupt()], "whole"])
    with pytest.raises(ValueError, match="one"):
        next(model.stream([USER], []))
    stream = model.stream([USER], [])
    assert next(stream) == Text("half")
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert said(model) == [Text("whole")]


def test_it_remembers_what_it_was_sent() -> None:
    model, messages = Scripted(["a", "b"]), [USER]
    list(model.stream(messages, [TOOL], max_tokens=7))
    messages.append(Message("a", "assistant", "a"))
    list(model.stream(messages, []))
    assert [(len(r.messages), len(r.tools), r.max_tokens) for r in model.requests] == [(1, 1, 7), (2, 0, None)]


def test_a_call_past_the_end_and_steps_left_over_are_loud() -> None:
    model = Scripted(["only"])
    with pytest.raises(AssertionError, match="1 of 1 steps are left, the next is 'only'"):
        model.assert_done()
    said(model)
    model.assert_done()
    with pytest.raises(AssertionError, match="the script has 1 steps, and this is call 2"):
        said(model)


def test_a_reply_closed_midway_uses_its_step() -> None:
    model = Scripted([[Text("a"), Text("b")]])
    stream = model.stream([USER], [])
    next(stream)
    stream.close()
    model.assert_done()


@given(st.text(), st.text())
def test_a_pace_loses_no_text(text: str, thinking: str) -> None:
    deltas = said(Scripted([[Thinking(thinking), Text(text)]], pace=10_000_000))
    assert "".join(d.text for d in deltas if isinstance(d, Text)) == text
    assert "".join(d.text for d in deltas if isinstance(d, Thinking)) == thinking


def test_a_pace_takes_its_time() -> None:
    start = time.perf_counter()
    assert len(said(Scripted(["one two three four five"], pace=100))) == 5
    assert time.perf_counter() - start >= 0.05


# ---- usage ----


def test_usage_of_the_step_itself_goes_before() -> None:
    assert list(Scripted([["a", Usage(1, 2, 3)][1:]]).stream([USER], [])) == [Usage(1, 2, 3)]


def test_output_counts_text_thinking_and_calls() -> None:
    outputs = [list(Scripted([step]).stream([USER], []))[-1] for step in ("", "word", [Thinking("word"), CALL])]
    sizes = [usage.output_tokens for usage in outputs if isinstance(usage, Usage)]
    assert sizes[0] == 0
    assert sizes[1] == 1
    assert sizes[2] is not None
    assert sizes[2] > 10


histories = st.lists(
    st.builds(Message, st.sampled_from("abc"), st.sampled_from(["user", "tool"]), st.sampled_from(["x", "some words"])),
    min_size=1,
    max_size=6,
)


@given(histories, histories)
def test_cached_is_the_common_start_and_never_all(first: list[Message], second: list[Message]) -> None:
    counter = EstimateCounter()
    meter = PrefixMeter(counter)
    size = counter.overhead([TOOL])
    fresh = meter.usage(first, [TOOL], "out")
    assert (fresh.prompt_tokens, fresh.cached_tokens) == (size + sum(map(counter.count, first)), 0)
    again = meter.usage(second, [TOOL], "out")
    common = 0
    for one, other in zip(first, second, strict=False):
        if (one.role, one.content) != (other.role, other.content):
            break
        common += counter.count(one)
    assert again.prompt_tokens == size + sum(map(counter.count, second))
    assert again.cached_tokens == (min(size + common, again.prompt_tokens - 1) if common else 0)


def test_other_tools_or_another_first_message_leave_nothing_cached() -> None:
    meter = PrefixMeter(EstimateCounter())
    long = [Message("s", "system", "Be brief. " * 50), USER]
    meter.usage(long, [TOOL], "")
    assert meter.usage(long, [], "").cached_tokens == 0
    assert meter.usage([USER, *long], [], "").cached_tokens == 0
    masked = [long[0], USER.rewritten("[masked]", "rule")]
    meter.usage(long, [], "")
    cached = meter.usage(masked, [], "").cached_tokens
    assert cached == EstimateCounter().count(long[0]) + EstimateCounter().overhead([])
