from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.printed_replies import JSON, WORDS
from thimble.models.text_calls.lenient_json import read

PLAIN = st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="\\"), max_size=12)
ANYTHING = st.lists(
    st.sampled_from([*"{}[](),:='\"\\", "a", "None", "1", " ", "\n", "</tool_call>", "<"]) | WORDS, max_size=15
)


@given(JSON, st.text(max_size=5))
def test_json_is_read_as_it_stands(value: Any, before: str) -> None:
    text = json.dumps(value)
    assert read(before + text, len(before)) == (value, len(before + text))


@given(st.dictionaries(PLAIN, PLAIN | st.booleans() | st.none() | st.integers() | st.lists(PLAIN, min_size=1)))
def test_so_is_what_python_writes(value: dict[str, Any]) -> None:
    assert read(repr(value))[0] == value


@given(st.dictionaries(WORDS, st.lists(JSON, min_size=1), min_size=1))
def test_brackets_that_are_missing_at_the_end_are_put_there(value: dict[str, Any]) -> None:
    text = json.dumps(value).rstrip("]}")
    assert read(text)[0] == value
    with pytest.raises(ValueError, match="line 1"):
        read(text, cut=True)


@given(ANYTHING.map("".join), st.booleans())
def test_anything_else_is_a_value_error(text: str, cut: bool) -> None:
    try:
        _, end = read(text, cut=cut)
    except ValueError:
        return
    assert 0 < end <= len(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ("{'a': [1, 2,], 'b': True,}", {"a": [1, 2], "b": True}),
        ('{"a": {"b": None}', {"a": {"b": None}}),
        ("{'say': 'it\\'s \"so\"'}", {"say": 'it\'s "so"'}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": {"b": 1} and then', None),
        ('{"a": "never closed', None),
        ('{"a": un quoted}', None),
        ("{a: 1}", None),
        ('{"a": f(1)}', None),
        ("[" * 200_000, None),
        ('{"a": ' + "1" * 5_000 + "}", None),
        ("", None),
    ],
)
def test_what_is_mended_and_what_is_not(text: str, value: Any) -> None:
    if value is None:
        with pytest.raises(ValueError, match=r"."):
            read(text)
    else:
        assert read(text) == (value, len(text))


@pytest.mark.parametrize("end", ["</tool_call>", "```"])
def test_brackets_that_are_missing_at_the_end_of_the_call_are_put_there(end: str) -> None:
    assert read('{"a": [1' + end) == ({"a": [1]}, 8)
