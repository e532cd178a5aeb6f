"""The four strategies of the papers beside an oracle that is written from the equations alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.histories import Story, TinyCounter, calls_of
from tests.support.specs import Summariser, build, named_summary
from thimble.agent.budget import UNLIMITED, Budget
from thimble.agent.messages import Message
from thimble.commands.trajectories import read_trajectories

RECORDED = os.environ.get("THIMBLE_TRAJECTORIES", "")
Shown = list[tuple[str, str]]
"""What a prompt shows: each message by id with its fate; for a summary the ids that it stands for."""


@dataclass
class Oracle:
    """The Complexity Trap, Eq. 3 to 6. `m` is M of Eq. 4; a summary is due when `n` turns have gathered since the last.

    The papers have one user message. With more, the first is the task, and the newest is what is asked: both stay.
    """

    m: int | None = None
    n: int | None = None
    tail: int = 10
    t_last: int = 0
    covered: list[str] = field(default_factory=list)

    def shows(self, history: Sequence[Message]) -> Shown:
        """The prompt of turn t, which the history comes before."""
        turns = [at for at, one in enumerate(history) if one.role == "assistant" and one.calls]
        t = len(turns) + 1
        if self.n and (t - 1) - self.t_last >= self.n:
            self.t_last = t - 1 - self.tail
            users = [one.id for one in history if one.role == "user"]
            stays = {*users[:1], *users[-1:]}
            end = turns[self.t_last] if self.t_last < len(turns) else len(history)
            while history[end - 1].role == "user":  # one that asks for the turns which stay
                end -= 1
            self.covered = [one.id for one in history[:end] if one.role != "system" and one.id not in stays]
        start = turns[t - 1 - self.m] if self.m is not None and t - 1 - self.m > 0 else 0
        shown: Shown = []
        for at, one in enumerate(history):
            if one.id not in self.covered:
                shown.append((one.id, "p_i" if one.role == "tool" and at < start else "o_i"))
            elif one.id == self.covered[-1]:
                shown.append((" ".join(self.covered), "s_t"))
        return shown


PAPERS = {
    "none": Oracle(),
    "observation-masking:paper": Oracle(m=10),
    "llm-summary:paper": Oracle(n=21 + 10),
    "critic-summary:paper": Oracle(n=21 + 10),
    "hybrid:paper": Oracle(m=10, n=43),
}
every_paper = pytest.mark.parametrize("spec", PAPERS)


def differing(spec: str, calls: Iterable[Sequence[Message]]) -> list[int]:
    """The calls whose view is not what the equations say."""
    oracle = replace(PAPERS[spec])
    strategy, budget = build(spec, Summariser(named_summary)), Budget(UNLIMITED, TinyCounter())
    found = []
    for number, history in enumerate(calls, 1):
        said = {one.id: one.content for one in history}
        ours = [
            (" ".join(one.covers), "s_t") if one.covers else (one.id, "o_i" if one.content == said[one.id] else "p_i")
            for one in strategy.prepare(history, budget)
        ]
        if ours != oracle.shows(history):
            found.append(number)
    return found


@st.composite
def runs(draw: st.DrawFn) -> list[Message]:
    """A long run: results of any length, answers and questions between its turns, perhaps the assistant first."""
    story = Story()
    if draw(st.booleans()):
        story.ask("the task")
    steps = draw(st.integers(1, 130))
    kinds = st.sampled_from(["turn"] * 12 + ["answer", "ask", "two"])
    for kind in draw(st.lists(kinds, min_size=steps, max_size=steps)):
        match kind:
            case "turn":
                story.turn(draw(st.sampled_from([0, 1, 30, 400])))
            case "two":
                story.turn(60, 0)
            case "answer":
                story.answer("so it is")
            case "ask":
                story.ask("and then")
    return story.messages


@every_paper
@settings(max_examples=20)
@given(runs())
def test_a_view_is_what_the_equations_say(spec: str, run: list[Message]) -> None:
    assert differing(spec, calls_of(run)) == []


@pytest.mark.skipif(not RECORDED, reason="THIMBLE_TRAJECTORIES names no recorded runs")
@every_paper
def test_a_view_of_a_recorded_run_is_what_the_equations_say(spec: str) -> None:
    runs = read_trajectories([Path(RECORDED)])
    assert [run.name for run in runs if differing(spec, [run.messages[:at] for at in run.calls])] == []
