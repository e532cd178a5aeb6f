from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.agent.ledger import Amount
from thimble.session import figures
from thimble.tools.wording import count_noun


@given(st.integers(0, 10**9), st.booleans())
def test_short_is_short_and_near(count: int, exact: bool) -> None:
    text = figures.format_short(count, exact)
    assert len(text.removeprefix("~")) <= 5
    assert text.startswith("~") is not exact
    unit = {"k": 1e3, "M": 1e6}.get(text[-1], 1)
    assert float(text.strip("~kM").replace(",", "")) * unit == pytest.approx(count, rel=0.06)


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_over_a_hundred_per_cent_is_over(count: int, of: int) -> None:
    percent = int(figures.format_share(count, of).rstrip("%"))
    assert (percent > 100) == (count > of)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (figures.format_amount(Amount(None)), "?"),
        (figures.format_amount(Amount(6812, exact=False)), "~6,812"),
        (figures.format_short(812), "812"),
        (figures.format_short(21_449), "21.4k"),
        (figures.format_short(999_999), "1.0M"),
        (figures.format_short(None), "?"),
        (figures.format_share(None, 8000), "?"),
        (figures.format_share(5, 0), "?"),
        (figures.format_duration(0.004), "4 ms"),
        (figures.format_duration(3.14), "3.1 s"),
        (figures.format_duration(125), "2 min 5 s"),
        (count_noun(1, "result"), "1 result"),
        (count_noun(2000, "result"), "2,000 results"),
    ],
)
def test_how_it_is_written(written: str, expected: str) -> None:
    assert written == expected
