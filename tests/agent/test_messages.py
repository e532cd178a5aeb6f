"""Messages: blocks are what is kept or dropped whole, turns are model calls, question and task are the user's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from tests.support.histories import broken_histories, react40, sound_histories
from thimble.agent.messages import Message, ToolCall, blocks, turns
from thimble.agent.turns import question, task


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("id", None, "the id of a message is text, not None"),
        ("content", 42, "the content of a message is text, not 42"),
        ("content", [{"type": "text"}], "the content of a message is text, not"),
        ("why", 3, "the why of a message is text, not 3"),
        ("calls", [], r"the calls of a message are a tuple of ToolCall, not \[\]"),
        ("calls", ("c1",), r"the calls of a message are a tuple of ToolCall, not \('c1',\)"),
        ("covers", ["m2"], r"the covers of a message are a tuple of ids, not \['m2'\]"),
        ("role", "developer", "a message has no role 'developer': it is one of system, user, assistant, tool"),
    ],
)
def test_no_message_can_be_made_that_would_fail_us_elsewhere(field: str, value: object, what: str) -> None:
    with pytest.raises(TypeError, match=what):
        replace(react40()[3], **{field: value})  # type: ignore[arg-type]


@given(broken_histories())
def test_blocks_cover_everything_but_the_system_message_once(history: list[Message]) -> None:
    covered = [index for block in blocks(history) for index in block]
    assert covered == [index for index, message in enumerate(history) if message.role != "system"]


@given(sound_histories())
def test_a_block_is_a_user_message_or_a_whole_turn(history: list[Message]) -> None:
    for block in blocks(history):
        first, *results = (history[index] for index in block)
        assert first.role == "assistant" or (first.role == "user" and not results)
        assert {message.call_id for message in results} <= {call.id for call in first.calls}
    assert turns(history) == [block for block in blocks(history) if history[block.start].role == "assistant"]


@given(broken_histories())
def test_question_is_the_users_newest_message_and_task_all_before_the_first_reply(history: list[Message]) -> None:
    asked = [message for message in history if message.role == "user"]
    assert question(history) is (asked[-1] if asked else None)
    roles = "".join(message.role[0] for message in history)  # "suuat"
    opening = roles[roles.find("u") :].partition("a")[0] if asked else ""
    assert task(history) == asked[: opening.count("u")]


OPENINGS = {
    "the environment first": (["<environment/>", "Rename foo."], ["<environment/>", "Rename foo."]),
    "reminders and the project's rules": (["Rules", "Reminder", "Fix it."], ["Rules", "Reminder", "Fix it."]),
    "a greeting": (["!Hello", "Where is my order?", "!Which?", "7"], ["Where is my order?"]),
    "asked twice": (["Find it.", "Find it."], ["Find it.", "Find it."]),
    "one": (["Find it.", "!Done.", "And then?"], ["Find it."]),
}
"""Messages of a user, and with a mark those of the assistant; and what of them is the task."""


@pytest.mark.parametrize("name", OPENINGS)
def test_all_that_comes_before_the_first_reply_is_the_task(name: str) -> None:
    texts, first = OPENINGS[name]
    history = [Message(f"m{at}", "assistant" if "!" in text else "user", text) for at, text in enumerate(texts)]
    assert [message.content for message in task(history)] == first


def test_results_without_a_turn_are_a_block() -> None:
    history = [Message("a", "tool"), Message("b", "tool"), Message("s", "system"), Message("u", "user")]
    assert blocks(history) == [range(2), range(3, 4)]
    assert blocks([]) == []


def test_the_same_to_a_server_is_not_equal() -> None:
    message = Message("a", "assistant", "text", calls=(ToolCall("x", "read"),))
    assert message.same(message.rewritten("text", "because"))
    assert message != message.rewritten("text", "because")
    assert not message.same(message.rewritten("other", "because"))


def test_a_copy_says_why_and_keeps_the_rest() -> None:
    message = Message("a", "tool", "text", "hm", (ToolCall("y", "read"),), "x", "read", "before", ("b",))
    copy = message.rewritten("short", "because")
    assert copy == replace(message, content="short", why="because")
    with pytest.raises(AttributeError):
        copy.content = "changed"  # type: ignore[misc]
