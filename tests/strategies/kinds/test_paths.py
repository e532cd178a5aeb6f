"""paths: find, git ls-files and ls -R are cut into paths that know their folder; words and encoded data are none."""

from __future__ import annotations

import base64

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from strategies.kinds.paths import PATHS

NAMES = st.sampled_from(["a", "b.py", "c d.txt", "e-2.tar.gz", ".f", "Makefile", "test_é.py"])


@given(
    st.lists(st.lists(NAMES, min_size=2, max_size=4), min_size=3, max_size=30), st.sampled_from(["", "./", "/", "~/"])
)
def test_a_path_knows_its_folder_and_its_ending(paths: list[list[str]], root: str) -> None:
    assume(root or all(parts[0] != "c d.txt" for parts in paths))
    units = PATHS.units("".join(f"{root}{'/'.join(parts)}\n" for parts in paths))
    assert units is not None
    for parts, unit in zip(paths, units, strict=True):
        assert unit.cells[0] == root + "/".join(parts[:-1])
        assert unit.cells[2] == parts[-1]


def test_names_stand_below_their_folder() -> None:
    text = ".:\na\nb.py\n\n./a:\nc.py\nd\n\n./a/d:\ne.py\n"
    units = PATHS.units(text) or []
    assert [unit.cells[:2] for unit in units if unit.shape == "path"] == [
        (".", "a"),
        (".", "py"),
        ("./a", "py"),
        ("./a", "d"),
        ("./a/d", "py"),
    ]
    assert [unit.cells[0] for unit in units if unit.shape == "folder"] == [".", "./a", "./a/d"]


@pytest.mark.parametrize(
    "text",
    [
        base64.encodebytes(bytes(range(256)) * 9).decode(),
        "words\nof/a sentence, that has\nand/or in it.\nAnd: more\n",
        "a:\n  b\nc:\n  d: 1\n",
        "https://a.org/b\n" * 9,
        "one\ntwo\nthree\n",
    ],
    ids=["base64", "prose", "yaml", "addresses", "words"],
)
def test_other_lines_are_no_paths(text: str) -> None:
    assert PATHS.units(text) is None
