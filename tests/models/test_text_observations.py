"""Observations of text protocols: what tools answer is recognised, what people say is not, and nothing is rewritten."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.estimate import EstimateCounter
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message
from thimble.models import chat
from thimble.models.ollama.wire import request_message
from thimble.models.text_observations import TEXT_ACTION, describe_recognised, read_observations, write_as_text
from thimble.models.tool_calls.prompt import as_text

FENCE = "I look at the log.\n```bash\ntail -n 20 app.log\n```"
EDIT = (
    "<function=str_replace_editor>\n<parameter=command>view</parameter>\n<parameter=path>/app</parameter>\n</function>"
)
REACT_CALL = 'Thought:\nI need the order.\nAction:\n{"name": "get_order", "arguments": {"id": 7}}'
TOOLS = {
    "mini-swe-agent": (FENCE, "<returncode>1</returncode>\n<output>\nno such file\n</output>"),
    "mini-swe-agent, a timeout": (FENCE, "The last command <command>tail</command> timed out and has been killed."),
    "mini-swe-agent, XML": ("I look.\n<mswea_bash_command>ls</mswea_bash_command>", "a.py\nb.py"),
    "SWE-agent": (FENCE, "OBSERVATION:\nready"),
    "SWE-agent, nothing printed": (FENCE, "Your command ran successfully and did not produce any output."),
    "SWE-agent, its shell": (
        "DISCUSSION\nI list.\n```\nls\n```",
        "a.py\n(Open file: n/a)\n(Current directory: /r)\nbash-$",
    ),
    "OpenHands": (f"I look.\n{EDIT}", "EXECUTION RESULT of [str_replace_editor]:\n1 import os"),
    "OpenHands without its words": (f"I look.\n{EDIT}", "1 import os"),
    "OpenHands, 2024": ("I list.\n<execute_bash>\nls\n</execute_bash>", "a.py\n[Command finished with exit code 0]"),
    "tau-bench": (REACT_CALL, 'API output: {"status": "sent"}'),
    "HotpotQA": ("Thought 2: I need the height.\nAction 2: Search[Eiffel Tower]", "Observation 2: It is 330 m tall."),
    "llama-index": ('Thought: I add.\nAction: add\nAction Input: {"a": 1}', "Observation: 3"),
    "smolagents": ("Thought: I compute.\n```py\nprint(2**20)\n```<end_code>", "Observation:\nExecution logs:\n1048576"),
    "Hermes": ('<tool_call>\n{"name": "now"}\n</tool_call>', '<tool_response>\n{"time": "9:00"}\n</tool_response>'),
    "AutoGen": ("```python\nprint(1)\n```", "exitcode: 0 (execution succeeded)\nCode output: 1"),
    "Cline": ("<read_file>\n<path>a.py</path>\n</read_file>", "[read_file for 'a.py'] Result:\nimport os"),
}
"""By program, the assistant's action and the observation behind it."""
PEOPLE = {
    "behind prose": ("The capital is Paris.", "And of Italy?"),
    "behind code": ("This does it:\n```python\nprint(1)\n```", "Thanks! It prints nothing, though. Why?"),
    "behind a command": (FENCE, "I ran it and it says: no such file"),
    "with a word of a protocol": ("It should work now.", "Observation: it does not. The page stays blank."),
    "with a log": ("What does it print?", "<returncode>1</returncode>"),
    "behind a call that is only explained": (f"A call looks so: {EDIT} Shall I go on?", "Yes, please."),
    "behind the end of a run": (
        "Done.\n<function=finish>\n<parameter=message>ok</parameter>\n</function>",
        "Now test it.",
    ),
    "asked by an agent": (
        'Thought:\nI ask.\nAction:\n{"name": "respond", "arguments": {"content": "Which?"}}',
        "The red one.",
    ),
    "behind an answer": ("Thought 3: I know it.\nAction 3: Finish[330 m]", "Thanks. And the Atomium?"),
    "with a plan": ("Next steps\nAction: call the bank on Monday.", "I have called them."),
}
"""What somebody says, and the assistant's words before it."""


def heard(said: str, answer: str, pattern: str | None = None) -> bool:
    """Whether the answer is taken for an observation."""
    messages = [Message("m1", "user", "Do it."), Message("m2", "assistant", said), Message("m3", "user", answer)]
    found = read_observations(messages, pattern)
    assert [message.role for message in found[:2]] == ["user", "assistant"]
    assert [call.id for call in found[1].calls] == [found[2].call_id] * (found[2].role == "tool")
    return found[2].role == "tool"


@pytest.mark.parametrize("name", TOOLS)
def test_an_observation_is_the_result_of_the_action_before_it(name: str) -> None:
    assert heard(*TOOLS[name])
    assert not heard("I see.", TOOLS[name][1])


@pytest.mark.parametrize("name", PEOPLE)
def test_a_person_is_no_tool(name: str) -> None:
    assert not heard(*PEOPLE[name])


def test_a_pattern_names_other_forms() -> None:
    assert not heard("look(app.log)", "RESULT 12 lines")
    assert heard("look(app.log)", "RESULT 12 lines", "^RESULT ")
    assert not heard("look(app.log)", "The RESULT is wrong", "^RESULT ")
    with pytest.raises(UsageError, match="--observations '\\[' is not a regular expression"):
        read_observations([], "[")


def test_native_calls_stay_as_they_are() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    asked = {"role": "assistant", "content": FENCE, "tool_calls": [call]}
    messages = chat.read_messages([asked, {"role": "user", "content": "OBSERVATION: none yet"}])
    assert read_observations(messages, ".") == messages


@st.composite
def dialogues(draw: st.DrawFn) -> list[chat.Entry]:
    """A conversation with people and tools, as another program writes it."""
    pairs = draw(st.lists(st.sampled_from([*TOOLS.values(), *PEOPLE.values()]), max_size=8))
    entries: list[chat.Entry] = [{"role": "system", "content": "You help."}, {"role": "user", "content": "Do it."}]
    for said, answer in pairs:
        content: object = [{"type": "text", "text": answer}] if draw(st.booleans()) else answer
        entries += [{"role": "assistant", "content": said}, {"role": "user", "content": content, "x_seen": True}]
    return entries


@given(dialogues())
def test_recognised_observations_are_written_and_counted_as_text(entries: Sequence[chat.Entry]) -> None:
    plain = chat.read_messages(entries)
    found = read_observations(plain)
    assert [*map(write_as_text, found)] == plain
    assert [*map(EstimateCounter().count, found)] == [*map(EstimateCounter().count, plain)]
    assert json.dumps([*map(chat.write_message, found, entries)]) == json.dumps(entries)
    assert [*map(request_message, found)] == [*map(request_message, plain)]
    assert [*map(as_text, found)] == [*map(as_text, plain)]
    tools = sum((said.content, answer.content) in TOOLS.values() for said, answer in pairwise(plain))
    assert sum(message.name == TEXT_ACTION for message in found) == tools


def test_a_masked_observation_is_the_users_again() -> None:
    said, answer = TOOLS["SWE-agent"]
    entries = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": said},
        {"role": "user", "content": answer},
    ]
    *_, observation = read_observations(chat.read_messages(entries))
    assert chat.write_message(observation.rewritten("[masked]", "old"), entries[2]) == {
        "role": "user",
        "content": "[masked]",
    }


def test_a_line_says_how_many_there_are() -> None:
    told = [Message("m1", "user", "?"), Message("m2", "assistant", FENCE), Message("m3", "user", "OBSERVATION: 1")]
    assert (
        describe_recognised(read_observations(told), read_observations(told))
        == "observations recognised in user messages: 2"
    )
    assert describe_recognised(told).startswith("0 observations recognised: --observations PATTERN ")
    assert describe_recognised([Message("m1", "tool", "1", name="ls")]) == ""
