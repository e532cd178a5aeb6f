"""The held-out set: it promises what the planted set does."""

from __future__ import annotations

import re
from functools import cache

import pytest

from benchmarks.planted import held_out
from benchmarks.planted.output import stands

SEEDS = range(3)
outputs = cache(held_out.outputs)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_fact_stands_in_its_output_and_no_other_line_there_can_be_taken_for_it(seed: int) -> None:
    for output in outputs(seed):
        lines = [" ".join(line.split()) for line in output.text.splitlines()]
        for fact in output.facts:
            assert stands(fact, output.text), (output.kind, fact)
            places = [{at for at, line in enumerate(lines) if needle in line} for needle in fact.needles]
            assert len(set.intersection(*places)) == 1 or all(len(of_one) == 1 for of_one in places), (
                output.kind,
                fact,
            )


@pytest.mark.parametrize("seed", SEEDS)
def test_a_needle_is_a_short_plain_piece(seed: int) -> None:
    needles = [needle for output in outputs(seed) for fact in output.facts for needle in fact.needles]
    assert [one for one in needles if not 2 <= len(one) <= 40 or re.search(r"[\"'`{},\n]|^ | $", one)] == []


@pytest.mark.parametrize("seed", SEEDS)
def test_the_set_is_large_and_about_a_quarter_is_plain(seed: int) -> None:
    facts = [fact for output in outputs(seed) for fact in output.facts]
    assert len({output.kind for output in outputs(seed)}) >= 12
    assert len(facts) >= 110
    assert 0.2 <= sum(fact.plain for fact in facts) / len(facts) <= 0.35
    for output in outputs(seed):
        assert 2_500 <= len(output.text) <= 25_000, output.kind
        assert 8 <= len(output.facts) <= 12, output.kind
        assert len({frozenset(fact.needles) for fact in output.facts}) == len(output.facts), output.kind


def test_a_seed_always_makes_the_same_and_another_seed_makes_another_set() -> None:
    assert held_out.outputs(1) == outputs(1)
    texts = [output.text for seed in SEEDS for output in outputs(seed)]
    assert len({*texts}) == len(texts)
