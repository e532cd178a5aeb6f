from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.agent.protocols import Waiting
from thimble.models.wire.retry import Busy, Retry, after_seconds


def retry(jitter: float = 0.0, left: float = 60.0) -> Retry:
    return Retry(lambda: left, lambda: jitter)


def test_the_pauses_before_the_next_tries_grow_and_are_told() -> None:
    tries = retry()
    assert [tries.pause(busy) for busy in (Busy("a"), Busy("b", state="the connection was lost"), Busy("c"))] == [
        Waiting("the server is busy: again in 0.5 s", 0.5),
        Waiting("the connection was lost: again in 1.0 s", 1.0),
        Waiting("the server is busy: again in 2.0 s", 2.0),
    ]
    with pytest.raises(Busy, match="the last word"):
        tries.pause(Busy("the last word"))


def test_many_clients_do_not_return_at_once() -> None:
    assert retry(jitter=1.0).pause(Busy("busy")).seconds == 0.625


@pytest.mark.parametrize(("asked", "pause"), [(0.0, 0.5), (7.5, 7.5), (30.0, 30.0), (None, 0.5)])
def test_the_pause_is_as_long_as_the_server_asks_for(asked: float | None, pause: float) -> None:
    assert retry().pause(Busy("busy", after_seconds=asked)).seconds == pause


@pytest.mark.parametrize(("asked", "left"), [(31.0, 60.0), (2.0, 1.0), (None, 0.4)])
def test_a_pause_that_is_too_long_is_not_made(asked: float | None, left: float) -> None:
    with pytest.raises(Busy):
        retry(left=left).pause(Busy("busy", after_seconds=asked))


@given(st.text())
def test_any_retry_after_is_a_pause_or_none(value: str) -> None:
    asked = after_seconds({"retry-after": value})
    assert asked is None or asked >= 0
