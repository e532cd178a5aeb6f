"""numbered: the numbers of lines say nothing about the kind, and each unit is the unit of the text with its numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.planted import made
from strategies.kinds.kind import lines_of
from strategies.kinds.registry import recognised

BLAMES = ("1a2b3c4d5 (Ann Lee 2026-01-02 10:00:00 +0000 {:>3}) ", "^1a2b3c4 old/a.c {:>3}) ")
FORMS = ("{}: ", "{:6}\t", "{}:", "{:>4}  ", "{}|", *BLAMES)


def with_numbers(text: str, form: str, first: int = 1) -> str:
    return "".join(form.format(number) + line for number, line in enumerate(lines_of(text), first))


@pytest.mark.parametrize("form", FORMS)
def test_a_text_is_of_the_same_kind_with_numbers_and_its_units_are_the_same(form: str) -> None:
    for output in made.outputs(0):
        bare, units = recognised(output.text)
        if output.text.count("\n") < 3:
            continue
        text = with_numbers(output.text, form, 41)
        kind, found = recognised(f"a file · lines 41 on\n{text}")
        assert kind is bare, output.kind
        assert [unit.shape for unit in found[1:]] == [unit.shape for unit in units]
        assert "".join(unit.text for unit in found[1:]) == text


CODE = (
    "def load(rows, key):\n    for row in rows:\n        if row.key == key:\n            return row\n    return None\n"
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "id  name    size\n--  ------  ----\n" + "".join(f"{n:<2}  row {n:<2}  {n * 37}\n" for n in range(1, 30)),
            "table",
        ),
        (with_numbers(CODE * 2, "{}-").replace("3-", "3:"), "source code"),
        (with_numbers(CODE * 2, "{}:") + "The file has\nchanged.\n\n(Open: a.py)\n(In: /a)\n", "source code"),
    ],
    ids=["column of a table", "grep -C", "words behind"],
)
def test_what_a_number_means_is_seen_from_the_lines_around(text: str, kind: str) -> None:
    assert recognised(text)[0].name == kind


@given(st.lists(st.sampled_from(["1: a", "2: b", "3", "4: ", "5\tx", " 6  y", "-", "", "{", "7", "8: z"]), max_size=12))
def test_units_joined_are_the_text(lines: list[str]) -> None:
    for text in ("\n".join(lines), with_numbers("\n".join(lines), "{}: ")):
        assert "".join(unit.text for unit in recognised(text)[1]) == text
