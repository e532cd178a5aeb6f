"""Hardware: seconds against a sum over single tokens, the bound of CoMem against its own case study, and the fit."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.agent.ledger import Amount, Call
from thimble.agent.protocols import Usage
from thimble.models.hardware import HARDWARE, Hardware, fit_hardware, largest_ratio, largest_summary

MACHINES = st.builds(
    Hardware,
    prefill=st.floats(10, 1e5),
    token_seconds=st.floats(1e-4, 0.5),
    slope=st.floats(1e-8, 1e-4) | st.just(0.0),
    load_seconds=st.floats(0, 60),
)
TOKENS = st.integers(0, 50_000)
REPLIES = st.integers(1, 400)
SHAPES = st.lists(
    st.tuples(st.integers(100, 30_000), st.integers(1, 100), st.integers(8, 900)), min_size=3, max_size=20
)
"""Of calls: prompt tokens, the percentage of them that is computed, and output tokens."""


def decoded(on: Hardware, context: int, output: int) -> float:
    """Seconds of a reply, token by token, each at the context in its middle."""
    return math.fsum(on.token_seconds + on.slope * (context + written + 0.5) for written in range(output))


def made(on: Hardware, prompt: int, percent: int, output: int, noise: tuple[float, float] = (1, 1)) -> Call:
    """A call as this hardware would make it."""
    computed = max(1, prompt * percent // 100)
    usage = Usage(
        cached_tokens=prompt - computed,
        load_seconds=on.load_seconds,
        prefill_seconds=computed / on.prefill * noise[0],
        decode_seconds=decoded(on, prompt, output) * noise[1],
    )
    return Call(1, "answer", "none", 8000, Amount(prompt), Amount(prompt - computed), Amount(output), 1.0, usage=usage)


def is_told(shapes: list[tuple[int, int, int]]) -> bool:
    """Whether the contexts of these calls differ enough."""
    middles = [prompt + output / 2 for prompt, _, output in shapes]
    return max(middles) >= 1.5 * min(middles)


@given(MACHINES, TOKENS, REPLIES, REPLIES)
def test_a_reply_takes_the_seconds_of_its_tokens(on: Hardware, context: int, one: int, other: int) -> None:
    assert on.decode_seconds(context, one) == pytest.approx(decoded(on, context, one))
    in_a_row = on.decode_seconds(context, one) + on.decode_seconds(context + one, other)
    assert in_a_row == pytest.approx(on.decode_seconds(context, one + other))


@given(MACHINES, TOKENS, REPLIES, st.lists(st.integers(0, 30), min_size=1, max_size=9))
def test_the_pieces_of_a_reply_take_its_seconds(on: Hardware, context: int, output: int, letters: list[int]) -> None:
    pieces = on.piece_seconds(context, output, letters)
    assert len(pieces) == len(letters)
    assert min(pieces) >= 0
    assert sum(pieces) == pytest.approx(decoded(on, context, output))
    if sum(letters):
        assert all(seconds == 0 for seconds, size in zip(pieces, letters, strict=True) if not size)


@given(MACHINES, TOKENS, TOKENS)
def test_prefill_is_a_rate(on: Hardware, computed: int, more: int) -> None:
    assert on.prefill_seconds(computed) * on.prefill == pytest.approx(computed)
    assert on.prefill_seconds(0) == 0 <= on.prefill_seconds(computed) <= on.prefill_seconds(computed + more)


@given(MACHINES, TOKENS, REPLIES)
def test_below_the_bound_a_summary_pays_and_above_not(on: Hardware, full: int, output: int) -> None:
    bound, largest = largest_ratio(on, output) * full, largest_summary(on, full, output)

    def saves(summary: int) -> float:
        return decoded(on, full, output) - decoded(on, summary, output) - on.prefill_seconds(summary)

    assert 0 <= largest <= max(0, full - 1)
    assert bound - 1.001 <= largest <= bound
    if largest >= 2:
        assert saves(largest - 1) > 0
    assert saves(largest + 2) < 1e-6


def test_the_case_study_of_the_paper() -> None:
    """W = 2 TB/s, P = 3,000 tokens/s, S = 2e-4 GB, Y = 1,000: the paper says 0.23, and so do its numbers: 0.2308."""
    on = HARDWARE["a100-32b"]
    assert on.prefill == 3_000
    assert on.slope == pytest.approx(2e-4 / 2_000)
    assert largest_ratio(on, 1_000) == pytest.approx(600 / 2_600)
    assert round(largest_ratio(on, 1_000), 2) == 0.23
    assert largest_summary(on, 26_000, 1_000) == 5_999
    by_its_shape = Hardware(3_000, 0, 2 * 64 * 8 * 128 * 2 / 2e12)
    assert by_its_shape.slope * 2e12 * 65_536 == 16 * 2**30, "as section 2.2 says: 16 GB for 64K tokens"
    assert round(largest_ratio(by_its_shape, 1_000), 2) == 0.28


def test_no_summary_pays_where_context_costs_nothing() -> None:
    flat, at_once = Hardware(100, 0.1), Hardware(math.inf, 0.1, 1e-6)
    assert largest_ratio(flat, 1_000) == largest_summary(flat, 8_000, 1_000) == 0
    assert (largest_ratio(at_once, 1_000), largest_summary(at_once, 8_000, 1_000)) == (1, 7_999)


@given(MACHINES, SHAPES.filter(is_told))
def test_a_fit_finds_the_hardware_again(on: Hardware, shapes: list[tuple[int, int, int]]) -> None:
    found = fit_hardware(made(on, *shape) for shape in shapes)
    assert found is not None
    assert found.prefill == pytest.approx(on.prefill)
    assert found.slope == pytest.approx(on.slope, abs=1e-9)
    assert found.token_seconds == pytest.approx(on.token_seconds, abs=1e-6)
    assert found.load_seconds == on.load_seconds


@given(MACHINES, st.integers(0, 2**32))
def test_a_fit_stands_noise(on: Hardware, seed: int) -> None:
    """With 10 % of noise on the seconds of 24 calls, the rate is within 12 %, and a reply's seconds within 15 %.

    Of a reply whose context is at least a quarter of the longest one: where context costs much, less is not seen.
    """
    chance = random.Random(seed)
    shapes = [(chance.randint(500, 30_000), chance.randint(1, 100), chance.randint(8, 900)) for _ in range(24)]
    found = fit_hardware(made(on, *shape, (chance.uniform(0.9, 1.1), chance.uniform(0.9, 1.1))) for shape in shapes)
    assert found is not None
    assert found.prefill == pytest.approx(on.prefill, rel=0.12)
    assert found.slope >= 0 <= found.token_seconds
    for context in (8_000, 15_000, 30_000):
        assert found.decode_seconds(context, 300) == pytest.approx(decoded(on, context, 300), rel=0.15)


@given(MACHINES, st.integers(3, 30))
def test_a_fit_stands_lost_caches(on: Hardware, calls: int) -> None:
    """A fifth of the calls were computed as a whole, though the server reports no cached tokens and we expect some."""
    shapes = [(1_000 + 500 * at, 100 if at % 5 == 2 else 20, 50) for at in range(max(calls, 10))]
    found = fit_hardware(unreported(made(on, *shape)) for shape in shapes)
    assert found is not None
    assert found.prefill == pytest.approx(on.prefill)


def unreported(call: Call) -> Call:
    """The call where nobody told what was cached, and we believe that four fifths were."""
    prompt = call.prompt.tokens or 0
    shared = prompt - max(1, prompt * 20 // 100)
    return replace(call, cached=Amount(None), usage=replace(call.usage, cached_tokens=None), shared=shared)


def test_too_few_or_too_equal_calls_have_no_fit() -> None:
    on = HARDWARE["a100-32b"]
    calls = [made(on, prompt, 50, 100) for prompt in (1_000, 2_000, 4_000)]
    assert fit_hardware(calls) is not None
    assert fit_hardware(calls[:2]) is None, "two calls are too few"
    assert fit_hardware([made(on, prompt, 50, 100) for prompt in (1_000, 1_100, 1_200, 1_300)]) is None, (
        "too equal contexts"
    )
    assert fit_hardware([*calls[:2], made(on, 4_000, 50, 7)]) is None, "a reply of seven tokens says little"
    assert fit_hardware([*calls[:2], replace(calls[2], output=Amount(None))]) is None
    assert fit_hardware([*calls[:2], replace(calls[2], usage=Usage(decode_seconds=5.0))]) is None
    assert fit_hardware([]) is None
