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


def test_what_cannot_be_seen_is_counted_and_no_line_is_shown_twice() -> None:
    coloured = [f"\x1b[32m{text}\x1b[0m  " for text in ("one", "two", "three")]
    found = difference("\n".join([*coloured, "four"]), "one\ntwo\nthree\nfour")
    assert (found.runs, found.unseen) == ([], 3)
    paper = Paper(80)
    assert show_difference(found, paper.console)
    assert [line.strip() for line in paper.lines] == [
        "3 lines differ only in control sequences or in blanks at the end"
    ]


def test_a_table_keeps_its_heading_and_two_rows() -> None:
    before = "list\n" + "\n".join(f'{{"name": "job-{n}", "state": "ok", "seconds": {n}}}' for n in range(60))
    table = [f"job-{n}|ok|{n}" for n in range(60)]
    paper = Paper(80, height=24)
    after = "\n".join(
        ["list", "[62 lines of JSON as tables: x]", "total: 60", "jobs, 60 rows: name|state|seconds", *table]
    )
    assert not show_difference(difference(before, after), paper.console)
    shown = [line.strip() for line in paper.lines]
    assert {"+ jobs, 60 rows: name|state|seconds", "+ job-0|ok|0", "+ job-59|ok|59"} <= {*shown}
    paper = Paper(80, height=24)
    assert show_difference(difference(before, after), paper.console, whole=True)
    assert all(f"  + {row}" in paper.lines for row in table)


@given(LINES, LINES, st.integers(5, 60))
def test_it_fits_the_height(old: list[str], new: list[str], height: int) -> None:
    paper = Paper(80, height=height)
    show_difference(difference("\n".join(old), "\n".join(new)), paper.console)
    assert len(paper.lines) <= max(LEAST_ROWS, height - OTHER_ROWS) + 1
