"""The profiles: a law shared by all strategies gets as many examples as one of one strategy."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import PROFILE, QUICK_EXAMPLES, examples, share_out


def test_a_law_s_examples_are_shared_out_among_the_strategies_selected() -> None:
    tried: list[int] = []

    @given(st.integers())
    def law(example: int) -> None:
        tried.append(example)

    def example() -> None:
        raise AssertionError("no law, and never run")

    share_out([law, example] * 21)
    law()
    assert len(tried) == examples(PROFILE, settings.default.max_examples, 21)


@pytest.mark.parametrize(("asked", "times"), [(50, 1), (50, 20), (40, 3), (1500, 1), (1500, 9)])
def test_by_night_a_law_has_all_its_examples_whatever_it_asks_for(asked: int, times: int) -> None:
    by_day, by_night = (examples(profile, asked, times) for profile in ("quick", "nightly"))
    assert by_night * times >= 20_000
    assert by_day <= asked
    assert times == 1 or by_day * times < QUICK_EXAMPLES + times


def test_a_law_of_its_own_has_them_all() -> None:
    tried: list[int] = []

    @given(st.integers())
    def law(example: int) -> None:
        tried.append(example)

    share_out([law])
    law()
    assert len(tried) == settings.default.max_examples
