"""tidy: JSON comes back exactly from its table, other text says what went, and the prefix never changes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import Story, budget, calls_of
from tests.support.read_back import exact, untidied
from tests.support.records import PRINTED, RECORDS
from thimble.agent.messages import Message
from thimble.agent.view import prepare
from thimble.strategies.compression import json_table, terminal_text
from thimble.strategies.compression.json_table import find_json
from thimble.strategies.tidy import Tidy


@given(st.text(alphabet='[]{}",:1 \n\\ab', max_size=40))
def test_any_text_is_read_or_left_alone(text: str) -> None:
    it = find_json(text)
    if it:
        assert it.before + it.json + it.after == text
        assert exact(it.minified[len(it.before) : len(it.minified) - len(it.after)]) == exact(it.json)


ISSUES = [
    {"number": n, "title": f"Cache {n} is lost, and slow", "state": "open", "by": {"login": "ann"}} for n in range(9)
]


def test_how_a_table_reads() -> None:
    it = find_json("Found 9:\n```json\n" + json.dumps({"total": 9, "items": ISSUES}, indent=1) + "\n```\nMore: page 2")
    assert it
    assert it.table
    assert it.table.split("\n")[:6] == [
        "Found 9:",
        "```json",
        json_table.TABLES_HEAD.format(11, json_table.TEMPLATES),
        "total: 9",
        "items, 9 rows: number|title=Cache {number} is lost, and slow|state=open|by{login=ann}",
        "0",
    ]
    assert it.table.endswith("\n```\nMore: page 2")


@pytest.mark.parametrize("text", ['[{"a": 1, "a": 2}]', "[NaN]", "[" * 100_000, "[" * 70 + "]" * 70, "[masked: 3]"])
def test_text_that_is_not_json_or_too_deep_is_left_alone(text: str) -> None:
    assert find_json(text) is None


def test_colours_bars_and_repeats_go_from_the_text_of_a_terminal() -> None:
    text = "\x1b[1;31mred\x1b[0m\x1b[K\n 10% [#   ]\r 50% [##  ]\r100% [####]\r\n" + "same  \n" * 40 + "QUJD1a+/" * 100
    shown, went = terminal_text.tidy_terminal_text(text)
    assert shown == f"red\n100% [####]\r\n[40 times] same  \n{'QUJD1a+/' * 100}"
    assert went == {"terminal sequence": 3, "redrawn line": 2, "repeated line": 39}


CR_ROWS = "\r".join(f"pupil {n},{n}%" for n in range(46))


@pytest.mark.parametrize(
    "text",
    [
        *("row0 \x1b[3C val0\n" * 9, "10 \x1b[10G 70\n" * 9, "one\x1bEtwo\n" * 9, "\x1b]0;title\x07" + "a\n" * 9),
        *("a\x08b\n" * 9, "a\x0bb\n" * 9, "a\x0cb\n" * 9, "a\x85b\n" * 9, "\x1b[31m" * 9 + "\x1b[2A"),
        *(CR_ROWS, "40%\r50%", "50% [##  ]\r40% [#   ]", "40% [#   ] of all\r50% [##  ]", "end   \n" * 3),
        *("[5 times] a\n" * 5, "\x1b[m[left out: 1 redrawn line]\n" + "a\n" * 5),
    ],
)
def test_other_terminal_text_stays(text: str) -> None:
    assert terminal_text.tidy_terminal_text(text) == (text, {})


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
        "\r".join(f"{n}% [####]" for n in range(99)) + "\nready\n" * 9,
        "word " * 99,
    )
    assert "9 rows: " in table.content
    assert minified.content == '{"a":[' + ",".join(map(str, range(99))) + "]}"
    assert text.content.startswith("[left out: 98 redrawn lines]\n")
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
    it = find_json(text)
    assert it
    assert it.table
    assert len(it.table) < 0.55 * len(text)
    assert untidied(it.table, rewritten=True).value == exact(text)
