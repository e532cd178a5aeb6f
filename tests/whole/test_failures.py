"""Each way in which a model server fails, on the command line and in a conversation, with each kind of server."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.certificate import self_signed
from tests.support.conversations import objections
from tests.support.scripted_server import ANSWER, MODEL, Faulty, faulty
from thimble.agent.errors import ModelError
from thimble.agent.events import Answered
from thimble.repl.__main__ import main
from thimble.session.session import Session
from thimble.session.settings import Settings

SECRET = "sk-not-to-be-told"
KINDS = ("ollama", "vllm", "openai")
AGAIN = "ask again"
ADDRESS = "--base-url"

FAILURES: dict[str, tuple[str, str]] = {
    "401": ("requires a key|rejects the key|401|may not use", "set |log|sign in"),
    "404": ("404|not found|no /v1", ADDRESS + "|log"),
    "429": ("busy|429", AGAIN),
    "500": ("500", AGAIN + "|log"),
    "503": ("busy", AGAIN),
    "a web page": ("a web page", ADDRESS),
    "cut in a call": ("stopped in the middle of a reply", AGAIN),
    "ended in a call": ("stopped in the middle of a reply", AGAIN),
    "never answers": ("sent nothing for 1 seconds", AGAIN + "|smaller"),
    "never starts": ("sent nothing for 1 seconds", AGAIN + "|smaller"),
    "too long": ("longer than the model's context", "--budget N"),
}
"""What is wrong and how to mend it, in words that must be among the two lines."""


@pytest.fixture(autouse=True)
def articles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an article, keys that must not be told, and no settings from outside."""
    for name in list(os.environ):
        if re.search(r"(?i)^thimble_|no_color|ollama|openai|vllm|_proxy$", name):
            monkeypatch.delenv(name)
    for name in ("OPENAI_API_KEY", "OLLAMA_API_KEY"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "articles"
    folder.mkdir()
    (folder / "thimbles.md").write_text("# Thimbles\n\nA thimble holds two millilitres of water.\n")
    return folder


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Faulty]:
    with faulty(request.param) as server:
        yield server


def patience(fault: str) -> int:
    """Seconds for a server that says nothing; where one is expected to answer, a slow machine is given its time."""
    return 1 if fault.startswith("never") else 60


def ask(kind: str, url: str, *more: str, fault: str = "") -> int:
    """Ask one question on the command line; its exit code."""
    given = ("--backend", kind, "--base-url", url, "--corpus", "articles", "--timeout", str(patience(fault)), *more)
    return main([*given, "-p", "How much does a thimble hold?"])


def two_lines(err: str) -> tuple[str, str]:
    """What is wrong, and how to mend it: the last two lines. Nothing else is said of it, and no key."""
    assert "Traceback" not in err
    assert SECRET not in err
    what, fix = err.splitlines()[-2:]
    assert what.startswith("thimble: ")
    assert fix.startswith("fix: ")
    assert err.count("thimble: ") == 1
    return what, fix


def conversation(server: Faulty, articles: Path, fault: str = "") -> Session:
    """A session that has had an answer already."""
    folders = {"corpus": articles, "files": articles}
    settings = Settings(backend=server.kind, base_url=server.url, timeout=patience(fault), **folders)
    session = Session(settings)
    assert answered(session, "Are you there?")
    return session


def answered(session: Session, question: str) -> bool:
    return any(isinstance(event, Answered) and event.text == ANSWER for event in session.ask(question))


def assert_sound(session: Session, server: Faulty) -> None:
    """The next question is answered, and what the server is sent is a conversation that it takes."""
    assert not any(message.calls for message in session.agent.history)
    server.fault = ""
    assert answered(session, "Once more: how much does a thimble hold?")
    messages = [{"role": each["role"], "content": each["content"]} for each in server.bodies[-1]["messages"]]
    assert objections(messages) == []
    asked = [message["content"] for message in messages if message["role"] == "user"]
    assert "Once more" in asked[-2], "the last one is the nudge, since no tool was called"


# ---- on the command line: two lines and exit code 3 ----


@pytest.mark.parametrize("fault", FAILURES)
def test_a_failure_is_two_lines_and_exit_code_3(fault: str, server: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    server.fault = fault
    assert ask(server.kind, server.url, fault=fault) == 3
    captured = capsys.readouterr()
    what, fix = two_lines(captured.err)
    assert re.search(FAILURES[fault][0], what), what
    assert re.search(FAILURES[fault][1], fix), fix
    assert captured.out == ""


@pytest.mark.parametrize("fault", ["401", "404", "429", "500", "503", "a web page"])
def test_a_server_that_fails_from_the_start_is_told_before_anything_is_asked(
    fault: str, server: Faulty, capsys: pytest.CaptureFixture[str]
) -> None:
    server.fault, server.everywhere = fault, True
    assert ask(server.kind, server.url, "--json") == 3
    captured = capsys.readouterr()
    two_lines(captured.err)
    assert json.loads(captured.out)["code"] == 3
    assert SECRET not in captured.out
    assert server.asked == []


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_listening(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    assert ask(kind, url) == 3
    what, fix = two_lines(capsys.readouterr().err)
    assert f"nothing answers at {url}" in what
    assert "start it" in fix


def test_wrong_model(server: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(server.kind, server.url, "--model", "phi4:14b") == 3
    what, fix = two_lines(capsys.readouterr().err)
    assert "'phi4:14b'" in what
    assert MODEL in fix  # one that it has
    assert server.kind != "ollama" or "ollama pull phi4:14b" in fix


def test_no_tool_support_is_no_failure_the_model_calls_by_schema(
    server: Faulty, capsys: pytest.CaptureFixture[str]
) -> None:
    server.fault = "no tools"
    assert ask(server.kind, server.url) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{ANSWER}\n"
    assert "Traceback" not in captured.err
    assert "tools" not in server.bodies[-1]
    assert "Reply with one JSON object" in json.dumps(server.bodies[-1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_certificate_that_is_not_trusted(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    certificate = self_signed(tmp_path)
    with faulty(kind, certificate) as server:
        assert ask(kind, server.url) == 3
        what, fix = two_lines(capsys.readouterr().err)
        assert "certificate" in what
        assert "not trusted" in what
        assert "SSL_CERT_FILE" in fix
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))  # as the fix says
        assert ask(kind, server.url) == 0


def test_a_proxy_in_the_environment_never_stands_before_this_machine(
    server: Faulty, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
        monkeypatch.setenv(name.lower(), "http://127.0.0.1:1")
    assert ask(server.kind, server.url) == 0
    assert capsys.readouterr().out == f"{ANSWER}\n"


@pytest.mark.parametrize(
    ("kind", "proxy"), [*zip(KINDS, ["http://127.0.0.1:1", "socks5://127.0.0.1:1", "nonsense://x"], strict=True)]
)
def test_a_proxy_that_cannot_be_used_before_another_machine(
    proxy: str, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    assert ask(kind, "http://gpu.example:8000", "--model", MODEL) == 3
    two_lines(capsys.readouterr().err)


# ---- in a conversation: the session goes on ----


@pytest.mark.parametrize("fault", FAILURES)
def test_after_a_failure_the_session_goes_on(fault: str, server: Faulty, articles: Path) -> None:
    session = conversation(server, articles, fault)
    server.fault = fault
    with pytest.raises(ModelError) as caught:
        list(session.ask("How much does a thimble hold?"))
    error: ModelError = caught.value
    assert re.search(FAILURES[fault][0], error.what), error.what
    assert error.fix
    assert "\n" not in error.what + error.fix
    assert_sound(session, server)


def test_a_server_that_goes_away_and_comes_back(server: Faulty, articles: Path) -> None:
    session = conversation(server, articles)
    server.stop()
    with pytest.raises(ModelError, match="nothing answers at"):
        list(session.ask("How much does a thimble hold?"))
    server.start()
    assert_sound(session, server)


# ---- and the doctor says it beforehand ----


@pytest.mark.parametrize("fault", ["401", "404", "429", "500", "503", "a web page"])
def test_the_doctor_finds_it(fault: str, server: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    server.fault, server.everywhere = fault, True
    given = ["--backend", server.kind, "--base-url", server.url, "--corpus", "articles"]
    assert main(["doctor", "--json", *given]) == 3
    captured = capsys.readouterr()
    assert SECRET not in captured.out + captured.err
    *found, verdict = map(json.loads, captured.out.splitlines())
    assert re.search(FAILURES[fault][0], verdict["verdict"])
    assert verdict["fix"]
    assert any(each["state"] == "fail" and each["name"] == server.kind for each in found)
