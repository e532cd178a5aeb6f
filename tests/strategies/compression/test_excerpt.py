"""excerpt: in the promised size, in order, nothing counted wrongly, and what stands out stays."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.hostile_texts import HOSTILE, TEXTS
from thimble.strategies.compression.excerpt import make_excerpt, rank_units, value_bits
from thimble.strategies.compression.unit import lines_of

HEAD = re.compile(r"\[([\d,]+) of ([\d,]+) (?:lines|rows)\]\n")
GAP = re.compile(r"\[([\d,]+) left out\]\n?")
PYTHON = sys.executable
COMMANDS = {
    "df -a": "rows",
    "ps aux": "rows",
    f"{PYTHON} -c \"print('id,name,size'); [print(f'{{n}},row {{n}},{{n * 37 % 11}}') for n in range(30)]\"": "rows",
    f"{PYTHON} -c \"import json; print(json.dumps([{{'id': n}} for n in range(9)], indent=1))\"": "JSON records",
    "find tests/strategies": "lines",
    "cat pyproject.toml": "lines",
    "cat README.md": None,
}


@given(TEXTS, st.integers(300, 4_000))
def test_an_excerpt_is_as_short_as_asked(text: str, most: int) -> None:
    short = make_excerpt(text, most)
    assert len(short) <= most
    assert short == text or len(text) > most
    assert short == make_excerpt(text, most)


@given(st.lists(st.integers(0, 10**6), min_size=30, max_size=200), st.integers(400, 2_000))
def test_lines_stay_in_their_order_and_each_one_is_counted(numbers: list[int], most: int) -> None:
    lines = [f"row {number} width {number % 7} ok\n" for number in numbers]
    text = "".join(lines)
    assume(len(text) > most)
    head, *rest = lines_of(make_excerpt(text, most))
    stated = HEAD.fullmatch(head)
    assert stated
    place = 0
    for line in rest:
        if gap := GAP.fullmatch(line):
            place += int(gap[1].replace(",", ""))
        else:
            assert line == lines[place]
            place += 1
    assert place == len(lines) == int(stated[2].replace(",", ""))
    assert sum(not GAP.fullmatch(line) for line in rest) == int(stated[1].replace(",", ""))
    assert rest[0] == lines[0]
    assert rest[-1] == lines[-1]


def requests(count: int, **odd: str) -> list[str]:
    """Lines of a server that differ in the number of a request and in milliseconds; `odd` goes into the last one."""
    lines = [f"worker{n % 3} GET /page/{7_919 * n} status 200 in {20 + 13 * n % 17} ms\n" for n in range(count)]
    for old, new in odd.items():
        lines[-1] = re.sub(old, new, lines[-1])
    return lines


@pytest.mark.parametrize(
    "odd", [{"200": "503"}, {r"in \d+": "in 9417"}, {"GET": "DELETE"}, {"worker.*": "disk is nearly full"}]
)
@given(count=st.integers(60, 300), place=st.floats(0, 1))
def test_the_line_that_differs_stays(odd: dict[str, str], count: int, place: float) -> None:
    *lines, special = requests(count, **odd)
    lines.insert(int(place * len(lines)), special)
    assert special in make_excerpt("".join(lines), 800)


def test_of_many_lines_one_of_each_shape_stays() -> None:
    lines = [f"ERROR {n}: cannot open file {n}\n" for n in range(500)]
    lines[200:200] = [f"ERROR {n}: no space on device {n}\n" for n in range(30)]
    short = make_excerpt("".join(lines), 600)
    assert "cannot open" in short
    assert "no space" in short


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=60))
def test_surprises_are_the_excess_over_the_entropy(values: list[str]) -> None:
    bits = value_bits(values)
    assert all(one >= 0 for one in bits)
    if len(set(values)) == 1:
        assert not any(bits)
    rarest = min(values, key=values.count)
    assert bits[values.index(rarest)] == max(bits)


@given(TEXTS | st.sampled_from(list(HOSTILE.values())))
def test_units_joined_are_the_text(text: str) -> None:
    its = rank_units(text) if text else None
    assert not its or its.noun == "JSON records" or "".join(unit.text for unit in its.units) == text


@pytest.mark.parametrize(("command", "noun"), COMMANDS.items())
def test_units_are_what_a_command_prints(command: str, noun: str | None) -> None:
    root = Path(__file__).parents[3]
    its = rank_units(
        subprocess.run(command, shell=True, cwd=root, stdout=subprocess.PIPE, check=False, text=True).stdout
    )
    assert (its.noun if its else None) == noun


@pytest.mark.parametrize(
    "text",
    [
        *("x" * 1_000_000, "x " * 20_000, "\n" * 50_000, "[" * 300_000, "<" * 300_000, '{"a":' * 100_000),
        *("é1," * 50_000, "a |" * 20_000, "a/" * 20_000, "    at " * 20_000, '="\\' * 20_000, "1-" * 20_000),
    ],
    ids=lambda text: text[:7],
)
def test_no_text_makes_it_fail_or_wait(text: str) -> None:
    assert len(make_excerpt(text, 2_000)) <= 2_000
