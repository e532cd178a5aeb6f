from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.repl.commands.probe.test_probe import QUESTIONS, reading
from tests.repl.screen.test_sanitise import NASTY
from tests.support.family import family
from tests.support.histories import outcome
from tests.support.sessions import ask, scripted
from thimble.agent.errors import ThimbleError
from thimble.agent.events import Prepared
from thimble.commands.guess import Guess, guess_of, parse_guess, parse_places
from thimble.repl.commands.predict import format_ranges, reveal_score
from thimble.strategies.table import STRATEGIES

PLACES = st.frozensets(st.integers(1, 60))


# ---- what is typed ----


@given(PLACES.filter(bool))
def test_ranges_are_read_as_they_are_written(numbers: frozenset[int]) -> None:
    assert parse_places(format_ranges(sorted(numbers)), 60) == numbers
    assert parse_places(format_ranges(sorted(numbers)).replace(",", " "), 60) == numbers
    assert all(int(after) > int(before) + 1 for before, after in pairwise(re.findall(r"\d+", format_ranges([1, 3, 9]))))


@given(st.one_of(NASTY, st.text("0123456789-, allnoe", max_size=12)), st.integers(1, 40))
def test_anything_else_is_a_usage_error_that_shows_the_form(text: str, most: int) -> None:
    found = outcome(lambda: parse_places(text, most))
    if isinstance(found, ThimbleError):
        assert "/predict 1-4 9 12" in found.fix
    else:
        assert found <= set(range(1, most + 1))


# ---- what is told ----


@pytest.mark.parametrize("name", family(STRATEGIES, "observation-masking", "hybrid"))
def test_a_guess_of_what_stayed_is_all_right_and_its_contrary_all_wrong(name: str) -> None:
    session = reading(name, asked=2)
    before = len(session.agent.history)
    guess = session.watchers["guess"] = parse_guess(session.agent.history, "all")
    views = [event.view for event in ask(session, QUESTIONS[2]) if isinstance(event, Prepared)]
    assert guess.view == views[0]
    stayed = {place for place in range(1, before + 1) if views[0].fates[place - 1] == "kept"}
    assert guess.stayed == stayed
    for stays, right in ((stayed, before), (set(range(1, before + 1)) - stayed, 0)):
        session.watchers["guess"] = Guess(guess.messages, frozenset(stays), views[0])
        assert f"Predicted: {right:,} of {before:,} right" in reveal_score(session)[0]


def test_it_waits_for_a_prompt_that_is_sent() -> None:
    session = scripted("One.", "Two.")
    ask(session)
    session.watchers["guess"] = parse_guess(session.agent.history, "all")
    session.agent.state.budget = 30
    with pytest.raises(Exception, match="tokens"):
        ask(session, "Too much?")
    assert reveal_score(session) == []
    assert guess_of(session)
    session.agent.state.budget = 8_000
    ask(session, "And?")
    assert reveal_score(session)
