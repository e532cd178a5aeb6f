"""The front fails as a client of its own must see it; what thimble makes of that is tested with each backend."""

from __future__ import annotations

import httpx
import pytest

from tests.support.failing_server import (
    BROKEN,
    BUSY,
    WEB_PAGE,
    Answer,
    closes,
    front,
    hangs,
    passes,
    rate_limited,
    resets,
    says,
    starts,
)

STREAM = b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f"}}]}}]}\n\n'


def ask(url: str, seconds: float = 10) -> httpx.Response:
    return httpx.post(f"{url}/v1/chat/completions", json={"model": "tiny"}, timeout=seconds, trust_env=False)


def got_before(url: str, error: type[Exception]) -> bytes:
    """What of a body came before an error."""
    got: list[bytes] = []
    with httpx.stream("POST", f"{url}/v1/chat/completions", json={}, trust_env=False) as response:
        assert response.status_code == 200
        with pytest.raises(error):
            got.extend(response.iter_raw())
    return b"".join(got)


def test_whole_answers_come_one_after_the_other_and_the_last_again() -> None:
    with front(rate_limited(2), BUSY, BROKEN, WEB_PAGE) as found:
        answers = [ask(found.url) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [429, 503, 500, 200, 200]
    assert answers[0].headers["retry-after"] == "2"
    assert answers[1].json()["error"] == {"message": "the queue is full", "code": 503}
    assert answers[4].text.startswith("<!DOCTYPE html>")
    assert len(found.asked) == 5
    assert found.asked[0].endswith(b'{"model":"tiny"}')


def test_what_is_no_chat_is_answered_otherwise() -> None:
    with front(BROKEN, otherwise=says("200 OK", b"{}")) as found:
        assert httpx.get(f"{found.url}/v1/models", trust_env=False).json() == {}
        assert found.asked == []


@pytest.mark.parametrize(("answer", "error"), [(resets, httpx.ReadError), (closes, httpx.RemoteProtocolError)])
def test_a_connection_breaks_before_the_first_byte(answer: Answer, error: type[Exception]) -> None:
    with front(answer) as found, pytest.raises(error):
        ask(found.url)


@pytest.mark.parametrize(
    ("then", "error"),
    [(closes, httpx.RemoteProtocolError), (resets, httpx.ReadError)],
)
def test_a_stream_breaks_off_after_what_it_sent(then: Answer, error: type[Exception]) -> None:
    with front(starts(STREAM, then)) as found:
        assert got_before(found.url, error) == STREAM


def test_a_stream_that_hangs_ends_with_the_front() -> None:
    with front(starts(STREAM, hangs)) as found:
        client = httpx.Client(trust_env=False)
        with client, client.stream("POST", f"{found.url}/v1/chat/completions") as response:
            assert next(response.iter_raw()) == STREAM


def test_a_front_passes_on_and_cuts_where_it_is_told() -> None:
    with front(starts(STREAM + STREAM, closes)) as behind, front(passes(behind.url, until=b'"index":0')) as found:
        assert got_before(found.url, httpx.RemoteProtocolError) == STREAM.partition(b',"function"')[0]
        assert behind.asked[0].endswith(b"{}")


def test_a_front_passes_a_whole_answer_on() -> None:
    with front(BUSY) as behind, front(passes(behind.url)) as found:
        assert ask(found.url).json()["error"]["message"] == "the queue is full"
