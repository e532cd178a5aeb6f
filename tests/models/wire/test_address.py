from __future__ import annotations

import socket
from threading import Event

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.scripted_server import HANGS, Answer, front, says
from tests.support.wire import PAGE
from thimble.agent.errors import UsageError
from thimble.models.wire.address import host_url, is_loopback, server_answers


@pytest.mark.parametrize(
    ("value", "url"),
    [
        (None, "http://127.0.0.1:11434"),
        ("", "http://127.0.0.1:11434"),
        ("  ", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ('"box"', "http://box:11434"),
        ("box:1234", "http://box:1234"),
        (":1234", "http://127.0.0.1:1234"),
        ("box/", "http://box:11434"),
        ("box/ollama/", "http://box:11434/ollama"),
        ("box:1/a/b", "http://box:1/a/b"),
        ("http://box", "http://box:80"),
        ("https://box", "https://box:443"),
        ("HTTPS://box", "https://box:443"),
        ("https://box:8443/x", "https://box:8443/x"),
        ("http://", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:80", "http://127.0.0.1:80"),
        ("http://0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("::", "http://[::1]:11434"),
        ("[::]:1234", "http://[::1]:1234"),
        ("::1", "http://[::1]:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[::1]:1234", "http://[::1]:1234"),
        ("http://[fe80::1]/p", "http://[fe80::1]:80/p"),
        ("10.0.0.7", "http://10.0.0.7:11434"),
    ],
)
def test_every_form_of_a_host(value: str | None, url: str) -> None:
    assert host_url(value) == url
    assert host_url(url) == url


@pytest.mark.parametrize(
    "value",
    [
        "box:x", "box:99999", "ftp://box", "a b", "me:pw@box", "box?x=1", "box:1:2", "[::1", "http:///a b", "[box]",
        "box:" + "9" * 5000, "box/\x7f", "box/\udc80", "b\u2024x", "xn--\u00fc", "a" * 64, "a..b", "[fe80::1%eth0]",
    ],
)  # fmt: skip
def test_a_malformed_host_is_a_usage_error(value: str) -> None:
    with pytest.raises(UsageError) as caught:
        host_url(value)
    assert caught.value.fix


@pytest.mark.parametrize("value", ["18434", "http://18434", "18434:11434"])
def test_a_number_alone_is_no_host_and_the_fix_makes_it_a_port(value: str) -> None:
    with pytest.raises(UsageError) as caught:
        host_url(value)
    assert "http://18434:" in caught.value.what
    assert caught.value.fix.endswith("127.0.0.1:18434")


@given(st.text() | st.text("a1.-_:[]/%\x7f\udc80\u2024"))
def test_any_text_is_a_host_or_a_users_mistake(value: str) -> None:
    try:
        url = host_url(value)
    except UsageError:
        return
    assert host_url(url) == url
    assert httpx.URL(url).host.encode("idna")


@pytest.mark.parametrize(
    ("url", "ours"),
    [
        ("http://127.0.0.1:1", True),
        ("http://127.8.9.1:1", True),
        ("http://localhost:1/x", True),
        ("http://[::1]:1", True),
        ("http://10.0.0.7:1", False),
        ("http://localhost.example:1", False),
    ],
)
def test_this_machine_is_known_for_its_own(url: str, ours: bool) -> None:
    assert is_loopback(url) is ours


# ---- is it there ----


def there(url: str, seconds: float) -> bool:
    return server_answers(
        url, "/api/version", lambda status, answer: status == 200 and "version" in (answer or ()), seconds
    )


@pytest.mark.parametrize(
    ("answer", "is_there"),
    [
        (says("200 OK", b'{"version":"0.13.0"}'), True),
        (says("500 Error", b'{"version":"0.13.0"}'), False),
        *((says("200 OK", body), False) for body in (PAGE, b"{", b'{"object":"list"}')),
    ],
)
def test_a_server_is_known_from_another(answer: Answer, is_there: bool) -> None:
    with front(otherwise=answer) as server:
        assert there(server.url, 5) is is_there
    assert not there(server.url, 5), "nothing listens"


def test_a_silent_server_is_not_there() -> None:
    with front(otherwise=(HANGS,)) as silent:
        assert not there(silent.url, 0.1)


def test_the_deadline_is_kept_before_a_name_server_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    freed, waited = Event(), Event()

    def hang(*_: object, **__: object) -> None:
        freed.wait(60)
        waited.set()
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    assert not there("http://ollama.example:11434", 0.1)
    assert not waited.is_set()
    freed.set()
