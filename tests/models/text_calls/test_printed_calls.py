"""Calls in the text of a reply: found in each form, in any chunks, and never where there are none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.support.printed_replies import ARGUMENTS, JSON, REPLIES, TOOLS, WORDS, call, deltas
from thimble.agent.messages import Message, ToolCall
from thimble.agent.protocols import Text
from thimble.models.text_calls.printed_calls import PrintedCalls
from thimble.models.text_calls.prompt import REACT, as_text

SLUG = '{"name": "read_article", "arguments": {"slug": "x"}}'
X = call(slug="x")

# ---- laws ----


@given(REPLIES, st.lists(st.integers(1, 9), min_size=1), st.booleans(), st.booleans(), st.booleans())
@example(f"```json\n{SLUG}\n```\n", [1], False, False, False)
@example("Action: list_articles\n\nObservation: none", [1], True, True, False)
def test_any_chunks_give_the_same(reply: str, sizes: list[int], labelled: bool, tells: bool, cut: bool) -> None:
    chunks, at = [], 0
    while at < len(reply):
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(reply[at : at + size])
        at += size
    whole = deltas(reply, labelled=labelled, tells=tells, cut=cut)
    assert deltas(chunks, labelled=labelled, tells=tells, cut=cut) == whole


@given(REPLIES)
def test_a_reply_without_calls_comes_through_byte_for_byte(reply: str) -> None:
    said = deltas(reply)
    if not any(isinstance(part, ToolCall) for part in said):
        assert said == [reply] * bool(reply)


def fed(printed: PrintedCalls, text: str) -> str:
    """The text that is shown after this piece."""
    return "".join(delta.text for delta in printed.take(Text(text)) if isinstance(delta, Text))


@given(REPLIES)
def test_without_tools_everything_is_text(reply: str) -> None:
    assert deltas(reply, tools={}) == [reply] * bool(reply)


@given(st.text(st.characters(exclude_characters="<[{`#*_ALTFalrstf \t")), st.booleans())
def test_text_that_can_be_no_call_flows_at_once(text: str, labelled: bool) -> None:
    printed = PrintedCalls(TOOLS, labelled=labelled)
    assert "".join(fed(printed, letter) for letter in text) == text
    assert printed.end() == []


PROSE = (
    "The [masking] article says {this}: hide `x < y`.\n- Actions of *agents*\n{a} [b](c) (d)\n# Thoughts\n1 < 2\nEnd"
)


def test_prose_waits_for_a_few_characters_at_most() -> None:
    printed, shown = PrintedCalls(TOOLS, labelled=True), ""
    for number, letter in enumerate(PROSE, 1):
        shown += fed(printed, letter)
        assert number - len(shown) <= len("# Thought"), PROSE[:number]
    assert shown + "".join(str(delta) for delta in printed.end()) == PROSE


NAMES = st.sampled_from([*TOOLS, "no_such_tool", "a.b", "Observation"])


@given(st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=3), st.sampled_from(["", "I look."]))
def test_what_is_rendered_is_read_again(made: list[tuple[str, dict[str, Any]]], content: str) -> None:
    calls = [call(name, **{}) if not arguments else ToolCall("", name, _dumped(arguments)) for name, arguments in made]
    text = as_text(Message("a", "assistant", content, calls=tuple(calls)), REACT).content
    assert [part for part in deltas(text, labelled=True) if isinstance(part, ToolCall)] == calls
    assert "".join(part for part in deltas(text, labelled=True) if isinstance(part, str)).strip() == content


@given(WORDS.filter(lambda answer: not set(answer) & set("<[{`*")))
def test_so_is_an_answer(answer: str) -> None:
    text = as_text(Message("a", "assistant", answer), REACT).content
    assert "".join(map(str, deltas(text, labelled=True))).strip() == answer.strip()


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


FORMS = {
    "tag": "<tool_call>\n{call}\n</tool_call>",
    "tag, not closed": "<tool_call>{call}",
    "two tags": "<tool_call>{call}</tool_call>\n<tool_call>{call}</tool_call>",
    "two in a tag": "<tool_call>{call}\n{call}</tool_call>",
    "fence": "```json\n{call}\n```",
    "fence without a language": "```\n[{call}, {call}]\n```",
    "bare": "{call}",
    "bare, a list": "[{call}]",
    "bare, one a line": "{call}\n{call}",
    "bare, after words": "I look it up.\n\n{call}",
    "Llama": '{"type": "function", "name": "read_article", "parameters": {arguments}}',
    "nested": '{"type": "function", "function": {call}}',
}


@pytest.mark.parametrize("form", FORMS)
@given(arguments=ARGUMENTS)
def test_a_call_is_found_in_each_form(form: str, arguments: dict[str, Any]) -> None:
    made = ToolCall("", "read_article", _dumped(arguments))
    written = '{"name": "read_article", "arguments": {arguments}}'
    reply = FORMS[form].replace("{call}", written).replace("{arguments}", made.arguments)
    calls = [part for part in deltas(reply) if isinstance(part, ToolCall)]
    assert calls == [made] * max(1, FORMS[form].count("{call}"))


PLAIN = st.text(st.characters(exclude_characters="<\n\\'", categories=["L", "N", "P", "Zs"]), min_size=1, max_size=20)


@given(PLAIN.filter(lambda text: text.strip() == text), st.integers())
def test_xml_gives_each_value_its_type(slug: str, page: int) -> None:
    parameters = f"<parameter=slug>\n{slug}\n</parameter>\n<parameter=page>\n{page}\n</parameter>"
    function = f"<function=read_article>\n{parameters}\n</function>"
    made = call(slug=slug, page=page)
    assert deltas(f"<tool_call>\n{function}\n</tool_call>") == [made]
    assert deltas(f"{function}\n</tool_call>") == [made], "its beginning is lost now and then"
    assert deltas(function.removesuffix("</parameter>\n</function>"), cut=True) == [call(slug=slug)], "no half value"
    assert deltas(f"<tool_call>{function}{function}</tool_call>") == [made, made]


# ---- what is no call ----


@pytest.mark.parametrize(
    "answer",
    [
        f"A call looks so:\n```json\n{SLUG}\n```\nThen the result comes.",
        f"{SLUG}\nis how one would call it.",
        f"Qwen writes `<tool_call>{SLUG}</tool_call>`.",
        f"```xml\n<tool_call>{SLUG}</tool_call>\n```\nIs one.",
        f"```python\nreply = '''\n{SLUG}\n<tool_call>{SLUG}</tool_call>\n'''\n```",
        "The tags <tool_call> and </tool_call> stand around it: <tool_call></tool_call>.",
        '{"name": "Ann", "age": 3}',
        '{"name": "read_article", "description": "Reads.", "parameters": {"type": "object"}}',
        '{"name": "no_such_tool", "arguments": {}}',
        '{"name": "read_article", "arguments": "the second one"}',
        '```json\n{"name": "Ann"}\n```',
        "[1, 2, 3]",
        "[masking] hides results.",
        "read_article is a tool.\nread_article(slug) reads.",
        "Action: none is needed.\nObservation: all is well.",
        "Thought: it stays.",
        "```\nnever closed\nAction: read_article\n",
        "<function> and <invoke> are tags",
        f"[TOOL_CALLS] [{SLUG}]",
        'read_article(slug="x")',
        f"```xml\n<tool_call>{SLUG}</tool_call>\n```",
    ],
)
def test_an_answer_that_talks_of_calls_stays_text(answer: str) -> None:
    assert deltas(answer) == [answer]


def test_words_around_a_call_stay_and_blanks_do_not() -> None:
    assert deltas(f"I look.\n\n<tool_call>{SLUG}</tool_call>\n\n") == ["I look.\n\n", X]
    assert deltas(f"<tool_call>{SLUG}</tool_call>\nI wait.") == [X, "I wait."]


# ---- text ReAct ----


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ('Thought: I look.\nAction: read_article\nAction Input: {"slug": "x"}', ["I look.\n", X]),
        ('I look.\n\n**Action:** `read_article`\n**Action Input:** {"slug": "x"}\n', ["I look.\n\n", X]),
        ('Thought 1: I look.\nAction 1: read_article\nAction Input 1: {"slug": "x"}', ["I look.\n", X]),
        ('ACTION: "read_article".\naction_input: {"slug": "x"}', [X]),
        ("Action: read_article\nAction Input: x", [X]),
        ('Action: read_article\nAction Input: "x"', [X]),
        ("Action: read_article\nAction Input: {'slug': 'x', 'page': 2", [call(slug="x", page=2)]),
        ('Action: read_article\nAction Input:\n```json\n{"slug": "x"}\n```\n', [X]),
        ('```\nAction: read_article\nAction Input: {"slug": "x"}\n```', [X]),
        ('Action: read_article\nAction Input: {"slug": "x"} # the first\nI wait.', [X, "# the first\nI wait."]),
        ("Action: list_articles", [call("list_articles")]),
        ("Action: list_articles\nAction Input: None", [call("list_articles")]),
        ("Action: list_articles\n\nI wait.", [call("list_articles"), "I wait."]),
        ("Action: no_such_tool\nAction Input: {}", [call("no_such_tool")]),
        ("Final Answer: It holds 2 ml.", ["It holds 2 ml."]),
        ("Thought: I know.\nFinal Answer: It holds 2 ml.", ["I know.\nIt holds 2 ml."]),
        ("It holds 2 ml.", ["It holds 2 ml."]),
        ("Final Answer: One writes:\nAction: search\nObservation: found", None),
        (f"<tool_call>{SLUG}</tool_call>", [X]),
    ],
)
def test_text_react(reply: str, said: list[str | ToolCall] | None) -> None:
    assert deltas(reply, labelled=True) == (said or [reply.removeprefix("Final Answer: ")])


@pytest.mark.parametrize("made_up", ["Observation: It says y.", "**Observation:** y", "<tool_response>y"])
@pytest.mark.parametrize(
    "written", [f"<tool_call>{SLUG}</tool_call>", SLUG, 'Action: read_article\nAction Input: {"slug": "x"}']
)
def test_a_result_that_the_model_makes_up_ends_the_reply(written: str, made_up: str) -> None:
    printed = PrintedCalls(TOOLS, labelled=written.startswith("Action"))
    assert fed(printed, f"I look.\n{written}\n") == "I look.\n"
    assert not printed.over
    assert fed(printed, f"{made_up}\nIt is y.") == ""
    assert printed.over
    assert printed.end() == [X]


# ---- malformed calls ----


@pytest.mark.parametrize(
    ("reply", "made"),
    [
        (
            '<tool_call>{"name": "read_article", "arguments": {"slug": x"}}</tool_call>',
            ("read_article", '{"slug": x"}}'),
        ),
        ('<tool_call>{"name": read_article"}</tool_call>', ("", '{"name": read_article"}')),
        ("<tool_call>{ } </tool_call>", ("", "{ }")),
        ('{"name": "read_article", "arguments": {"slug": x"}}', ("read_article", '{"slug": x"}}')),
        ('```json\n{"name": "read_article", "arguments": {"slug": x"}}\n```', ("read_article", '{"slug": x"}}')),
        ("<function=><parameter=slug>x", None),
    ],
)
def test_a_call_that_cannot_be_read_goes_to_the_loop_once(reply: str, made: tuple[str, str] | None) -> None:
    calls = [ToolCall("", *made)] if made else [reply]
    assert deltas(reply) == calls
    if made:
        assert deltas(reply, tells=False) == [reply]


@pytest.mark.parametrize(
    ("reply", "made"),
    [
        ('Action: read_article\nAction Input: {"slug": x"}', ("read_article", '{"slug": x"}')),
        ("Action: save_note\nAction Input: It holds 2 ml.", ("save_note", "It holds 2 ml.")),
        ("Action: I will now read it.", ("", "I will now read it.")),
        ("Action: I will read\nAction Input: it", ("", "I will read\nAction Input: it")),
        ("Action: read_article[x]", ("", "read_article[x]")),
    ],
)
def test_and_in_text_react(reply: str, made: tuple[str, str]) -> None:
    assert deltas(reply, labelled=True) == [ToolCall("", *made)]
    assert deltas(reply, labelled=True, tells=False) == [reply]


@given(JSON)
def test_a_reply_that_was_cut_off_is_not_completed(value: Any) -> None:
    reply = f'<tool_call>{{"name": "save_note", "arguments": {{"text": {_dumped(["It", value])}'
    assume("</tool_call>" not in reply)
    (made,) = deltas(reply, cut=True)
    assert isinstance(made, ToolCall)
    assert made == ToolCall("", "save_note", reply[len('<tool_call>{"name": "save_note", "arguments": ') :])
    assert deltas(reply) == [call("save_note", text=["It", value])]


# ---- what is hostile ----


@pytest.mark.parametrize(
    "unit", ["<tool_call>{", '{"name": ', "```json\n{", "Action: x\n", "Observation: y\n", "[" * 50, " \n"]
)
@pytest.mark.parametrize("size", [1, 1_000, 10**6])
def test_a_long_reply_of_beginnings_is_read_to_its_end(unit: str, size: int) -> None:
    reply = (unit * 10_000)[:20_000]
    chunks = [reply[at : at + size] for at in range(0, len(reply), size)]
    for labelled in (False, True):
        assert deltas(chunks, labelled=labelled)
