from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.agent.protocols import Waiting
from thimble.models.wire.retry import Busy, after_seconds, retry_busy


def pauses(*tries: Busy | str, jitter: float = 0.0, left: float = 60.0) -> tuple[list[object], list[float]]:
    """The items of a question that goes so, and the pauses that are made."""
    told, slept, script = list[object](), list[float](), iter(tries)

    def ask() -> Iterator[str]:
        now = next(script)
        if isinstance(now, Busy):
            raise now
        yield now

    told += retry_busy(ask, slept.append, lambda: left, lambda: jitter)
    return told, slept


def test_the_pauses_before_the_next_tries_grow_and_are_told() -> None:
    told, slept = pauses(Busy("a"), Busy("b", state="the connection was lost"), Busy("c"), "an answer")
    assert slept == [0.5, 1, 2]
    assert told == [
        Waiting("the server is busy: again in 0.5 s", 0.5),
        Waiting("the connection was lost: again in 1.0 s", 1.0),
        Waiting("the server is busy: again in 2.0 s", 2.0),
        "an answer",
    ]
    with pytest.raises(Busy, match="the last word"):
        pauses(*map(Busy, "abc"), Busy("the last word"))


def test_many_clients_do_not_return_at_once() -> None:
    assert pauses(Busy("busy"), "ok", jitter=1.0)[1] == [0.625]


@pytest.mark.parametrize(("asked", "pause"), [(0.0, 0.5), (7.5, 7.5), (30.0, 30.0), (None, 0.5)])
def test_the_pause_is_as_long_as_the_server_asks_for(asked: float | None, pause: float) -> None:
    assert pauses(Busy("busy", after_seconds=asked), "ok")[1] == [pause]


@pytest.mark.parametrize(("asked", "left"), [(31.0, 60.0), (2.0, 1.0), (None, 0.4)])
def test_a_pause_that_is_too_long_is_not_made(asked: float | None, left: float) -> None:
    with pytest.raises(Busy):
        pauses(Busy("busy", after_seconds=asked), "ok", left=left)


@given(st.text())
def test_any_retry_after_is_a_pause_or_none(value: str) -> None:
    asked = after_seconds({"retry-after": value})
    assert asked is None or asked >= 0
