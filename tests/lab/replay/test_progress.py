"""The progress of a replay where standard error is no terminal."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lab.replay.progress import PAUSE, progress
from lab.replay.trajectories import Trajectory
from tests.support.histories import react


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 30)), max_size=30))
def test_lines_are_apart_and_tell_the_share_of_the_size(done: list[tuple[int, float]]) -> None:
    now = 0.0
    told: list[tuple[float, str]] = []
    total = sum(size for size, _ in done)
    with redirect_stderr(io.StringIO()) as paper, progress(len(done), total, lambda: now) as advance:
        for size, seconds in done:
            now += seconds
            advance(size)
            told += [(now, line) for line in paper.getvalue().splitlines()[len(told) :]]
    for _, line in told:
        found = re.fullmatch(rf"replayed (\d+) of {len(done)}, (\d+)% of the work", line)
        assert found
        so_far = sum(size for size, _ in done[: int(found[1])])
        assert abs(int(found[2]) - 100 * so_far / max(1, total)) <= 0.5
    times = [0.0, *(at for at, _ in told)]
    assert all(later - earlier >= PAUSE for earlier, later in pairwise(times))
    assert now - times[-1] < PAUSE


@given(st.integers(0, 30))
def test_the_size_of_a_run_is_what_is_sent_without_management(steps: int) -> None:
    run = Trajectory("run", react(steps, tokens=20))
    assert run.size == sum(map(len, run.histories()))
