"""The live page, from a real server on loopback: what it tells, to whom, and what it never does."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.branched_sessions import run
from tests.support.exported import MARKUP, export, hostile, read
from tests.support.live_page import Viewer
from tests.support.pty_terminal import Terminal
from tests.support.sessions import ask, scripted
from thimble.agent.errors import UsageError
from thimble.agent.protocols import Text
from thimble.repl.live import server
from thimble.repl.live.server import VOTE_BYTES, shown_live
from thimble.session.session import Session

LOSSLESS = "127.0.0.1:0"


def exported(session: Session, folder: Path) -> dict[str, Any]:
    """The branch in use as the exported page holds it, its lists whole and its messages in place of their numbers."""
    (found,) = re.findall(r'id="session">(.*?)</script>', export(session, "html", folder), re.DOTALL)
    data = json.loads(found)
    page = Viewer("")
    page.grow(data["branches"][0])
    return told(page.branch, page.texts)


def told(branch: dict[str, Any], texts: list[dict[str, Any]]) -> dict[str, Any]:
    """The branch with its messages in place of their numbers."""
    for call in branch["calls"]:
        call |= {name: [texts[at] for at in call[name]] for name in ("was", "sent")}
        call["reply"] = None if call["reply"] is None else texts[call["reply"]]
        call["results"] = [[texts[at], *rest] for at, *rest in call["results"]]
    return branch


QUESTIONS = ["Read the article about context windows", "What is observation masking?", "And what is a token?"]
COMMANDS = ["/undo", "/reset", "/fork none", "/plant The code is 4711", "/strategy none", "/strategy sliding-window"]


@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(typed=st.lists(st.sampled_from([*QUESTIONS, *COMMANDS]), min_size=1, max_size=4))
def test_what_a_viewer_has_is_what_the_exported_page_holds(typed: list[str], tmp_path: Path) -> None:
    session = read(2500, QUESTIONS[0])
    with shown_live(session, LOSSLESS) as url:
        viewer = Viewer(url).until("part")
        for line in typed:
            if line.startswith("/"):
                run(session, line)
            else:
                ask(session, line)
        ask(session, "What is a sliding window?")
        late = Viewer(url)
        held = exported(session, tmp_path)
        for one in (viewer, late):
            one.answered("What is a sliding window?")
            assert told(one.branch, one.texts) == held


@pytest.fixture
def session() -> Session:
    return scripted("First words.", "Second words.", "Third words.", "Fourth words.")


@pytest.fixture
def url(session: Session) -> Iterator[str]:
    with shown_live(session, LOSSLESS) as url:
        yield url


def test_an_address_without_the_token_is_not_there(url: str) -> None:
    whole = urlsplit(url)
    base, token = f"http://{whole.netloc}", whole.path.strip("/")
    for path in ("/", "/events", f"/{token}", f"/{token[:-1]}/", f"/{token}x/events", "/vote/1", "/é/"):
        for answer in (httpx.get(base + path, trust_env=False), httpx.post(base + path, trust_env=False)):
            assert (answer.status_code, answer.text) == (404, "")
    assert httpx.get(url, trust_env=False).status_code == 200
    assert httpx.get(f"{url}../etc/passwd", trust_env=False).status_code == 404


def test_it_listens_on_this_machine_alone_and_each_session_has_another_address(session: Session, url: str) -> None:
    assert urlsplit(url).hostname == "127.0.0.1"
    with shown_live(session, LOSSLESS) as other:
        assert urlsplit(other).path != urlsplit(url).path
    with pytest.raises(httpx.ConnectError):
        httpx.get(other, trust_env=False)


def test_a_viewer_who_comes_back_gets_only_what_is_new(session: Session, url: str) -> None:
    ask(session, "One?")
    viewer = Viewer(url).answered("One?")
    ask(session, "Two?")
    viewer.kinds.clear()
    viewer.answered("Two?")
    assert "anew" not in viewer.kinds
    assert [one["question"] for one in viewer.branch["exchanges"]] == ["One?", "Two?"]
    for place in ("nonsense", "9" * 9, "9" * 5000, "1.1", "-1"):
        stranger = Viewer(url, place).answered("Two?")
        assert stranger.kinds[0] == "anew"
        assert stranger.branch == viewer.branch


def test_what_is_being_written_is_told_from_its_beginning_to_who_comes_late() -> None:
    words = [f"word{number} " for number in range(100)]
    session = scripted([*map(Text, words)], pace=200)
    with shown_live(session, LOSSLESS) as url:
        events = session.ask("Go on")
        for _ in range(70):
            next(events)
        early = Viewer(url).until("said")
        said = "".join(text for _, text in early.said)
        assert said
        assert "".join(words).startswith(said)
        for _ in events:
            pass
        early.answered("Go on")
        assert early.said == []
        assert Viewer(url).answered("Go on").kinds.count("said") == 0


def test_the_last_answer_comes_with_the_end(session: Session) -> None:
    with ExitStack() as reading:
        with shown_live(session, LOSSLESS) as url:
            ask(session, "One?")
            viewer = Viewer(url).answered("One?")
            events = reading.enter_context(viewer.reading())
            for question in ("Two?", "Three?"):
                ask(session, question)
        assert "ended" in [*events]
    last = viewer.branch["exchanges"][-1]
    assert (last["question"], last["ending"]) == ("Three?", viewer.branch["exchanges"][0]["ending"])


def test_hostile_text_is_one_line_of_json_without_a_sign_that_html_knows() -> None:
    session = hostile([*MARKUP, "a\nevent: ended\ndata: 0\n\n", "\r\r", "\u2028", "\x1b]0;x\x07"])
    with shown_live(session, LOSSLESS) as url:
        viewer = Viewer(url).until("part", "votes")
        page = httpx.get(url, trust_env=False)
    assert "ended" not in viewer.kinds
    assert not re.search("[<>&\x1b\x07\x7f-\uffff]", "".join(viewer.lines))
    assert viewer.branch["exchanges"][0]["question"].startswith(MARKUP[0])
    assert page.text.count("<script") == 2
    (policy,) = re.findall('http-equiv="Content-Security-Policy" content="(.*?)"', page.text)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert policy.endswith("connect-src 'self'; form-action 'none'")
    assert page.headers["x-content-type-options"] == "nosniff"


# ---- a room in which not everybody is friendly ----


def connected(url: str, request: str = "") -> socket.socket:
    """A connection that has sent this, and reads nothing by itself."""
    where = urlsplit(url)
    connection = socket.create_connection((where.hostname or "", where.port or 0), timeout=20)
    connection.sendall(request.encode())
    return connection


@pytest.mark.parametrize("request_", ["", "GET /0123456789abcdef/ HTTP/1.1\r\nHost: x\r\n"])
def test_connections_without_the_token_shut_nobody_out(session: Session, url: str, request_: str) -> None:
    ask(session, "One?")
    with ExitStack() as open_:
        for _ in range(200):
            open_.enter_context(connected(url, request_))
        assert httpx.get(url, trust_env=False).status_code == 200
        Viewer(url).answered("One?")


def test_who_does_not_name_the_token_is_answered_before_the_head_is_there(url: str) -> None:
    with connected(url, "POST /vote/1 HTTP/1.1\r\n") as connection:
        answer = b"".join(iter(lambda: connection.recv(1000), b""))
    assert answer == b"HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize("rest", ["", "events HTTP/1.1\r\n", "vote/1 HTTP/1.1\r\nContent-Length: 999\r\n\r\n"])
def test_a_request_that_comes_a_byte_at_a_time_is_ended(url: str, rest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.5)
    with connected(url, f"POST {urlsplit(url).path}{rest}") as connection:
        connection.settimeout(0.2)
        with suppress(ConnectionError):
            while True:
                connection.send(b"1")
                with suppress(TimeoutError):
                    assert connection.recv(1) == b""
                    break


# ---- votes ----


def phone(url: str) -> httpx.Client:
    """A client with a cookie of its own, which goes to this page alone."""
    got = httpx.get(url, trust_env=False)
    cookie = rf"voter=[0-9a-f]{{16}}; HttpOnly; SameSite=Strict; Path={urlsplit(url).path}"
    assert re.fullmatch(cookie, got.headers["set-cookie"])
    return httpx.Client(base_url=url, trust_env=False, cookies=dict(got.cookies))


def test_each_phone_has_one_vote_and_the_prompt_says_who_was_right(session: Session, url: str) -> None:
    ask(session, "One?")
    viewer = Viewer(url).answered("One?")
    ballot = viewer.votes["open"]["number"]
    with phone(url) as one, phone(url) as other:
        assert one.post(f"vote/{ballot}", content="1 2").status_code == 204
        assert one.post(f"vote/{ballot}", content="1-3").status_code == 204
        assert other.post(f"vote/{ballot}", content="none").status_code == 204
        viewer.until("votes")
        assert viewer.votes["open"]["voters"] == 2
        assert [row[3] for row in viewer.votes["open"]["rows"]] == [1, 1, 1]
        assert other.post(f"vote/{ballot}", content="all").status_code == 204
        ask(session, "Two?")
        viewer.answered("Two?")
        counted = viewer.votes["counted"]
        assert (counted["number"], counted["right"], len(counted["rows"])) == (ballot, 3, 3)
        assert [row[3:] for row in counted["rows"]] == [[2, True]] * 3
        assert one.post(f"vote/{ballot}", content="1").status_code == 409
        assert viewer.votes["open"]["voters"] == 0


def test_a_vote_that_is_none_is_refused_and_counts_nothing(session: Session, url: str) -> None:
    ask(session, "One?")
    viewer = Viewer(url).answered("One?")
    ballot = viewer.votes["open"]["number"]
    with phone(url) as one:
        for refused in ("0", "4", "1-9999999999", "<b>", "", "-1", "é"):
            assert one.post(f"vote/{ballot}", content=refused).status_code == 400
        for content in ("1 " * VOTE_BYTES, iter([b"1"])):
            with suppress(httpx.TransportError):  # it may close before the rest is sent
                assert one.post(f"vote/{ballot}", content=content).status_code == 413
    assert httpx.post(f"{url}vote/{ballot}", content="1", trust_env=False).status_code == 404
    again = Viewer(url).until("votes")
    assert again.votes["open"]["voters"] == 0


# ---- where it listens ----


def test_a_port_in_use_is_one_line(session: Session, url: str) -> None:
    with (
        pytest.raises(UsageError, match="cannot listen at") as told,
        shown_live(session, urlsplit(url).netloc),
    ):
        pass
    assert "--live HOST:PORT" in told.value.fix


@pytest.mark.parametrize(
    ("where", "what"),
    [(where, "not HOST:PORT") for where in ("", "8000", ":8000", "h:70000", "a@b:1", "h:1/x", "[::1", "h:-1")]
    + [(where, "all addresses of this machine") for where in ("0.0.0.0:0", "0:0")],
)
def test_an_address_that_cannot_be_used_is_refused(session: Session, where: str, what: str) -> None:
    with pytest.raises(UsageError, match=what), shown_live(session, where):
        pass


# ---- as a user has it ----


def test_a_conversation_is_shown_with_nothing_private_and_ends_at_once(tmp_path: Path) -> None:
    here = Terminal("thimble", "--live", "--backend", "reader", state=tmp_path)
    try:
        here.see("Live: http://127.0.0.1:", "›")
        (url,) = set(re.findall("http://127.0.0.1:[0-9]+/[0-9a-f]{16}/", here.raw))
        here.type(f"What is a token, {tmp_path}?\r")
        viewer = Viewer(url).answered("What is a token, ~?")
        assert str(tmp_path) not in "".join(viewer.lines)
        with viewer.reading() as events:
            here.type("\x04")
            assert "ended" in [*events]
        assert here.end() == 0
    finally:
        here.close()
