"""search_hits: each hit names its file, however the search writes it; a text with numbered lines is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.kinds.search_hits import SEARCH_HITS

FILES = st.lists(
    st.sampled_from(["agent/loop.py", "README.md", "./a/b-2/c_d.test.ts", "src/2026-11.log"]), min_size=1, unique=True
)
NUMBERS = st.lists(st.integers(1, 9_999), min_size=3, max_size=9, unique=True).map(sorted)
TEXTS = st.sampled_from(["def run():", "    return 3", "x: y", "12:30", "# words of a sentence", "a/b:3"])


@given(FILES, NUMBERS, TEXTS)
def test_a_hit_with_its_file(files: list[str], numbers: list[int], text: str) -> None:
    hits = [(file, number) for file in files for number in numbers]
    units = SEARCH_HITS.units("".join(f"{file}:{number}:{text}\n" for file, number in hits)) or []
    assert [(unit.shape, unit.cells) for unit in units] == [("hit", (file, text.strip())) for file, _ in hits]
    firsts = [unit.weight for unit in units[:: len(numbers)]]
    assert min(firsts) > max(unit.weight for unit in units[1 : len(numbers)])


@given(FILES, NUMBERS, TEXTS)
def test_hits_below_the_name_of_their_file(files: list[str], numbers: list[int], text: str) -> None:
    hits = "\n".join(f"{file}\n" + "".join(f"{number}:{text}\n" for number in numbers) for file in files)
    units = SEARCH_HITS.units(hits) or []
    assert [unit.cells[0] for unit in units if unit.shape == "hit"] == [file for file in files for _ in numbers]
    assert [unit.cells for unit in units if unit.shape == "file"] == [(file,) for file in files]


def test_lines_near_a_hit_weigh_less() -> None:
    text = "".join(f"a/b.py-{n}-before\na/b.py:{n + 1}:hit\na/b.py-{n + 2}-after\n--\n" for n in range(1, 40, 10))
    units = SEARCH_HITS.units(text) or []
    assert [unit.shape for unit in units[:3]] == ["near", "hit", "near"]
    assert max(units[0].weight, units[3].weight) < min(unit.weight for unit in units if unit.shape == "hit")


def test_a_count_of_each_file_is_a_number() -> None:
    units = SEARCH_HITS.units("".join(f"a/{n}.py:{n}\n" for n in range(9))) or []
    assert [unit.cells for unit in units] == [(f"a/{n}.py", str(n)) for n in range(9)]


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{n}:words of line {n}\n" for n in range(1, 30)),
        "".join(f"{n}-{n + 7}: a\n" for n in range(30)),
        "".join(f"https://a.org/{n}:8080/x\n" for n in range(30)),
        "".join(f"name{n}: value\n" for n in range(30)),
        "06:30: tea\n08:00: work\n07:00: sleep\n",
        "A sentence.\nAnother one: with a colon.\nA third a/b: it is.\n",
        "name: x\non: push\njobs:\n  build: y\n",
    ],
    ids=["numbered", "ranges", "addresses", "settings", "times", "prose", "yaml"],
)
def test_other_lines_are_no_hits(text: str) -> None:
    assert SEARCH_HITS.units(text) is None
