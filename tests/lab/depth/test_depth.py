"""`thimble lab depth`: where the fact is in its ten prompts, the control, and whether a U is told."""

from __future__ import annotations

import json
import re
from argparse import Namespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.agent.errors import UsageError
from thimble.lab.depth.command import DEPTHS, Depth, Trial, main


@given(st.integers(DEPTHS, 40), st.integers(1, 1_000))
def test_only_the_depth_of_the_fact_changes(facts: int, number: int) -> None:
    places, others, questions = [], set(), set()
    for depth in range(DEPTHS):
        messages, fact = Trial("reader", facts, number).prompt(depth)
        lines = [line.partition(": ")[2] for line in messages[2].content.splitlines()[1:]]
        assert (len(lines), lines.count(fact)) == (facts, 1)
        places.append(lines.index(fact))
        others.add(tuple(line for line in lines if line != fact))
        questions.add(messages[-1].content)
    assert (places[0], places[-1]) == (0, facts - 1)
    assert places == sorted({*places})
    assert len(others) == len(questions) == 1


def test_the_reader_finds_the_fact_at_every_depth(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--trials", "1", "--facts", "30", "--jobs", "1"]
    main([*arguments, "--json"], "lab depth")
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["model"], row["found"]) == ("reader", [True] * DEPTHS)
    main(arguments, "lab depth")
    assert "reader: the ends against the middle +0 points [+0, +0], p 1.0000." in capsys.readouterr().out


def test_a_u_is_told_and_drawn() -> None:
    found = [True, True, False, False, True, False, False, False, True, True]
    rows = [{"model": "openai:u", "trial": number, "found": found} for number in range(20)]
    report = Depth().report(rows, Namespace(facts=100))
    (note,), (curve,) = report.after, report.pictures.values()
    assert note == "openai:u: the ends against the middle +75 points [+75, +75], p 0.0000."
    (line,) = re.findall(r'points="([^"]+)"', curve)
    heights = [float(point.partition(",")[2]) for point in line.split()]
    assert [height == min(heights) for height in heights] == found


def test_too_few_facts() -> None:
    with pytest.raises(UsageError, match="--facts 9 is not valid"):
        main(["--facts", "9"], "lab depth")
