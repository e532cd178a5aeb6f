"""Grids: braces give the product that nested loops give, in order, each value once; braces doubled are braces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.agent.errors import UsageError
from thimble.lab.sweep.grid import MOST_VALUES, parse_grid

NAMES = st.text("abcdef", min_size=1, max_size=4)
VALUES = st.lists(st.text("ab01", min_size=1, max_size=3), min_size=1, max_size=4)
PLAIN = st.text("ab1-:{}./", max_size=6)
"""Text around the values, with braces that are meant as such."""


def escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


@given(PLAIN, st.lists(st.tuples(NAMES, VALUES, PLAIN), max_size=3, unique_by=lambda axis: axis[0]))
def test_every_combination_is_there_once_in_order(head: str, axes: list[tuple[str, list[str], str]]) -> None:
    text, expected = escaped(head), [((), head)]
    for name, values, tail in axes:
        text += f",{name}={{{','.join(values)}}}{escaped(tail)}"
        longer = []
        for so_far, spec in expected:
            for place, value in enumerate(values):
                if value not in values[:place]:
                    longer.append(((*so_far, value), f"{spec},{name}={value}{tail}"))
        expected = longer
    grid = parse_grid(text)
    assert list(grid.settings()) == expected
    assert list(grid.axes) == [name for name, *_ in axes]


@given(st.text(max_size=30))
def test_any_text_is_a_grid_or_a_usage_error(text: str) -> None:
    try:
        grid = parse_grid(text)
    except UsageError:
        assert "{" in text or "}" in text
        return
    if "{" not in text and "}" not in text:
        assert list(grid.settings()) == [((), text)]


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_a_range_is_its_numbers_once(first: int, last: int, more: int) -> None:
    numbers = [first]
    while numbers[-1] != last:
        numbers.append(numbers[-1] + (1 if last > first else -1))
    (values,) = parse_grid(f"x:a={{ {first}..{last} , {more} }}").axes.values()
    assert values == [str(number) for number in (numbers if more in numbers else [*numbers, more])]


def test_two_strategies_may_have_one_parameter() -> None:
    grid = parse_grid("observation-masking:window={1,2}+./a.py:Fuse:window={3,4},size=5")
    assert grid.axes == {"window": ["1", "2"], "window 2": ["3", "4"]}
    assert grid.default == "observation-masking+./a.py:Fuse"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{none,hybrid}", "braces must hold the values of a parameter"),
        ("none{", "braces must hold the values of a parameter"),
        ("x:a=}", "braces must hold the values of a parameter"),
        ("x:a={1,{2}}", "braces must hold the values of a parameter"),
        ("x:a={}", "a={}: a value is missing"),
        ("x:a={1,,2}", "a={1,,2}: a value is missing"),
        ("x:a={0..999999999}", "these are too many values"),
        (f"x:a={{1..{MOST_VALUES},0..1}}", "these are too many values"),
    ],
)
def test_braces_that_say_nothing(text: str, what: str) -> None:
    with pytest.raises(UsageError, match=r".") as error:
        parse_grid(text)
    assert what in error.value.what
