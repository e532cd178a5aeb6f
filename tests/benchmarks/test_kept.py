"""Sets that are kept: each fact stands in its output, and nothing else there can be taken for it."""

from __future__ import annotations

import re

import pytest

from benchmarks.planted.kept import KEPT, kept
from benchmarks.planted.output import stands


@pytest.mark.parametrize("name", KEPT)
def test_a_set_is_large_and_plain_facts_are_a_quarter(name: str) -> None:
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
def test_each_fact_stands_in_its_output_and_a_needle_is_a_short_plain_piece(name: str) -> None:
    for seed in range(3):
        for output in kept(name, seed):
            for fact in output.facts:
                assert stands(fact, output.text), (output.kind, fact)
                for needle in fact.needles:
                    assert 1 <= len(needle) <= 40
                    assert not re.search(r"[\"'`{},\n]|^ | $", needle), needle
