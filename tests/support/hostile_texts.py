"""Texts that no tool means to return: a law holds for each of them, and a quadratic search would not end."""

from __future__ import annotations

from hypothesis import strategies as st

SIZE = 30_000
HOSTILE = {
    "one word": "x" * SIZE,
    "one line": "a, b | c\t" * (SIZE // 9),
    "short lines": "a\n" * (SIZE // 2),
    "empty lines": "\n" * SIZE,
    "blanks": " " * SIZE,
    "deep lists": "[" * SIZE,
    "deep objects": '{"a":' * (SIZE // 5),
    "quotes": '"' * SIZE,
    "a quote never closed": 'a,b\n"c,d\n' + "e,f\n" * (SIZE // 4),
    "bars": "|" * SIZE,
    "rules": "|---|---|\n" * (SIZE // 10),
    "hunk heads": "@@ -1 +1 @@\n" * (SIZE // 12),
    "file heads": "--- a\n+++ b\n" * (SIZE // 12),
    "a hunk without an end": "--- a\n+++ b\n@@ -1,999999999 +1,999999999 @@\n" + "+x\n" * (SIZE // 3),
    "a wide head": "A  B " * (SIZE // 10) + "\n" + "1  2 \n" * (SIZE // 12),
    "a long string": '["' + "x" * SIZE + '"]',
    "many numbers": "[" + ", ".join(["1"] * (SIZE // 30)) + "]",
    "many names": "[{" + ", ".join(f'"{number}": 1' for number in range(SIZE // 30)) + "}, {}, {}]",
}
"""By name."""

LINES = st.lists(
    st.sampled_from(
        [
            *("", " ", "a", "a,b", '"a', 'b",c', "a;b;c", "a\tb\tc", "| a | b |", "|---|---|", "a | b", "---+---"),
            *("NAME  AGE", "a     1", "b    12", "----  ---", "=== ===", "a b c", "é  2", *"\x00\r\u2028\ud800"),
            *("diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -1,2 +1,2 @@", "@@@ -1 -1 +1 @@@", "+x", "-x", " x"),
            *("\\ No", "index 1..2", "rename from a", "Binary files a and b differ", "2 rows: a|b", "1|"),
            *("[1, 2]", '{"a": [{"b": 1}, {"b": 2}]}', "{"),
            "[2 lines of JSON as tables: name=value is in every row; an empty cell is a missing field]",
        ]
    ),
    max_size=12,
)
TEXTS = st.one_of(st.text(), LINES.map("\n".join), LINES.map("\r\n".join), st.text(alphabet='[]{}",:1a\n \\|-+@'))
"""Texts that look a little like those of some kind."""
