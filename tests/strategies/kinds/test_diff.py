"""diff: units joined are the text; changed lines weigh more than the lines around them, whatever they look like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.kinds.diff import units
from tests.support.hostile_texts import HOSTILE, TEXTS

CONTENTS = st.sampled_from(
    ["", "x", "- a", "-- /old", "++ /new", "@@ -1 +1 @@", "diff --git a/x b/x", "index 1..2", "+", "é"]
)
HUNKS = st.lists(st.lists(st.tuples(st.sampled_from(" +-"), CONTENTS), min_size=1, max_size=8), min_size=1, max_size=3)
RENAMED = "diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n"
MODE = "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
BINARY = (
    "diff --git a/logo.png b/logo.png\nindex 172add6..395f0aa 100644\nBinary files a/logo.png and b/logo.png differ\n"
)
PLAIN = "--- old.txt\t2026-01-01\n+++ new.txt\t2026-01-02\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n"


def hunk(lines: list[tuple[str, str]]) -> str:
    old, new = (sum(sign != other for sign, _ in lines) for other in "+-")
    return f"@@ -1,{old} +1,{new} @@ def f\n" + "".join(f"{sign}{content}\n" for sign, content in lines)


@pytest.mark.parametrize("name", HOSTILE)
def test_units_of_a_hostile_text_joined_are_the_text(name: str) -> None:
    text = f"diff --git a/x b/x\n{HOSTILE[name]}"
    assert "".join(unit.text for unit in units(text) or ()) in (text, "")


@given(TEXTS)
def test_units_joined_are_the_text(text: str) -> None:
    found = units(text)
    assert found is None or "".join(unit.text for unit in found) == text


@given(HUNKS)
def test_the_head_of_a_hunk_says_which_lines_are_in_it(hunks: list[list[tuple[str, str]]]) -> None:
    text = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n" + "".join(map(hunk, hunks))
    name, *others = units(text) or []
    assert "".join(unit.text for unit in (name, *others)) == text
    found = iter(others[3:])
    for lines in hunks:
        assert 0 < next(found).weight < name.weight
        assert [next(found).weight == 0 for _ in lines] == [sign != " " for sign, _ in lines]
    assert not list(found)


@pytest.mark.parametrize(
    ("text", "heavy"),
    [
        (RENAMED, ["diff --git a/old b/new\n", "rename from old\n", "rename to new\n"]),
        (MODE, MODE.splitlines(keepends=True)),
        (BINARY, [BINARY.splitlines(keepends=True)[0], BINARY.splitlines(keepends=True)[2]]),
        (PLAIN, PLAIN.splitlines(keepends=True)[:3]),
    ],
)
def test_the_name_of_a_file_and_what_became_of_it_weigh(text: str, heavy: list[str]) -> None:
    assert [unit.text for unit in units(f"commit 1\n\n{text * 3}") or [] if unit.weight > 0] == heavy * 3


def test_two_parents() -> None:
    text = "diff --cc x\nindex 1,2..0\n--- a/x\n+++ b/x\n@@@ -1,2 -1,2 +1,4 @@@\n  a\n++<<<\n +B\n+ b\nend\n"
    weights = [unit.weight for unit in units(text) or []]
    assert weights[5:] == [weights[2], 0, 0, 0, 0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- one\n- two\n+ three\n",
        " README.md | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n",
        "Title\n---\ntext\n+++ more\n@@ at\n",
        "A page about diffs.\n" + "It shows one.\n" * 20 + PLAIN,
    ],
)
def test_no_diff(text: str) -> None:
    assert units(text) is None
