from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.agent.ledger import Amount
from thimble.session import figures


@given(st.integers(0, 10**9), st.booleans())
def test_short_is_short_and_near(count: int, exact: bool) -> None:
    text = figures.short(count, exact)
    assert len(text.removeprefix("~")) <= 5
    assert text.startswith("~") is not exact
    unit = {"k": 1e3, "M": 1e6}.get(text[-1], 1)
    assert float(text.strip("~kM").replace(",", "")) * unit == pytest.approx(count, rel=0.06)


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_over_a_hundred_per_cent_is_over(count: int, of: int) -> None:
    percent = int(figures.share(count, of).rstrip("%"))
    assert (percent > 100) == (count > of)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (figures.amount(Amount(None)), "?"),
        (figures.amount(Amount(6812, exact=False)), "~6,812"),
        (figures.short(812), "812"),
        (figures.short(21_449), "21.4k"),
        (figures.short(999_999), "1.0M"),
        (figures.short(None), "?"),
        (figures.share(None, 8000), "?"),
        (figures.share(5, 0), "?"),
        (figures.duration(0.004), "4 ms"),
        (figures.duration(3.14), "3.1 s"),
        (figures.duration(125), "2 min 5 s"),
        (figures.several(1, "result"), "1 result"),
        (figures.several(2000, "result"), "2,000 results"),
    ],
)
def test_how_it_is_written(written: str, expected: str) -> None:
    assert written == expected
