"""Texts as tools print them, put together to be nasty: JSON with any text around it, controls, bars, our own marks."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.support.read_back import Digits

NAMES = st.one_of(st.sampled_from(["a", "b", "c", "a.b", "x y", "", "é", "items", "3 rows: "]), st.text(max_size=3))
WORDS = st.one_of(
    st.sampled_from(
        ["", "x", "null", "true", "-1", "1.50", "007", "a|b", "a;b", "]", "}", "[", "{", '"', " x", "x ", "a\nb"]
    ),
    st.sampled_from(["4 times", "…", "\x1b[31m", "\x85", "\u2028", "2 rows: a", "]200"]),
    st.text(max_size=6),
)
NUMBERS = st.sampled_from(
    ["0", "-0", "1.50", "1e5", "-1E-07", "123456789012345678901234567890", "0.1000000000000000055"]
)
SCALARS = st.one_of(WORDS, NUMBERS.map(Digits), st.none(), st.booleans())


def written(value: Any, indent: str = "") -> str:
    """JSON whose numbers are given as `Digits`; with an indent, an entry a line."""
    inner, comma = ("\n" + indent, ",\n" + indent) if indent else ("", ", ")
    if isinstance(value, Digits):
        return value.text
    if isinstance(value, dict):
        return f"{{{inner}{comma.join(f'{json.dumps(name)}: {written(one, indent)}' for name, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{inner}{comma.join(written(one, indent) for one in value)}]"
    return json.dumps(value)


def lists_of_alike(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Objects with the same fields, or nearly."""
    fields = st.lists(NAMES, min_size=1, max_size=4, unique=True)
    return fields.flatmap(
        lambda names: st.lists(
            st.one_of(
                st.fixed_dictionaries({name: inner for name in names}),
                st.fixed_dictionaries({names[0]: inner}, optional={name: inner for name in names[1:]}),
            ),
            max_size=4,
        )
    )


@st.composite
def lists_of_templates(draw: st.DrawFn) -> list[Any]:
    """Objects whose texts share a beginning and an end, with each other or with another field."""
    around = st.sampled_from(
        ["", "https://example.org/", " of many words", "{", "}", "{n}", "{o}/{}", "|", "]", '"', "1", "é "]
    )
    edges = [draw(st.tuples(around, around)) for _ in range(2)]
    rows = []
    for _ in range(draw(st.integers(2, 4))):
        n = draw(st.sampled_from(["1", "10", "-2", "a", "", "1/10", "b c", "{o}"]))
        number = Digits(n) if n in ("1", "10", "-2") and draw(st.booleans()) else n
        other = draw(st.sampled_from(["x", "y", "null", "", "src/view.py", "]"]))
        row = {"n": number, "key": other, "m": edges[0][0] + n + edges[0][1], "o": edges[1][0] + other + edges[1][1]}
        kept = draw(st.sets(st.sampled_from(sorted(row)), max_size=1)) if draw(st.integers(0, 3)) == 0 else set()
        rows.append({name: value for name, value in row.items() if name not in kept} or {"n": "1"})
    return rows


def by_key(inner: st.SearchStrategy[list[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """The same rows under keys."""
    keys = st.lists(st.one_of(NAMES, WORDS), min_size=4, max_size=4, unique=True)
    return st.tuples(keys, inner).map(lambda both: dict(zip(*both, strict=False)))


VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(NAMES, inner, max_size=3),
        lists_of_alike(inner),
        by_key(lists_of_alike(inner)),
        lists_of_templates(),
    ),
    max_leaves=12,
)
DOCUMENTS = st.one_of(
    lists_of_alike(VALUES),
    st.dictionaries(NAMES, VALUES, max_size=3),
    lists_of_templates(),
    by_key(lists_of_templates()),
)
JSON = st.builds(written, DOCUMENTS, st.sampled_from(["", " ", "\t"]))
SHORT_JSON = [
    *('[{"a": "p"}, {"a": "q"}]', '[{"a": "p"}, {"a": "q r"}]', '{"x": {"a": 1}, "y": {"a": 2}, "z": {"b": 3}}'),
    *('[{"a": 1}, {"a": 2}', '[{"a": 1, "a": 2}]', "[NaN]", "[1,  2]", "{}", '[{"t": ["…"]}, {"t": ["left out: 1"]}]'),
]
MARKS = [
    "[left out: 1 redrawn line]",
    "[5 times] a",
    "[2 lines of JSON as tables: name=value is in every row; an empty cell is a missing field]",
    "[3 lines as above, from `line 3 of file 0, which is long`]",
    '[12 of 90 words; recall(id="m1") shows it]',
    "[… 300 tokens cut …]",
    "2 rows: a",
    "status: 200",
]


@st.composite
def bars(draw: st.DrawFn) -> str:
    """Drawings of a line one over another: a progress bar, or nearly."""
    shape = draw(
        st.sampled_from(
            ["{0:3}% [{1:5}]", "{0}%|{1:5}| {0}/100", "Objects: {0}% ({0}/100)", "{1} {0}%", "row {0}%", "{0}%", "{1}"]
        )
    )
    steps = draw(st.lists(st.integers(0, 100), min_size=1, max_size=6))
    steps = sorted(steps) if draw(st.booleans()) else steps
    between = draw(st.sampled_from(["\r", "\r", "\r\x1b[K", "\x1b[K\r", "\r\x1b[2K", "\r\r", "\r\x1b[31m"]))
    drawn = [shape.format(step, "#" * (step // 20)) for step in steps]
    end = draw(st.sampled_from(["", "\r", "\n", "\r\n", "\rdone", "\rdone, and more than before\n"]))
    return between.join(drawn) + end


ENDS = ["\n", "\n", "\n", "\r\n", "\r", "", " ", "\n\n\n\n\n", "\x0b", "\x0c", "\x85", "\u2028", "200"]
CONTROLS = [
    *("\x1b[31m", "\x1b[0m", "\x1b[m", "\x1b[1;31m", "\x1b(B", "\x1b[K", "\x1b[2K", "\x1b[3C", "\x1b[10G", "\x1bE"),
    *("\x1bD", "\x1b[1A", "\x1b[2J", "\x1b]0;title\x07", "\x1b]8;;x\x1b\\", "\x1b[", "\x1b", "\x9b31m", *"\b\x00\x7f"),
]
WORDS_OF_LINES = [
    *("", "a", "same", "ann 10%", "bob,20%", "  x\ty  ", "漢字", "e\u0301", "🙂", "10", "row0", "val0", " ", "\t")
]
PIECES = st.one_of(
    JSON,
    bars(),
    *map(st.sampled_from, (SHORT_JSON, MARKS, CONTROLS, CONTROLS[:6], WORDS_OF_LINES, WORDS_OF_LINES)),
    st.tuples(st.sampled_from(WORDS_OF_LINES), st.integers(2, 9)).map(lambda both: f"{both[0]}\n" * both[1]),
    st.text(max_size=8),
)
OUTPUTS = st.lists(st.tuples(PIECES, st.sampled_from(ENDS)), max_size=8).map(lambda parts: "".join(map("".join, parts)))
"""Whole outputs."""
