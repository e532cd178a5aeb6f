from __future__ import annotations

from collections.abc import Generator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.agent.errors import ModelError
from thimble.agent.protocols import Delta, Text, Thinking, Usage, Waiting
from thimble.models.wire.retry import Busy, after_seconds, retried

ANSWER = (Text("A thimble."), Usage(10, None, 3))
Try = Sequence[Delta | Exception]


class Server:
    """Answers each try as it is told; remembers the pauses between them, and how many streams are still open."""

    def __init__(self, *tries: Try) -> None:
        self.tries = list(tries)
        self.pauses: list[float] = []
        self.open = 0

    def ask(self) -> Generator[Delta, None, None]:
        self.open += 1
        try:
            for part in self.tries.pop(0):
                if isinstance(part, Exception):
                    raise part
                yield part
        finally:
            self.open -= 1

    def stream(self, jitter: float = 0.0) -> Generator[Delta, None, None]:
        return retried(self.ask, sleep=self.pauses.append, jitter=lambda: jitter)


def test_a_busy_server_is_asked_again_with_growing_pauses_that_are_told() -> None:
    server = Server([Busy("busy")], [Busy("lost", state="the connection was lost")], [Busy("busy")], ANSWER)
    assert list(server.stream()) == [
        Waiting("the server is busy: again in 0.5 s", 0.5),
        Waiting("the connection was lost: again in 1.0 s", 1.0),
        Waiting("the server is busy: again in 2.0 s", 2.0),
        *ANSWER,
    ]
    assert server.pauses == [0.5, 1.0, 2.0]


def test_after_four_tries_the_error_is_told() -> None:
    server = Server(*[[Busy(f"busy {number}")] for number in range(5)])
    with pytest.raises(Busy, match="busy 3"):
        list(server.stream())
    assert len(server.tries) == 1


@given(st.sampled_from([Text("A"), Thinking("hm"), Usage()]), st.integers(0, 2))
def test_nothing_is_asked_again_once_the_reply_has_begun(first: Delta, waits: int) -> None:
    server = Server([Waiting("loading")] * waits + [first, Busy("lost")], ANSWER)
    seen: list[Delta] = []
    with pytest.raises(Busy):
        seen.extend(server.stream())
    assert (len(server.tries), server.pauses, server.open) == (1, [], 0)


def test_another_error_is_not_retried() -> None:
    server = Server([ModelError("no such model")], ANSWER)
    with pytest.raises(ModelError, match="no such model"):
        list(server.stream())
    assert server.pauses == []


@pytest.mark.parametrize(("asked", "pause"), [(0.0, 0.5), (7.5, 7.5), (30.0, 30.0), (None, 0.5)])
def test_the_pause_is_as_long_as_the_server_asks_for(asked: float | None, pause: float) -> None:
    server = Server([Busy("busy", after_seconds=asked)], ANSWER)
    list(server.stream())
    assert server.pauses == [pause]


def test_a_server_that_asks_for_too_long_a_pause_is_not_waited_for() -> None:
    server = Server([Busy("busy", after_seconds=31)], ANSWER)
    with pytest.raises(Busy):
        list(server.stream())
    assert server.pauses == []


def test_closing_closes_the_reply_and_ends_the_pause() -> None:
    server = Server(ANSWER)
    stream = server.stream()
    next(stream)
    assert server.open == 1
    stream.close()
    assert server.open == 0
    server = Server([Busy("busy")], ANSWER)
    stream = server.stream()
    assert isinstance(next(stream), Waiting)
    stream.close()
    assert (server.pauses, len(server.tries)) == ([], 1)


@given(st.text())
def test_any_retry_after_is_a_pause_or_none(value: str) -> None:
    asked = after_seconds({"retry-after": value})
    assert asked is None or asked >= 0
