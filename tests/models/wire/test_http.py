from __future__ import annotations

from collections.abc import Iterable, Iterator

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.agent.errors import ModelError, UsageError
from thimble.models import make_backend
from thimble.models.openai.connection import Connection
from thimble.models.openai.errors import START
from thimble.models.wire.bounds import Allowance, Bounds
from thimble.models.wire.http import error_reason, read_count, read_stream_lines, redirect_error
from thimble.models.wire.retry import Busy


def allowance(whole: float = 60.0) -> Allowance:
    return Allowance(Bounds(60.0, whole, 10**9), "http://box")


def read(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a response of these pieces."""
    return read_stream_lines(httpx.Response(200, content=pieces), allowance())


@given(st.lists(st.text("a\n \x85", max_size=6).map(str.encode)))
def test_lines_are_the_same_wherever_the_pieces_end(pieces: list[bytes]) -> None:
    every = (line.strip() for line in b"".join(pieces).split(b"\n"))
    assert [line.strip() for line in read(pieces) if line.strip()] == [line for line in every if line]


def test_a_line_without_an_end_is_given_up_on() -> None:
    piece, pieces = b"x" * 1_000_000, 0

    def endless() -> Iterator[bytes]:
        nonlocal pieces
        while True:
            pieces += 1
            yield piece

    with pytest.raises(ModelError, match="more than 4 MB"):
        list(read(endless()))
    assert pieces < 20
    assert sum(map(len, read([piece + b"\n"] * 20))) == 20_000_000, "many lines may be longer together"


def broken(*pieces: bytes) -> Iterator[bytes]:
    yield from pieces
    raise httpx.ReadError("reset")


def test_a_connection_lost_before_the_first_line_is_busy_and_after_it_an_error() -> None:
    with pytest.raises(Busy, match="without a reply"):
        list(read(broken(b'{"half')))
    whole = read(broken(b"one\ntwo"))
    assert next(whole) == b"one"
    with pytest.raises(ModelError, match="in the middle") as caught:
        next(whole)
    assert not isinstance(caught.value, Busy)


def test_after_the_deadline_nothing_more_is_taken() -> None:
    with pytest.raises(ModelError, match="http://box did not finish its answer in 0 seconds"):
        allowance(whole=0).spend(0)


def ask(url: str) -> str:
    """Why a server cannot be asked, and how to mend it."""
    with pytest.raises(ModelError) as caught, Connection(url).open_response("/", None, allowance()):
        pass
    return f"{caught.value.what}; {caught.value.fix}"


def test_an_address_without_a_server_says_how_to_start_one() -> None:
    assert ask("http://127.0.0.1:9").startswith("nothing answers at http://127.0.0.1:9")
    assert ask("http://127.0.0.1:9").endswith(f"; {START}")


@pytest.mark.parametrize("proxy", ["socks9://x", "ftp://x"])
def test_a_proxy_that_is_none_is_named(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    assert "the proxy in the environment cannot be used" in ask("http://box.example:1")
    assert "nothing answers" in ask("http://127.0.0.1:9")


def test_certificates_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    assert "certificates cannot be read" in ask("https://127.0.0.1:9")
    assert "nothing answers" in ask("http://127.0.0.1:9")


def test_a_redirect_names_where_it_leads() -> None:
    error = redirect_error("http://box:80", "https://box/\nx")
    assert error.what == "the server at http://box:80 redirects requests to https://box/ x"
    assert "--base-url" in error.fix


@given(
    st.text()
    | st.recursive(
        st.none() | st.text(), lambda each: st.dictionaries(st.sampled_from(["error", "message", "x"]), each)
    ).map(str)
)
def test_a_reason_is_one_short_line(body: str) -> None:
    told = error_reason(body)
    assert 0 < len(told) <= 300
    assert "\n" not in told


def test_an_unknown_backend_is_a_users_mistake() -> None:
    with pytest.raises(UsageError, match="gpt") as caught:
        make_backend("gpt")
    assert "ollama" in caught.value.fix
    assert "reader" in caught.value.fix


def test_a_figure_that_no_session_can_keep_is_not_known() -> None:
    told = (0, 2**53 - 1, 2**53, -1, 10**400, True, 1.0, "7", None)
    assert [read_count(value) for value in told] == [0, 2**53 - 1, *[None] * 7]
