"""Circles: laws of what is stopped and where, and that nothing else is; then whole exchanges with such a model."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.scripted_loop import agent, call, goes_on, observations, says, script
from thimble.agent.errors import RepetitionDetected
from thimble.agent.events import Answered, Replied, ReplyPiece
from thimble.agent.loop import run
from thimble.agent.protocols import Delta, Text, Thinking, Usage
from thimble.agent.reply import MAX_PASSAGE_CHARACTERS, MIN_REPEATED_CHARACTERS, REPETITION_ROUNDS, RepetitionGuard
from thimble.agent.side import SideModel

SENTENCE = "The quick brown fox jumps over the lazy dog again. "
LETTERS = st.text("ab \n", max_size=60)
SIZES = st.lists(st.integers(1, 700), min_size=1, max_size=30)


def kept(pieces: list[str]) -> str:
    circles = RepetitionGuard()
    return "".join(map(circles.feed, pieces))


def cut(text: str, sizes: list[int]) -> list[str]:
    pieces = []
    for size in chain(sizes, repeat(sizes[-1])):
        if not text:
            return pieces
        pieces, text = [*pieces, text[:size]], text[size:]
    return pieces


def ends_in_a_circle(text: str) -> bool:
    """By definition: it ends in so many equal rounds, or in as many as make up the least length."""
    rounds = range(1, min(MAX_PASSAGE_CHARACTERS, len(text) // REPETITION_ROUNDS) + 1)
    ends = ((text[-max(REPETITION_ROUNDS * length, MIN_REPEATED_CHARACTERS) :], length) for length in rounds)
    return len(text) >= MIN_REPEATED_CHARACTERS and any(end[length:] == end[:-length] for end, length in ends)


@given(LETTERS, st.text(min_size=1, max_size=MAX_PASSAGE_CHARACTERS))
def test_a_model_that_goes_on_and_on_is_stopped_after_a_few_rounds(before: str, said: str) -> None:
    circle = said * (REPETITION_ROUNDS + 1 + MIN_REPEATED_CHARACTERS // len(said))
    found = kept([before + circle])
    assert (before + circle).startswith(found)
    assert len(found) <= len(before) + max(REPETITION_ROUNDS * len(said), MIN_REPEATED_CHARACTERS)


@given(st.lists(st.tuples(st.text("ab \n", max_size=12), st.integers(1, 60)), max_size=6), SIZES)
def test_a_reply_is_stopped_at_the_first_circle_however_it_is_cut(
    said: list[tuple[str, int]], sizes: list[int]
) -> None:
    text = "".join(words * times for words, times in said)
    first = next((end for end in range(len(text) + 1) if ends_in_a_circle(text[:end])), len(text))
    assert kept(cut(text, sizes)) == kept([text]) == text[:first]


def test_no_article_goes_round_in_circles() -> None:
    for path in [*Path("thimble/corpus/articles").glob("*.md")][:12]:
        text = path.read_text(encoding="utf-8")
        assert kept([text]) == text, path


@pytest.mark.parametrize(
    "text",
    ["-" * 120, "|---" * 60, "0, " * 100, "na " * 60 + "Batman!", "Row, row, row your boat. " * 3, "1" + "0" * 100],
)
def test_text_that_people_ask_for_is_not_a_circle(text: str) -> None:
    assert kept([text]) == text


# --- whole exchanges --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Text, Thinking])
def test_the_reply_is_kept_up_to_there_and_no_more_of_it_is_read(kind: type[Text | Thinking]) -> None:
    read: list[str] = []

    class Endless(list[Delta]):
        def __iter__(self) -> Iterator[Delta]:
            while True:
                read.append(SENTENCE)
                yield kind(SENTENCE)

    session = agent(Endless())
    events = list(run(session, "?"))
    (replied,) = [event for event in events if isinstance(event, Replied)]
    whole = SENTENCE * len(read)
    assert len(read) < 12
    said = replied.message.content or replied.message.thinking
    assert said == "".join(event.text for event in events if isinstance(event, ReplyPiece)) == whole[: len(said)]
    assert (replied.stopped_by, replied.usage) == ("thimble", Usage())
    assert events[-1] == Answered(replied.message.content, "answered" if kind is Text else "thought")
    goes_on(session)


def test_a_reply_that_its_server_ended_is_kept_with_its_calls() -> None:
    session = agent([Text("I look. 1111"), call(1), RepetitionDetected()], says("Found."))
    events = list(run(session, "?"))
    first, second = [event for event in events if isinstance(event, Replied)]
    assert (first.stopped_by, second.stopped_by) == ("server", "")
    assert (first.message.content, observations(session)) == ("I look. 1111", ["text of a"])
    assert events[-1] == Answered("Found.", "answered")


@pytest.mark.parametrize("reply", [[Text(SENTENCE)] * 40, [Text("1" * 31), RepetitionDetected()]])
def test_a_strategy_that_asks_gets_no_answer_that_goes_round_in_circles(reply: list[Delta]) -> None:
    session = agent(reply)
    side = SideModel(session.backend)
    with pytest.raises(RepetitionDetected):
        side.ask(session.history, "summary", 200)
    assert [made.error for made in side.drain_events()] == [RepetitionDetected().what]
    assert script(session).open_streams == 0
