"""A conversation with calls as one of plain text: what is sent, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import Story, TinyCounter, calls_of, sound_histories
from tests.support.schemas import SCHEMAS
from tests.support.scripted import Scripted
from thimble.agent.budget import Budget, Counter
from thimble.agent.errors import BudgetError
from thimble.agent.messages import Message
from thimble.agent.side import SideModel
from thimble.agent.view import prepare
from thimble.models.counting.message_counter import ChatCounter
from thimble.models.counting.vocabulary import counter_for
from thimble.models.tool_calls.prompt import SchemaCounter, describe_tools, plain_conversation
from thimble.strategies.spec import make_strategy


def sent(counter: Counter, texts: Sequence[Message]) -> int:
    """Tokens of the prompt as the model's own counter counts it."""
    return counter.overhead(()) + sum(map(counter.count, texts))


@given(sound_histories())
def test_roles_alternate_and_nothing_but_text_is_sent(history: list[Message]) -> None:
    texts = plain_conversation(history, SCHEMAS)
    assert {text.role for text in texts} <= {"system", "user", "assistant"}
    assert not any(text.calls or text.call_id for text in texts)
    assert all(one.role != other.role for one, other in pairwise(texts))
    assert [text.role for text in texts].count("system") == 1
    assert texts[0].content.endswith(describe_tools(SCHEMAS).content)


@given(sound_histories(), st.sampled_from(["none", "observation-masking", "sliding-window"]), st.integers(500, 4_000))
def test_a_view_within_budget_is_a_prompt_within_budget(history: list[Message], spec: str, limit: int) -> None:
    inner = TinyCounter()
    counter = SchemaCounter(inner)
    budget = Budget(limit, counter, counter.overhead(SCHEMAS))
    strategy = make_strategy(spec, SideModel(Scripted([])))
    for so_far in calls_of(history):
        try:
            view = prepare(so_far, strategy, budget)
        except BudgetError:
            continue
        tokens = sent(inner, plain_conversation(view.messages, SCHEMAS))
        assert tokens <= view.tokens
        assert spec == "none" or tokens <= limit


def react(at_once: int, steps: int = 10) -> list[Message]:
    """A question, and steps of so many calls each."""
    story = Story().ask("Which of the articles says what a prefix cache costs?")
    for _ in range(steps):
        story.turn(*[300] * at_once, says=30)
    return story.messages


@pytest.mark.parametrize("model", ["qwen2.5:7b", "another"])
@pytest.mark.parametrize("at_once", [1, 3])
def test_counts_are_within_two_percent_of_the_whole_prompt(model: str, at_once: int) -> None:
    inner = counter_for(model)
    assert isinstance(inner, ChatCounter)
    counter, history = SchemaCounter(inner), react(at_once)
    texts = plain_conversation(history, SCHEMAS)
    whole = inner.tokens("".join(f"<|im_start|>{text.role}\n{text.content}<|im_end|>\n" for text in texts))
    whole += inner.tokens("<|im_start|>assistant\n")
    counted = counter.overhead(SCHEMAS) + sum(map(counter.count, history))
    assert whole <= counted <= 1.02 * whole


def test_a_server_is_held_to_the_prompt_that_it_read() -> None:
    inner = TinyCounter()
    counter, texts = SchemaCounter(inner), plain_conversation(react(3), SCHEMAS)
    counter.sends(texts)
    assert counter.calibrate(10**6, 5_000)
    assert inner.calibrated == [(sent(inner, texts), 5_000)]
    assert not counter.exact


def test_without_a_system_message_the_tools_make_one() -> None:
    assert [text.role for text in plain_conversation([Message("u", "user", "?")], SCHEMAS)] == ["system", "user"]
    assert plain_conversation([], SCHEMAS)[0].content == describe_tools(SCHEMAS).content
