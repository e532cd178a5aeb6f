"""dedup: a reference names a result that stands whole in the same view, and the diff gives the text back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import BudgetError
from agent.messages import Message
from agent.view import prepare
from strategies.dedup import Dedup, difference
from tests.support.histories import LIMITS, Story, budget, calls_of
from tests.support.specs import build

LINES = st.lists(
    st.sampled_from(["def one():", "return 1", "", "-x", "+x", "@@ -1 +1 @@", " ", "\r", "é"]), max_size=20
)


def patched(old: str, diff: str) -> str:
    """The text that a unified diff makes of an old one, read as the manual of diff has it."""
    lines, made, at, left = old.split("\n"), list[str](), 0, 0
    for line in diff.split("\n") if diff else ():
        if not left:
            hunk = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@", line)
            assert hunk
            old_lines, new_lines = int(hunk[2] or 1), int(hunk[3] or 1)
            start, left = int(hunk[1]) - bool(old_lines), old_lines + new_lines
            made += lines[at:start]
            at = start
            continue
        left -= 2 if line[0] == " " else 1
        if line[0] in " +":
            made.append(line[1:])
        if line[0] in " -":
            assert lines[at] == line[1:]
            at += 1
    return "\n".join(made + lines[at:])


@given(LINES, LINES)
def test_the_earlier_text_and_the_diff_make_the_text(old: list[str], new: list[str]) -> None:
    changed = difference("\n".join(old), "\n".join(new))
    assert changed is not None
    assert patched("\n".join(old), changed) == "\n".join(new)


FILES = [[f"line {line} of file {file}, which is long enough" for line in range(30)] for file in range(3)]


@st.composite
def readings(draw: st.DrawFn) -> list[Message]:
    """Files that are read again and again, with a line changed here and there."""
    story, files = Story().ask("?"), [list(lines) for lines in FILES]
    for _ in range(draw(st.integers(1, 12))):
        lines = files[draw(st.integers(0, 2))]
        if draw(st.booleans()):
            lines[draw(st.integers(0, 29))] = draw(st.sampled_from(["changed", "", "+", "@@ -1 +1 @@"]))
        story.turn(0)
        last = story.messages[-1]
        story.messages[-1] = Message(last.id, "tool", "\n".join(lines), call_id=last.call_id, name="read_file")
    return story.messages


SPECS = [
    "dedup",
    "tidy+dedup",
    "observation-masking+dedup",
    "tidy+thrifty+dedup",
    "offload+dedup",
    "sliding-window+dedup",
]


@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=20)
@given(readings(), LIMITS)
def test_what_a_reference_names_stands_whole_in_the_same_view(spec: str, history: list[Message], limit: int) -> None:
    strategy, before = build(spec), None
    whole = {message.id: message for message in history}
    for messages in calls_of(history):
        try:
            before = prepare(messages, strategy, budget(limit, overhead=20), before)
        except BudgetError:
            continue
        shown = {message.id: message for message in before.messages}
        for message in before.messages:
            if message.why.startswith("repeats "):
                earlier = shown[message.why.removeprefix("repeats ")]
                assert earlier.content == whole[earlier.id].content
                head, _, diff = message.content.partition("\n")
                assert head.endswith(f'recall(id="{message.id}") shows it whole]')
                assert patched(earlier.content, diff) == whole[message.id].content


def read(*texts: str) -> list[Message]:
    story = Story().ask("?")
    for text in texts:
        story.turn(0)
        last = story.messages[-1]
        story.messages[-1] = Message(last.id, "tool", text, call_id=last.call_id, name="read_file")
    return story.messages


def test_how_a_reference_reads() -> None:
    lines = FILES[0]
    changed = [*lines[:9], "new", *lines[10:]]
    view = Dedup().prepare(read("\n".join(lines), "\n".join(lines), "\n".join(changed)), budget())
    assert [message.content for message in view if message.ref] == [
        '[the same as the earlier result that begins "line 0 of file 0, which is long enough l"; '
        'recall(id="m6") shows it whole]',
        '[the same as the earlier result that begins "line 0 of file 0, which is long enough l", but for this diff; '
        'recall(id="m8") shows it whole]\n@@ -9,3 +9,3 @@\n'
        f" {lines[8]}\n-{lines[9]}\n+new\n {lines[10]}",
    ]


def test_the_prefix_stays_and_a_text_that_came_back_stays() -> None:
    history = read(*["\n".join(FILES[0])] * 12)
    strategy, before = Dedup(), None
    for messages in calls_of(history):
        before = prepare(messages, strategy, budget(1_000), before)
        assert not before.edited
    assert before.tokens < 1_000 < before.history_tokens
    view = strategy.prepare(history, budget(500))
    assert not any(message.ref for message in view)
    assert strategy.prepare(history, budget(1_000)) == view


def test_long_texts_are_compared_only_with_what_they_equal() -> None:
    assert difference("a\n" * 10_000, "b\n" * 10_000) is None
    assert difference("a\n" * 10_000, "a\n" * 10_000) == ""
