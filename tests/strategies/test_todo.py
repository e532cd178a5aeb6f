"""todo: the newest list is recited while a step is open; before another strategy it gets its room from that one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import Story, budget, calls_of
from tests.support.specs import build
from thimble.agent.errors import ToolError
from thimble.agent.messages import Message, ToolCall
from thimble.agent.view import prepare
from thimble.strategies.recital import without_recital
from thimble.tools.todo import todo_tools

STEPS = st.lists(
    st.tuples(st.sampled_from(["[ ] ", "[x] ", "[X] ", ""]), st.text("abc ", min_size=1, max_size=20)), max_size=6
)


def listed(story: Story, steps: str, number: int, result: str = "") -> Story:
    call = ToolCall(f"todo{number}", "todo", json.dumps({"steps": steps}))
    if not result:
        (tool,) = todo_tools()
        result = tool.run({"steps": steps})
    story.messages += [
        Message(f"l{number}", "assistant", "I write my steps.", calls=(call,)),
        Message(f"r{number}", "tool", result, call_id=call.id, name="todo"),
    ]
    return story


def recited(view: list[Message], history: list[Message]) -> str:
    return "".join(message.content for message in view[len(without_recital(view, history)) :])


@given(st.lists(STEPS, min_size=1, max_size=4))
def test_the_newest_list_is_recited_while_a_step_is_open(lists: list[list[tuple[str, str]]]) -> None:
    story = Story().ask("?")
    for number, steps in enumerate(lists):
        text = "\n".join(mark + said.strip() for mark, said in steps if said.strip())
        if text:
            listed(story, text, number)
        story.turn(50)
        view = build("todo").prepare(story.messages, budget())
        assert without_recital(view, story.messages) == story.messages
        newest = next(
            (json.loads(m.calls[0].arguments)["steps"] for m in reversed(story.messages) if m.id[0] == "l"), ""
        )
        lines = [line for line in newest.splitlines() if line.strip()]
        if all("[x]" in line.lower() for line in lines):
            assert view == story.messages
        else:
            assert recited(view, story.messages).endswith("\n".join(lines))


@pytest.mark.parametrize("result", ["Error: no step", "[cancelled before it returned]"])
def test_a_list_that_was_not_taken_is_not_recited(result: str) -> None:
    story = listed(listed(Story().ask("?"), "[ ] first", 1), "[ ] second", 2, result)
    assert "first" in recited(build("todo").prepare(story.messages, budget()), story.messages)


def test_a_recital_waits_for_results_and_has_a_largest_size() -> None:
    story = listed(Story().ask("?"), "[ ] a step", 1)
    waiting = [*story.messages, Message("w", "assistant", "", calls=(ToolCall("w1", "read_file", "{}"),))]
    assert build("todo").prepare(waiting, budget()) == waiting
    assert build("todo:share=0.01").prepare(story.messages, budget(1_000)) == story.messages


@pytest.mark.parametrize("spec", ["observation-masking", "sliding-window", "summary-buffer", "truncate", "compaction"])
def test_in_front_of_another_it_stays_in_sight_within_the_budget(spec: str) -> None:
    story = listed(Story().ask("?"), "[x] begin\n[ ] read on\n[ ] answer", 1)
    for _ in range(40):
        story.turn(400)
    strategy, before, edits = build(f"todo+{spec}"), None, 0
    alone, alone_before, alone_edits = build(spec), None, 0
    for messages in list(calls_of(story.messages))[2:]:
        before = prepare(messages, strategy, budget(4_000), before)
        assert before.messages[-1].content.endswith("[ ] answer")
        assert before.tokens <= 4_000
        edits += before.edited
        alone_before = prepare(messages, alone, budget(4_000), alone_before)
        alone_edits += alone_before.edited
    assert edits <= alone_edits + 3


def test_the_tool_takes_a_list_and_says_what_is_left() -> None:
    (tool,) = todo_tools()
    assert tool.run({"steps": "[x] read\n\n[ ] compare\nanswer"}) == "Noted 3 steps, 2 to do."


@pytest.mark.parametrize("steps", ["", " \n", "[ ] a\n" * 31, "[ ] " + "a" * 2_000])
def test_text_that_is_not_a_list_is_refused(steps: str) -> None:
    (tool,) = todo_tools()
    with pytest.raises(ToolError):
        tool.run({"steps": steps})
