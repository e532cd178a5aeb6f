"""tidy: JSON comes back exactly from its table, other text says what went, and the prefix never changes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import BudgetError
from agent.messages import Message
from agent.view import prepare
from strategies import json_table, terminal_text
from strategies.json_table import found
from strategies.tidy import Tidy, tidied
from tests.support import tables
from tests.support.histories import LIMITS, Story, budget, calls_of, is_faithful, is_sound, sound_histories
from tests.support.records import PRINTED, RECORDS
from tests.support.specs import build

NAMES = st.one_of(st.sampled_from(["a", "b", "c", "a.b", "x y", "", "é", "items", "3 rows: "]), st.text(max_size=3))
WORDS = st.one_of(
    st.sampled_from(
        ["", "x", "null", "true", "-1", "1.50", "007", "a|b", "a;b", "]", "}", "[", "{", '"', " x", "x ", "a\nb"]
    ),
    st.text(max_size=6),
)
NUMBERS = st.sampled_from(
    ["0", "-0", "1.50", "1e5", "-1E-07", "123456789012345678901234567890", "0.1000000000000000055"]
)


def written(value: Any) -> str:
    """JSON whose numbers are given as `Digits`."""
    if isinstance(value, tables.Digits):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)}: {written(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",\n ".join(map(written, value)) + "]"
    return json.dumps(value)


SCALARS = st.one_of(WORDS, NUMBERS.map(tables.Digits), st.none(), st.booleans())


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
        number = tables.Digits(n) if tables.NUMBER.fullmatch(n) and draw(st.booleans()) else n
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


@settings(max_examples=30)
@given(DOCUMENTS)
def test_a_table_has_the_whole_value_digit_by_digit(value: Any) -> None:
    text = written(value)
    it = found(text)
    assert it
    assert tables.exact(it.minified) == value
    if it.table:
        assert tables.read(it.table) == value


@given(st.text(alphabet='[]{}",:1 \n\\ab', max_size=40))
def test_any_text_is_read_or_left_alone(text: str) -> None:
    it = found(text)
    if it:
        assert it.before + it.json + it.after == text
        assert tables.exact(it.minified[len(it.before) : len(it.minified) - len(it.after)]) == tables.exact(it.json)


ISSUES = [
    {"number": n, "title": f"Cache {n} is lost, and slow", "state": "open", "by": {"login": "ann"}} for n in range(9)
]


def test_how_a_table_reads() -> None:
    it = found("Found 9:\n```json\n" + json.dumps({"total": 9, "items": ISSUES}, indent=1) + "\n```\nMore: page 2")
    assert it
    assert it.table
    assert it.table.split("\n")[:6] == [
        "Found 9:",
        "```json",
        json_table.HEAD.format(json_table.TEMPLATES),
        "total: 9",
        "items, 9 rows: number|title=Cache {number} is lost, and slow|state=open|by{login=ann}",
        "0",
    ]
    assert it.table.endswith("\n```\nMore: page 2")


def test_what_the_head_says_holds_in_every_row() -> None:
    pupils = [{"id": n, **({"note": "expelled on 3 May"} if n == 7 else {})} for n in range(12)]
    it = found(json.dumps(pupils))
    assert it
    assert it.table
    assert it.table.split("\n")[1::8] == ["12 rows: id|note", "7|expelled on 3 May"]


@pytest.mark.parametrize("text", ['[{"a": 1, "a": 2}]', "[NaN]", "[" * 100_000, "[" * 70 + "]" * 70, "[masked: 3]"])
def test_what_is_no_json_or_too_deep_is_left_alone(text: str) -> None:
    assert found(text) is None


def test_what_goes_from_the_text_of_a_terminal() -> None:
    text = "\x1b[1;31mred\x1b[0m\n10%\r50%\r100%\r\n" + "same\n" * 40 + "end   \n" + "QUJD1a+/" * 100
    shown, went = terminal_text.tidied(text)
    assert (
        shown
        == "red\n100%\nsame\n[the line above, 40 times in all]\nend\nQUJD1a+/QUJD1a+/[784 more characters of base64]"
    )
    assert sum(went.values()) == 48


def test_without_recall_nothing_goes_that_a_reader_could_miss() -> None:
    bar = "Reading  10% [#   ]\rReading  50% [##  ]\rReading 100% [####]\n"
    assert terminal_text.tidied(f"\x1b[32m{bar}", lossy=False)[0] == "Reading 100% [####]\n"
    title, old_ends, wall = "\x1b]0;the title\x07", "ann,3\rbob,5\rcem,7\n", "QUJD1a+/" * 100
    for text in (title, old_ends, wall):
        assert terminal_text.tidied(text, lossy=False) == (text, {})
        assert terminal_text.tidied(text)[0] != text


@given(st.text(alphabet="ab \n.é"), st.text())
def test_words_stay(plain: str, any_text: str) -> None:
    lines = [line.rstrip(" ") for line in plain.split("\n")]
    shown, _ = terminal_text.tidied(plain)
    again = re.sub(
        r"(?m)^(.*)\n\[the line above, ([\d,]+) times in all\]$",
        lambda m: "\n".join([m[1]] * int(m[2].replace(",", ""))),
        shown,
    )
    assert again.split("\n") == lines
    assert len(terminal_text.tidied(any_text)[0]) <= len(any_text) + 40 * any_text.count("\n")


def view(*results: str) -> list[Message]:
    story = Story().ask("?")
    for number, result in enumerate(results):
        story.turn(0)
        story.messages[-1] = Message(f"m{3 + 2 * number}r", "tool", result, call_id=f"c{number + 1}", name="sh")
    history = story.messages
    return [message for message in Tidy().prepare(history, budget(10**9)) if message.role == "tool"]


def test_the_smallest_form_is_taken_and_says_what_went() -> None:
    table, minified, text, same = view(
        json.dumps(ISSUES),
        json.dumps({"a": list(range(99))}, indent=2),
        "x" + "50%\r" * 99 + "ready  \n" * 9,
        "word " * 99,
    )
    assert table.content.startswith(tables.HEAD)
    assert minified.content == '{"a":[' + ",".join(map(str, range(99))) + "]}"
    assert text.content.startswith("[left out: 99 overwritten lines, ")
    assert 'recall(id="m7r") shows the original]\n' in text.content
    assert (same.content, same.why) == ("word " * 99, "")


def test_the_prefix_never_changes() -> None:
    story = Story().ask("?")
    for number in range(12):
        story.turn(0)
        content = json.dumps(ISSUES) if number % 2 else "line\n" * 90
        last = story.messages[-1]
        story.messages[-1] = Message(last.id, "tool", content, call_id=last.call_id, name=last.name)
    strategy, before = Tidy(), None
    for messages in calls_of(story.messages):
        before = prepare(messages, strategy, budget(), before)
        assert not before.edited
    assert [fate for fate in before.fates if fate != "kept"] == ["tidied"] * 12


HOSTILE = {
    "one line": "x" * 10**6,
    "short lines": "a\n" * 300_000,
    "blanks": " " * 10**6,
    "blanks inside": "a" + " " * 10**6 + "a",
    "returns": "\r" * 10**6,
    "escapes": "\x1b[" * 400_000,
    "titles": "\x1b]" * 400_000,
    "walls": ("a" * 61 + "\n") * 10_000,
    "wall": "aB3" * 300_000 + "!",
    "empty strings": '["' + '\\"' * 300_000,
    "ragged": json.dumps([{str(n): n} for n in range(3_000)]),
    "deep": json.dumps([{"a": 1}] * 9)[:-1] + ', {"a":' * 5_000,
    "tables": json.dumps([{"a": [{"b": [{"c": n}, {"c": 1}]}, {"b": []}]} for n in range(3_000)]),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_results_come_to_an_end(kind: str) -> None:
    assert len(view(HOSTILE[kind])) == 1


@pytest.mark.parametrize("kind", [*RECORDS, *PRINTED])
def test_lists_of_records_shrink_and_keep_every_fact(kind: str) -> None:
    text = json.dumps({**RECORDS, **PRINTED}[kind], indent=2)
    it = found(text)
    assert it
    assert it.table
    assert len(it.table) < 0.55 * len(text)
    assert tables.read(it.table) == tables.exact(text)


@pytest.mark.parametrize("spec", ["none", "sliding-window", "observation-masking", "offload", "dedup", "thrifty"])
@settings(max_examples=10)
@given(sound_histories(most_turns=12), LIMITS)
def test_a_strategy_under_the_setting_keeps_the_laws(spec: str, history: list[Message], limit: int) -> None:
    strategy, allowed, before = tidied(build(spec)), budget(limit, overhead=20), None
    for messages in calls_of(history):
        try:
            before = prepare(messages, strategy, allowed, before)
        except BudgetError:
            continue
        assert before.notes == ()
        assert is_sound(before.messages) == []
        assert is_faithful(before.messages, messages) == []
        assert before.tokens <= before.history_tokens
        assert before.tokens <= limit or spec == "none"
