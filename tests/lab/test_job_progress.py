"""The progress of a command."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from thimble.lab.job_progress import LINE_PAUSE_SECONDS, progress
from thimble.session.figures import format_duration


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 30)), max_size=30))
def test_lines_are_apart_and_tell_the_time_for_the_rest_of_the_size(done: list[tuple[int, float]]) -> None:
    now = 0.0
    told: list[tuple[float, str]] = []
    total = sum(size for size, _ in done)
    with redirect_stderr(io.StringIO()) as paper, progress("done", len(done), total, lambda: now) as advance:
        for size, seconds in done:
            now += seconds
            advance(size)
            told += [(now, line) for line in paper.getvalue().splitlines()[len(told) :]]
    for at, line in told:
        found = re.fullmatch(rf"done (\d+) of {len(done)}(?:, about (.*) left)?", line)
        assert found
        so_far = sum(size for size, _ in done[: int(found[1])])
        assert found[2] == (format_duration(at / so_far * (total - so_far)) if so_far else None)
    times = [0.0, *(at for at, _ in told)]
    assert all(later - earlier >= LINE_PAUSE_SECONDS for earlier, later in pairwise(times))
    assert now - times[-1] < LINE_PAUSE_SECONDS
