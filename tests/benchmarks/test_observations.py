"""The benchmarks of results measure texts of each kind under each task."""

from __future__ import annotations

import pytest

from benchmarks import large_results, observations
from tests.support.family import family
from thimble.strategies.tidy import TIDY_FORMS


@pytest.mark.parametrize("kind", observations.FORMS)
def test_a_text_of_each_kind_is_measured(kind: str) -> None:
    text = observations.text_of(observations.FORMS[kind], 4_000, 7)
    assert observations.dedup(text)()
    assert observations.excerpted(text)()
    assert observations.tidy(text)() in (None, *TIDY_FORMS)


@pytest.mark.parametrize("name", family(large_results.TEXTS, "json", "lines"))
def test_a_large_result_is_measured(name: str) -> None:
    assert large_results.measured(1, "compress", name).startswith(f"| compress | {name} | ")
