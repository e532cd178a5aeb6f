"""The difference of two texts: what it shows is true, and it fits the screen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from repl.commands.context.difference import LEAST_ROWS, OTHER_ROWS, difference, show_difference
from tests.support.sessions import Paper

LINES = st.lists(st.sampled_from(["one", "two", "three", "four", "five", "six", "seven"]), max_size=60)


@given(LINES, LINES)
def test_its_lines_and_its_gaps_make_both_texts_again(old: list[str], new: list[str]) -> None:
    runs = difference("\n".join(old), "\n".join(new)).runs
    was, sent = list(old), list(new)
    for run in runs:
        if not run.sign:
            gap = int(run.lines[0].split()[1])
            assert was[:gap] == sent[:gap]
            del was[:gap], sent[:gap]
        for line in run.lines if run.sign else ():
            assert run.sign == "+" or was.pop(0) == line
            assert run.sign == "-" or sent.pop(0) == line
    assert not runs or was == sent == []


@given(LINES, LINES, st.integers(5, 60))
def test_it_fits_the_height(old: list[str], new: list[str], height: int) -> None:
    paper = Paper(80, height=height)
    show_difference(difference("\n".join(old), "\n".join(new)), paper.console)
    assert len(paper.lines) <= max(LEAST_ROWS, height - OTHER_ROWS) + 1
