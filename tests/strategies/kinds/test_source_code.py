"""source_code keeps signatures before bodies, in languages with braces, with indentation and with `end`."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from thimble.strategies.kinds.source_code import units

PYTHON = """\
# Copyright 2020 by nobody. Licence: none.
import json

LIMIT = 7


class Store:
    \"\"\"Rows.\"\"\"

    def load(self, key: str) -> str:
        for row in self.rows:
            if row.key == key:
                return row.text
        raise KeyError(key)

    def save(
        self,
        key: str,
    ) -> None:
        self.rows.append(key)
        self.dirty = True
"""
GO = """\
package store

import "fmt"

const limit = 7

type Store struct {
\trows []string
}

func (s *Store) Load(key string) string {
\tfor _, row := range s.rows {
\t\tif row == key {
\t\t\treturn row
\t\t}
\t}
\treturn fmt.Sprint(key)
}
"""
RUBY = """\
require 'json'

module Rows
  class Store
    def load(key)
      @rows.each do |row|
        return row if row.key == key
      end
    end

    def save(key)
      @rows.push(key)
      @dirty = true
    end
  end
end
"""
OUTLINES = [
    (PYTHON, ["class Store:", "def load(self, key: str) -> str:", "def save(\n", "import json", "LIMIT = 7"]),
    (GO, ["type Store struct {", "func (s *Store) Load(key string) string {", 'import "fmt"', "const limit = 7"]),
    (RUBY, ["module Rows", "class Store", "def load(key)", "def save(key)", "require 'json'"]),
]
PIECES = st.sampled_from(["def f(", "):", "{", "}", " ", "\t", "\n", "(", "x = 1;", "end", "/*", '"""', "#", "é"])


@pytest.mark.parametrize(("text", "outline"), OUTLINES)
def test_each_line_of_the_outline_weighs_more_than_each_line_of_a_body(text: str, outline: list[str]) -> None:
    found = units(text)
    assert found is not None
    kept = [unit.weight for unit in found if any(piece.strip() in unit.text for piece in outline)]
    bodies = [unit.weight for unit in found if any(word in unit.text for word in ("return", "raise", "dirty", "push"))]
    assert len(kept) == len(outline)
    assert min(kept) > max(bodies)


@pytest.mark.parametrize(
    "text",
    [
        "/usr/bin/store:\n" + "\tlibrow.so.1 => /usr/lib/librow.so.1\n" * 40 + "/usr/bin/rows:\n\tlibrow.so.1\n",
        "".join(f"  {n}  0.1 a.py:{n}\n" for n in range(90, 110)) + "Peak memory:\n\t3 GB\nAll calls:\n\t9\n" * 9,
        "2026-01-02 10:00:00 INFO started (pid 4)\n    at 12\n" * 40,
        "name,size\n  a,1\nb,2\n" * 40,
        "A page: it says\n  what (it) can; and for whom.\n" * 40,
        '{\n  "a": [\n    1,\n    2\n  ],\n  "b": "x"\n}\n' * 20,
        "total 12\ndrwxr-xr-x 2 a b 4096 Jan  2 x\n" * 40,
    ],
)
def test_other_texts_are_not_code(text: str) -> None:
    assert units(text) is None


@given(st.lists(PIECES, max_size=60).map("".join))
@example(PYTHON)
def test_units_joined_are_the_text(text: str) -> None:
    found = units(GO + text)
    assert found is not None
    assert "".join(unit.text for unit in found) == GO + text


@pytest.mark.parametrize("text", ["(" * 10**6, "{\n" * 10**5, "<" * 10**6, "f(\n" * 10**5, " " * 10**6, "def " * 10**5])
def test_hostile_texts_cost_linear_time(text: str) -> None:
    for whole in (text, GO + text):
        found = units(whole)
        assert found is None or "".join(unit.text for unit in found) == whole
