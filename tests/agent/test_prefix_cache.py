"""The prefix cache: what a server can still hold, against a server written apart; and what seconds say of that."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import TinyCounter
from thimble.agent.messages import Message
from thimble.agent.prefix_cache import (
    LEAST_CALLS,
    MAX_SAVED_PROMPTS,
    PrefixCache,
    Timed,
    seconds_agree,
    seconds_per_token,
)
from thimble.agent.protocols import ModelId

ONE, OTHER = ModelId("server", "one"), ModelId("server", "other")
TOOLS = {"name": "read"}
COUNTER = TinyCounter()


def prompt(letters: Sequence[str]) -> list[Message]:
    """A prompt of one message a letter; a later letter has more tokens."""
    return [Message(f"{at}", "user", letter * 40 * (ord(letter) - 96)) for at, letter in enumerate(letters)]


def tokens(letters: Sequence[str]) -> int:
    return sum(map(COUNTER.count, prompt(letters)))


class Server:
    """A llama-server with one slot a model: prompts are strings, in which a letter weighs as many tokens as it has."""

    def __init__(self) -> None:
        self.slots: dict[object, str] = {}
        self.cache: dict[object, list[str]] = {}

    def reads(self, kind: object, new: str) -> str:
        """The beginning of the new prompt that it has in its slot when it begins to compute."""
        slot, cache = self.slots.get(kind), self.cache.setdefault(kind, [])
        if slot is not None and self.share(slot, new) < 0.5:
            cache.append(slot)
            best = slot
            for one in [*cache]:
                likelier = self.share(one, new) > self.share(best, new) and self.share(one, new) >= 0.25
                if likelier and len(begins(one, new)) > len(begins(best, new)):
                    best = one
            if best != slot:
                cache.remove(best)
            slot = best
        self.slots[kind] = new
        return begins(slot, new) if slot else ""

    def share(self, old: str, new: str) -> float:
        """The share of an old prompt that is left of it."""
        kept = begins(old, new)
        return (self.overhead + tokens(kept)) / (self.overhead + tokens(old)) if kept else 0.0

    overhead = COUNTER.overhead([])


def begins(old: str, new: str) -> str:
    return next(new[:end] for end in range(len(new), -1, -1) if old.startswith(new[:end]))


@given(st.lists(st.tuples(st.sampled_from([ONE, OTHER]), st.text("abcd", max_size=6)), max_size=MAX_SAVED_PROMPTS + 1))
def test_cached_is_what_a_llama_server_has_in_its_slot(calls: list[tuple[ModelId, str]]) -> None:
    cache, server = PrefixCache(), Server()
    for model, letters in calls:
        had = server.reads(model, letters)
        known = cache.count_cached(model, [], COUNTER, prompt(letters))
        assert cache.read(model, [], prompt(letters), COUNTER) == (COUNTER.overhead([]) + tokens(had) if had else 0)
        assert (known or 0) == len(had)


@given(st.text("abcd", min_size=2, max_size=30), st.integers(0, MAX_SAVED_PROMPTS - 1))
def test_side_calls_cost_a_conversation_nothing(letters: str, sides: int) -> None:
    cache = PrefixCache()
    for length in range(1, len(letters) + 1):
        cached = cache.read(ONE, [TOOLS], prompt(letters[:length]), COUNTER)
        before = COUNTER.overhead([TOOLS]) + tokens(letters[: length - 1]) if length > 1 else 0
        assert cached == before
    for side in range(sides):
        assert cache.read(ONE, [], [Message("s", "user", f"sum up {side}")], COUNTER) == 0
    assert cache.read(ONE, [TOOLS], prompt(letters), COUNTER) == COUNTER.overhead([TOOLS]) + tokens(letters)


@given(st.text("abcd", min_size=1, max_size=6))
def test_another_model_or_other_tools_share_nothing(letters: str) -> None:
    cache = PrefixCache()
    cache.read(ONE, [TOOLS], prompt(letters), COUNTER)
    assert cache.count_cached(OTHER, [TOOLS], COUNTER, prompt(letters)) is None
    assert cache.read(OTHER, [TOOLS], prompt(letters), COUNTER) == 0
    assert cache.read(ONE, [], prompt(letters), COUNTER) == 0


@given(st.lists(st.text("abcd", max_size=6), min_size=1, max_size=MAX_SAVED_PROMPTS + 1), st.text("abcd", max_size=6))
def test_without_a_slot_the_longest_prefix_counts_until_the_model_is_forgotten(held: list[str], new: str) -> None:
    cache = PrefixCache(slot=False)
    for letters in held:
        cache.read(ONE, [], prompt(letters), COUNTER)
    assert cache.count_cached(ONE, [], COUNTER, prompt(new)) == max(len(begins(letters, new)) for letters in held)
    cache.forget(ONE)
    assert cache.count_cached(ONE, [], COUNTER, prompt(new)) is None


# --- seconds ----------------------------------------------------------------------------------------------------------


@st.composite
def timed_sessions(draw: st.DrawFn) -> tuple[float, list[Timed]]:
    """A rate in seconds a token, and calls of a growing conversation at that rate, up to 20% off."""
    rate = draw(st.floats(1e-5, 1e-2))
    chance = random.Random(draw(st.integers(0, 999)))
    size, calls = 0, []
    for _ in range(draw(st.integers(LEAST_CALLS + 1, 30))):
        new = chance.randint(50, 2_000)
        size += new
        calls.append(Timed(new, size, rate * new * chance.uniform(0.8, 1.2)))
    return rate, calls


@given(timed_sessions())
def test_seconds_speak_for_what_was_computed(session: tuple[float, list[Timed]]) -> None:
    rate, calls = session
    assert rate / 2.5 <= seconds_per_token(calls) <= rate * 2.5
    assert seconds_agree(calls[-1], calls[:-1])


@given(timed_sessions(), st.integers(0, 2))
def test_a_lost_cache_is_seen_and_a_few_do_not_move_the_rate(session: tuple[float, list[Timed]], lost: int) -> None:
    rate, calls = session
    for at in range(lost):
        place = 1 + at * 2
        if len(calls) > 6:
            calls[place] = Timed(calls[place].computed, calls[place].prompt, rate * calls[place].prompt)
    whole = Timed(100, 20_000, rate * 20_000)
    assert not seconds_agree(whole, calls)
    assert seconds_agree(Timed(20_000, 20_000, rate * 20_000), calls)


@given(timed_sessions())
def test_a_server_that_held_more_than_we_know_is_seen(session: tuple[float, list[Timed]]) -> None:
    rate, calls = session
    assert not seconds_agree(Timed(20_000, 20_000, rate * 100), calls)


@given(timed_sessions(), st.floats(1e-9, 1e9))
def test_the_unit_of_time_does_not_matter(session: tuple[float, list[Timed]], unit: float) -> None:
    _, calls = session
    scaled = [Timed(one.computed, one.prompt, one.seconds * unit) for one in calls]
    assert seconds_per_token(scaled) == pytest.approx(seconds_per_token(calls) * unit)


def test_few_calls_say_nothing() -> None:
    assert seconds_agree(Timed(1, 9_000, 99.0), [Timed(1_000, 1_000, 1.0)] * (LEAST_CALLS - 1))


def test_a_token_of_a_prompt_takes_at_most_as_long_as_one_that_is_written() -> None:
    """A first question asked again on two cores: 1,449 tokens were computed of which none was expected to be."""
    assert not seconds_agree(Timed(1, 1_633, 34.9, wrote=0.08), [])
    assert seconds_agree(Timed(1_449, 1_633, 34.9, wrote=0.08), [])
    assert seconds_agree(Timed(1, 1_633, 0.1, wrote=0.08), [])


OLLAMA = [
    Timed(3_508, 3_508, 10.273),
    Timed(1, 3_508, 0.024),
    Timed(2_708, 2_708, 7.410),
    Timed(1, 3_508, 0.025),
    Timed(1, 2_708, 0.020),
    Timed(627, 4_135, 2.813),
    Timed(60, 3_535, 0.223),
    Timed(660, 4_135, 2.658),
]
"""Prompts A, A, B, A, B, A grown, A with a message masked, A unmasked, as Ollama 0.33.0-rc2 took its time for them."""


@pytest.mark.parametrize("place", range(LEAST_CALLS, len(OLLAMA)))
def test_the_seconds_of_a_real_ollama_agree(place: int) -> None:
    assert seconds_agree(OLLAMA[place], OLLAMA[:place])


def test_the_seconds_of_a_real_ollama_tell_an_edit_and_a_lost_prompt() -> None:
    assert not seconds_agree(Timed(1, 4_135, 2.658), OLLAMA[:7])
    assert not seconds_agree(Timed(1, 3_508, 10.273), OLLAMA[:5])
    assert not seconds_agree(Timed(3_508, 3_508, 0.024), OLLAMA[:5])
