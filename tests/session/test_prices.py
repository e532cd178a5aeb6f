"""Prices: a card is read or refused with its range; an estimate recovers what the timings were made with."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.scripted_loop import agent, call, script
from thimble.agent.budget import Prices
from thimble.agent.errors import UsageError
from thimble.agent.ledger import Amount, Call
from thimble.agent.loop import run
from thimble.agent.protocols import ModelId, Text, Usage
from thimble.models.prices import MIN_CALLS, by_timings, fixed_card, read_prices

SECONDS = st.one_of(st.none(), st.floats(0, 1e6))
TOKENS = st.one_of(st.none(), st.integers(0, 10**6))


def timed(
    prompt: int | None,
    cached: int | None,
    output: int | None,
    prefill: float | None,
    decode: float | None,
    shared: int | None = None,
) -> Call:
    usage = Usage(prompt, cached, output, prefill_seconds=prefill, decode_seconds=decode)
    amounts = Amount(prompt), Amount(shared, exact=False) if cached is None else Amount(cached), Amount(output)
    return Call(1, "answer", "none", 8_000, *amounts, seconds=1.0, model=MODEL, usage=usage)


MODEL = ModelId("server", "model")


def estimated(calls: list[Call]) -> Prices:
    return by_timings(calls, MODEL)


def session(
    cached_price: float, output_price: float, noise: float = 0.0, calls: int = 12, reported: bool = True
) -> list[Call]:
    """Calls that grow by 500 tokens each and now and then start cold, on a server of a millisecond a token."""
    chance, made = random.Random(7), []
    for number in range(calls):
        prompt = 1_500 + 500 * number
        cached = 0 if number % 5 == 0 else prompt - 500
        prefill = 0.001 * (prompt - cached + cached_price * cached) * (1 + chance.uniform(-noise, noise))
        decode = 0.001 * output_price * 80 * (1 + chance.uniform(-noise, noise))
        made.append(timed(prompt, cached if reported else None, 80, prefill, decode, shared=cached))
    return made


@pytest.mark.parametrize("cached", [0.0, 0.03, 0.1, 0.4, 1.0])
@pytest.mark.parametrize("output", [0.5, 4.0, 40.0])
@pytest.mark.parametrize("reported", [True, False])
def test_an_estimate_recovers_the_prices(cached: float, output: float, reported: bool) -> None:
    exact = estimated(session(cached, output, reported=reported))
    assert (exact.cached, exact.output) == pytest.approx((cached, output), abs=1e-9)
    noisy = estimated(session(cached, output, noise=0.05, calls=30))
    assert noisy.cached == pytest.approx(cached, rel=0.1, abs=0.01)
    assert noisy.output == pytest.approx(output, rel=0.05)


CALLS = st.lists(st.builds(timed, TOKENS, TOKENS, TOKENS, SECONDS, SECONDS, TOKENS), max_size=12)


@given(CALLS)
def test_an_estimate_is_a_legal_card_whatever_the_timings(calls: list[Call]) -> None:
    card = estimated(calls)
    assert 0 <= card.cached <= 1
    assert 0 <= card.output <= 1000


@pytest.mark.parametrize("price", [-1.0, 3.0])
def test_a_price_that_makes_no_sense_is_held_to_its_range(price: float) -> None:
    calls = [timed(3_000, c, 80, max(1e-9, 0.001 * (3_000 - c + price * c)), 0.4) for c in (0, 500, 1_000, 1_400)]
    assert estimated(calls).cached == (0 if price < 0 else 1)


@pytest.mark.parametrize(
    "calls",
    [
        [],
        session(0.4, 9.0)[: MIN_CALLS - 1],
        [timed(1_000 * n, 0, 80, float(n), 1.0) for n in range(1, 9)],
        [timed(1_000 * n, 500 * n, 80, float(n), 1.0) for n in range(1, 9)],
        [timed(1_000 * n, 1_000 * n, 80, float(n), 1.0) for n in range(1, 9)],
        [timed(1_000 * n, 700, 80, None, 1.0) for n in range(1, 9)],
        [timed(1_000 * n, None, 80, 1.0, 1.0) for n in range(1, 9)],
    ],
    ids=["none", "few", "all cold", "one ratio", "all cached", "no timings", "cached not known"],
)
def test_few_or_degenerate_calls_leave_the_usual_card(calls: list[Call]) -> None:
    assert estimated(calls) == Prices()


def test_without_decode_times_an_output_token_has_its_usual_price() -> None:
    calls = [
        timed(one.prompt.tokens, one.cached.tokens, 80, one.usage.prefill_seconds, None) for one in session(0.3, 9)
    ]
    assert estimated(calls).cached == pytest.approx(0.3)
    assert estimated(calls).output == Prices().output


def test_the_budget_has_the_card_that_was_given_or_the_one_of_this_model() -> None:
    steps = [
        [
            call(n, arguments=f'{{"slug": "s{n}"}}'),
            Usage(prompt, cached, 10, prefill_seconds=0.001 * (prompt - 0.7 * cached), decode_seconds=0.07),
        ]
        for n, (prompt, cached) in enumerate([(1_000, 0), (1_500, 1_000), (2_000, 1_500), (2_500, 100)])
    ]
    one = agent(*steps, [Text("done"), Usage()])
    one.prices = by_timings
    assert one.budget([]).prices == Prices()
    list(run(one, "?"))
    assert one.budget([]).prices.cached == pytest.approx(0.3)
    assert one.budget([]).prices.output == pytest.approx(7)
    script(one).model = "another"
    assert one.budget([]).prices == Prices()
    one.prices = fixed_card(Prices(0.5, 1))
    assert one.budget([]).prices == Prices(0.5, 1)


# --- cards ------------------------------------------------------------------------------------------------------------


@given(st.floats(0, 1), st.floats(0, 1000))
def test_a_card_is_read_as_it_is_written(cached: float, output: float) -> None:
    assert read_prices(f" cached={cached}, output = {output} ") == Prices(cached, output)
    assert read_prices(f"output={output}") == Prices(output=output)
    assert read_prices(f"cached={cached}") == Prices(cached=cached)
    assert read_prices("") == Prices()


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("cached=2", "0 to 1,"),
        ("cached=-0.1", "0 to 1,"),
        ("cached=nan", "0 to 1,"),
        ("cached", "0 to 1,"),
        ("output=1001", "0 to 1000,"),
        ("output=a", "0 to 1000,"),
        ("cashed=0.1", "did you mean cached?"),
        ("0.1", "written cached=0.1,output=4"),
    ],
)
def test_what_is_no_card_is_refused_with_the_legal_range(text: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_prices(text)
    assert fix in caught.value.fix
