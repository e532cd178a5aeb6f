"""Long parts are written once: any data comes back as it was, and a list that grows costs what is new in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.session.journal.checksum_lines import as_json
from thimble.session.journal.values import CHUNK, LINES, PAIRS, VALUE, Values

WORDS = st.sampled_from(
    [VALUE, CHUNK, PAIRS, LINES, "", "1.0", "\ud800", "x" * 80, "y" * 61, "kept", "\n" * 40, "{}\n" * 15]
)
DATA: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=90) | WORDS,
    lambda inner: st.lists(inner, max_size=40) | st.dictionaries(WORDS | st.text(max_size=9), inner, max_size=20),
    max_leaves=120,
)


@given(st.lists(DATA, max_size=4))
def test_any_data_comes_back_also_with_the_marks_of_the_form(several: list[Any]) -> None:
    writing, reading = Values(), Values()
    for number, data in enumerate(several, 1):
        writing.begin(number)
        packed, new = json.loads(as_json([writing.pack(data), writing.new]))
        reading.add(number, new)
        assert reading.unpack(packed) == json.loads(json.dumps(data)) == writing.unpack(packed)


def test_who_goes_on_with_a_file_writes_nothing_twice() -> None:
    first, data = Values(), [f"{number} " * 40 for number in range(100)]
    first.begin(1)
    packed = first.pack(data)
    again = Values()
    again.add(1, json.loads(as_json(first.new)))
    again.begin(2)
    assert again.pack(data) == packed
    assert again.new == []


def grown(items: int, changed: int) -> int:
    """The bytes of a list that grows by an item a line; now and then an item far back changes."""
    values, data, size = Values(), list[str](), 0
    for number in range(1, items):
        data.append(f"message {number} of the session")
        if number % 7 == 0:
            data[max(0, number - changed)] += ", masked"
        values.begin(number)
        size += len(as_json([values.pack(data), values.new]))
    return size


def test_twice_the_items_are_at_most_a_little_more_than_twice_the_bytes() -> None:
    for changed in (1, 30, 200):
        assert grown(400, changed) < 2.6 * grown(200, changed)  # n log n


def test_a_text_that_grows_by_a_line_is_not_written_again() -> None:
    values, lines, size = Values(), list[str](), 0
    for number in range(1, 200):
        lines.append(f"- what was asked in exchange {number}")
        values.begin(number)
        size += len(as_json([values.pack("\n".join(lines)), values.new]))
    assert size < 8 * len("\n".join(lines))  # it would be a hundred times


@pytest.mark.parametrize("packed", [{LINES: 5}, {LINES: [5]}, {PAIRS: 5}, {PAIRS: [5]}, {VALUE: 5}, {VALUE: []}])
def test_a_form_that_nobody_writes_is_damage(packed: object) -> None:
    with pytest.raises(ValueError, match="a part of it"):
        Values().unpack(packed)
