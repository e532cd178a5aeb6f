"""The nightly profile: as many examples for each law as docs/reference/laws.md says."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import share_out

NIGHTLY = settings.get_profile("nightly").max_examples


def test_a_law_s_examples_are_shared_out_among_the_strategies_selected() -> None:
    """Of 20,000 and fewer, as the profile in use has them."""
    tried: list[int] = []

    @given(st.integers())
    def law(example: int) -> None:
        tried.append(example)

    def example() -> None:
        raise AssertionError("no law, and never run")

    each = -(-settings.default.max_examples // 3)
    share_out([law, example, law, None, law])
    law()
    assert len(tried) == each
    assert NIGHTLY == 20_000


def test_a_law_of_its_own_has_them_all() -> None:
    tried: list[int] = []

    @given(st.integers())
    def law(example: int) -> None:
        tried.append(example)

    share_out([law])
    law()
    assert len(tried) == settings.default.max_examples
