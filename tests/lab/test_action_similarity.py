"""The similarity of actions: its laws, and pairs that were judged by hand before it was written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.lab.action_similarity import Action, next_actions_alike, similarity

ARGUMENTS = st.one_of(
    st.text(max_size=9),
    st.dictionaries(st.sampled_from(["path", "query"]), st.text(max_size=9) | st.integers() | st.none()).map(
        json.dumps
    ),
)
ACTIONS = st.builds(Action, st.text(max_size=12), st.lists(st.tuples(st.sampled_from("ab"), ARGUMENTS), max_size=3))


@given(ACTIONS, ACTIONS)
def test_it_is_a_similarity(one: Action, other: Action) -> None:
    alike = similarity(one, other)
    assert 0 <= alike <= 1
    assert alike == pytest.approx(similarity(other, one))
    assert similarity(one, one) == pytest.approx(1)


@given(st.lists(ACTIONS, max_size=6), st.lists(ACTIONS, max_size=6))
def test_runs_are_compared_up_to_the_first_difference(ours: list[Action], theirs: list[Action]) -> None:
    found = [*next_actions_alike(ours, theirs)]
    assert len(found) <= min(len(ours), len(theirs))
    assert all(alike == 1 for alike in found[:-1])
    assert [*next_actions_alike(ours, ours)] == [1] * len(ours)


def call(tool: str, text: str = "", **arguments: Any) -> Action:
    return Action(text, ((tool, json.dumps(arguments)),))


def calls(*actions: Action, text: str = "") -> Action:
    return Action(text, tuple(one for action in actions for one in action.calls))


READ = call("read_file", "I look at the parser.", path="src/parser.py", first=1)
FIND = call("search", query="where is the cache emptied", limit=5)
SHELL = call("bash", command="grep -rn 'def empty' src/cache")
ANSWER = Action("The cache is emptied in `evict`, when it is full.")
SAME, AS_GOOD, NEAR, FAR, OTHER = (0.999, 1), (0.85, 0.998), (0.6, 0.85), (0.35, 0.65), (0, 0.2)
"""Verdicts: the same; as good; a step to the same end; the same tool for another thing; another act."""


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        (READ, READ, SAME),
        (READ, call("read_file", "Let me open that file first.", path="src/parser.py", first=1), AS_GOOD),
        (READ, call("read_file", "I look at the parser.", path="src/parser.py", first=80), NEAR),
        (READ, call("read_file", path="src/parser.py"), NEAR),
        (READ, call("read_file", path="tests/test_lexer.py", first=200), FAR),
        (READ, ANSWER, OTHER),
        (FIND, call("search", query="where is the cache emptied?", limit=5), AS_GOOD),
        (FIND, call("search", query="cache emptied", limit=5), AS_GOOD),
        (FIND, call("search", query="how large is the index", limit=20), FAR),
        (SHELL, call("bash", command="grep -rn 'def empty' src"), AS_GOOD),
        (SHELL, call("bash", command="grep -n 'def evict' src/cache"), NEAR),
        (calls(READ, FIND), calls(FIND, READ), SAME),
        (calls(READ, FIND), calls(READ), FAR),
        (calls(READ, READ), calls(READ, call("read_file", path="other.py", first=9)), NEAR),
        (ANSWER, Action("It is emptied in `evict`, when the cache is full."), AS_GOOD),
        (ANSWER, Action("I could not find that anywhere, sorry."), OTHER),
        (Action(), Action(), SAME),
        (Action("", (("t", "no json"),)), Action("", (("t", "no json"),)), SAME),
    ],
)
def test_it_agrees_with_a_judge(one: Action, other: Action, verdict: tuple[float, float]) -> None:
    least, most = verdict
    assert least <= similarity(one, other) <= most


def test_a_tenth_of_a_call_does_not_make_it_another_tool() -> None:
    """Whatever its arguments, a call of the same tool is nearer than one of another tool with the same arguments."""
    worst = similarity(call("a", query="x"), call("a", path="y z"))
    assert worst > similarity(call("a", query="x"), call("b", query="x"))
