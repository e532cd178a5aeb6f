"""The planted sets, made and kept: what they promise to whoever measures with them."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest

from benchmarks.planted.kept import KEPT, kept
from benchmarks.planted.made import MAKERS, outputs
from benchmarks.planted.output import Fact, Output, alone, marked, stands

SEEDS = range(3)
made = cache(outputs)


def facts(seed: int) -> list[tuple[Output, Fact]]:
    return [(output, fact) for output in made(seed) for fact in output.facts]


@pytest.mark.parametrize("seed", SEEDS)
def test_each_fact_stands_in_its_output_and_nothing_else_there_can_be_taken_for_it(seed: int) -> None:
    assert [fact for output, fact in facts(seed) if not alone(fact, output.text)] == []


@pytest.mark.parametrize("seed", SEEDS)
def test_a_needle_is_a_short_plain_piece_of_one_line(seed: int) -> None:
    for output, fact in facts(seed):
        lines = [" ".join(line.split()) for line in output.text.splitlines()]
        for needle in fact.needles:
            assert 0 < len(needle) <= 40
            assert not re.search(r'["{},\n]', needle)
            assert any(needle in line for line in lines), (output.kind, needle)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_set_is_large_and_about_a_quarter_is_plain(seed: int) -> None:
    kinds = [output.kind for output in made(seed)]
    plain = sum(fact.plain for _, fact in facts(seed))
    assert len(kinds) == len({*kinds}) == len(MAKERS) >= 12
    assert len(facts(seed)) >= 110
    assert 0.2 <= plain / len(facts(seed)) <= 0.35
    for output in made(seed):
        assert 2_500 <= len(output.text) <= 25_000, output.kind
        assert 8 <= len(output.facts) <= 13, output.kind
        assert len({fact.question for fact in output.facts}) == len(output.facts), output.kind
        assert json.loads(output.arguments)


def test_a_seed_always_makes_the_same_and_another_seed_makes_another_set() -> None:
    assert outputs(0) == made(0)
    texts = [output.text for seed in SEEDS for output in made(seed)]
    assert len({*texts}) == len(texts)
    asked = [(fact.question, fact.needles) for seed in SEEDS for _, fact in facts(seed)]
    assert len({*asked}) > 0.9 * len(asked)


def test_a_fact_is_seen_only_with_all_its_needles_and_blanks_do_not_count() -> None:
    fact = marked("Which disk, and where?", "dev sda", 4711)
    assert stands(fact, "I/O error,  dev\n sda, sector 4711")
    assert not stands(fact, "I/O error, dev sda, sector 471 1")
    assert not alone(fact, "dev sda, sector 4711; dev sda, sector 4711")


@pytest.mark.parametrize("name", KEPT)
def test_a_kept_set_is_large_and_plain_facts_are_a_quarter(name: str) -> None:
    outputs = [output for seed in range(3) for output in kept(name, seed)]
    facts = [fact for output in outputs for fact in output.facts]
    assert len({output.kind for output in outputs}) >= 12
    assert len(facts) >= 330
    assert 0.2 <= sum(fact.plain for fact in facts) / len(facts) <= 0.35
    assert len({output.text for output in outputs}) == len(outputs)
    for output in outputs:
        assert 2_500 <= len(output.text) <= 25_000, output.kind
        assert len({frozenset(fact.needles) for fact in output.facts}) == len(output.facts), output.kind
    assert kept(name, 3) == []


@pytest.mark.parametrize("name", KEPT)
def test_each_kept_fact_stands_in_its_output_and_a_needle_is_a_short_plain_piece(name: str) -> None:
    for seed in range(3):
        for output in kept(name, seed):
            for fact in output.facts:
                assert stands(fact, output.text), (output.kind, fact)
                for needle in fact.needles:
                    assert 1 <= len(needle) <= 40
                    assert not re.search(r"[\"'`{},\n]|^ | $", needle), needle
