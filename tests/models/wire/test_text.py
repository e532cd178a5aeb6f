from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.agent.messages import ToolCall
from thimble.agent.protocols import Delta, Text, Thinking, Usage, Waiting
from thimble.models.wire.text import ReplyText

PIECES = st.sampled_from(["<think>", "</think>", "<", "</", "think>", "thi", " ", "\n", "a", "Answer", "<thinking>"])
REPLIES = st.lists(PIECES, max_size=12).map("".join)


def apart(deltas: Iterable[Delta]) -> list[Delta]:
    """The deltas of a reply, thinking told apart; its usage, where it has none, comes and goes."""
    given = [*deltas]
    tags, last = ReplyText(), [] if Usage() in given else [Usage()]
    found = [part for delta in [*given, *last] for part in tags.add_delta(delta)]
    return found[: len(found) - len(last)]


def joined(deltas: Iterable[Delta]) -> list[tuple[type, str]]:
    """Neighbours of one kind as one; a thought that came as text stands in its place."""
    parts: list[tuple[type, str]] = []
    for delta in deltas:
        if isinstance(delta, Thinking) and delta.was_text:
            assert "".join(text for kind, text in parts if kind is Text) == delta.text
            parts = [part for part in parts if part[0] is Thinking]
        if isinstance(delta, Text | Thinking):
            parts.append((type(delta), delta.text))
    return [(kind, "".join(text for _, text in group)) for kind, group in groupby(parts, key=lambda part: part[0])]


@given(REPLIES, st.data())
def test_however_a_reply_is_cut_the_same_comes_out(reply: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(reply)), max_size=20).map(sorted))
    pieces = [Text(reply[start:end]) for start, end in pairwise([0, *cuts, len(reply)])]
    assert joined(apart(pieces)) == joined(apart([Text(reply)]))


@given(st.text() | REPLIES)
def test_nothing_is_lost_but_the_tags_and_the_blanks_around_them(reply: str) -> None:
    start, (before, tag, behind) = reply.lstrip(), reply.partition("</think>")
    expected = [(Text, reply)]
    if start.startswith("<think>"):
        thought, _, answer = start.removeprefix("<think>").lstrip().partition("</think>")
        expected = [(Thinking, thought), (Text, answer.lstrip())]
    elif tag and not before.strip():
        expected = [(Text, behind.lstrip())]
    elif tag and "<think>" not in before and before[-1] != "`":
        expected = [(Thinking, before), (Text, behind.lstrip())]
    assert joined(apart([Text(reply)])) == [part for part in expected if part[1]]


@pytest.mark.parametrize(
    ("reply", "parts"),
    [
        ("<think>\nHm.\n</think>\n\nTwo.", [Thinking("Hm.\n"), Text("Two.")]),
        ("\n<think>\n\n</think>\n\nTwo.", [Text("Two.")]),
        ("<think>Hm, cut o", [Thinking("Hm, cut o")]),
        ("<think>a </thin", [Thinking("a "), Thinking("</thin")]),
        ("Use <think>x</think>.", [Text("Use <think>x"), Text("</think>.")]),
        ("<thinking>", [Text("<thinking>")]),
        ("<thi", [Text("<thi")]),
        ("<think>a</think>b<think>c</think>", [Thinking("a"), Text("b<think>c</think>")]),
        ("Two.\n</think>\n\nIt is.", [Text("Two.\n"), Thinking("Two.\n", was_text=True), Text("It is.")]),
        ("Two.</think>", [Text("Two."), Thinking("Two.", was_text=True)]),
        ("\n</think>\nTwo.", [Text("Two.")]),
        ("It ends with `</think>`.", [Text("It ends with `"), Text("</think>`.")]),
    ],
)
def test_examples(reply: str, parts: list[Delta]) -> None:
    assert apart([Text(reply), Usage()]) == [*parts, Usage()]


def test_other_deltas_pass() -> None:
    call = ToolCall("c", "f")
    deltas = [Waiting("loading"), Thinking("own"), Text("<think>a"), call, Text("b</think>c"), Usage()]
    assert apart(deltas) == [
        *deltas[:2],
        Thinking("a"),
        call,
        Thinking("b"),
        Text("c"),
        Usage(),
    ]
