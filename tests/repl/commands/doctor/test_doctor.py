from __future__ import annotations

import io
import json
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from tests.support.family import family
from tests.support.ollama_wire import SHOW, TAGS, loopback, send
from tests.support.openai_wire import CHAT, MODELS, VLLM_MODELS
from tests.support.paths import ROOT
from tests.support.pty_terminal import Terminal
from tests.support.sessions import Paper
from thimble.agent.errors import ModelError, ThimbleError, UsageError
from thimble.models.server import Check
from thimble.repl.__main__ import main
from thimble.repl.commands.doctor import machine
from thimble.repl.commands.doctor.doctor import print_report
from thimble.repl.commands.doctor.examine import Report, examine
from thimble.repl.commands.table import run_command
from thimble.repl.screen.sanitise import one_line
from thimble.session.session import Session
from thimble.session.settings import Settings

NOWHERE = "http://127.0.0.1:1"
SECRET = "sk-not-to-be-told"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, with articles below it, and nothing from outside."""
    for name in list(os.environ):
        if name.startswith("THIMBLE_") or re.search(r"(?i)no_color|ollama|openai|vllm|_proxy|columns", name):
            monkeypatch.delenv(name)
    for kind in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    monkeypatch.setenv("OLLAMA_HOST", NOWHERE)
    monkeypatch.setenv("OPENAI_BASE_URL", NOWHERE)
    (tmp_path / "articles").mkdir()
    (tmp_path / "articles" / "thimbles.md").write_text("# Thimbles\n\nA thimble holds two millilitres of water.\n")
    monkeypatch.setenv("THIMBLE_CORPUS", str(tmp_path / "articles"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def doctor(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[dict[str, Any], dict[str, set[str]]]:
    """The last line of `thimble doctor --json`, and the states of each name."""
    code = main(["doctor", "--json", *arguments])
    captured = capsys.readouterr()
    assert captured.err == ""
    *found, end = map(json.loads, captured.out.splitlines())
    states: dict[str, set[str]] = {}
    for each in found:
        assert each["state"] == "ok" or each["fix"]
        states.setdefault(each["name"], set()).add(each["state"])
    assert end["code"] == code
    page = (ROOT / "docs" / "reference" / "formats.md").read_text()
    assert all(f"`{name}`" in page for name in (*found[0], *end))
    return end, states


@pytest.mark.parametrize(("show", "code", "state"), [(SHOW, 0, {"ok"}), (b"no object", 3, {"ok", "fail"})])
def test_the_exit_code_is_that_of_a_session_with_this_server(
    show: bytes, code: int, state: set[str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    routes = {"version": b'{"version":"0.13.0"}', "tags": TAGS, "show": show, "ps": b'{"models":[]}'}

    def handle(handler: Any, body: Any) -> None:
        send(handler, routes.get(handler.path.removeprefix("/api/"), b"{}"), 200)

    with loopback(handle) as url:
        end, states = doctor(capsys, "--base-url", url, "--backend", "ollama")
        assert (end["code"], end["backend"], end["model"]) == (code, "ollama", "qwen2.5:7b")
        assert ("A session uses ollama/qwen2.5:7b." in end["verdict"]) == (code == 0)
        assert states["ollama"] == state
        end, states = doctor(capsys, "--backend", "reader", "--base-url", url)
        assert (end["code"], end["backend"], "fail" in states["ollama"]) == (0, "reader", False)
        (home / "config").mkdir(exist_ok=True)
        end, _ = doctor(capsys, "--backend", "ollama", "--base-url", url, "--corpus", "config")
        assert end["code"] == 2  # what is typed wrong is told first


@pytest.mark.parametrize("asked", [("--backend", "ollama"), ("--model", "qwen2.5:7b"), ()])
def test_a_server_that_is_not_there(asked: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    end, states = doctor(capsys, *asked)
    names = "model, embeddings, strategy, articles, ollama, vllm, openai, gguf, folders, terminal, versions"
    assert list(states) == names.split(", ")
    assert ("fail" in set.union(*states.values())) == bool(asked)
    assert (end["code"], end["backend"]) == ((3, None) if asked else (0, "reader"))
    assert (f"nothing answers at {NOWHERE}" if asked else "the built-in reader answers") in end["verdict"]
    assert ("ollama serve" in end["fix"]) if asked else ("ollama pull" in end["verdict"])


def test_a_slow_reply_stops_no_session_that_has_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    done = Event()

    def handle(handler: Any, body: Any) -> None:
        if handler.path == CHAT:
            done.wait(60)
        send(handler, VLLM_MODELS if handler.path == MODELS else b"{}", 200)

    with loopback(handle) as url:
        end, states = doctor(capsys, "--backend", "vllm", "--base-url", url, "--timeout", "1")
        done.set()
    assert (end["code"], states["vllm"]) == (0, {"ok", "warn"})


def test_a_server_that_hangs_is_named_and_hides_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        report = examine(Settings(backend="ollama", base_url=url, timeout=1), Console(file=io.StringIO()))
    assert (report.code, report.backend, url in report.end.found) == (3, None, True)
    assert report.findings[-1][:2] == ("versions", "ok")


def test_an_error_is_a_finding_and_a_usage_error_comes_first() -> None:
    def refuses(error: ThimbleError) -> Iterator[Check]:
        yield Check("one")
        raise error

    report, paper = Report(), Paper(80, drawn=False)
    report.look("vllm", refuses(ModelError("unused", "fix")), needed=False)
    assert report.code == 0
    for error in (
        ModelError("no\x1b[31m \nserver"),
        ModelError("2"),
        UsageError("typed", "\x1b]0;x\x07again"),
        UsageError(""),
    ):
        report.look("ollama", refuses(error))
    assert report.code == 2
    print_report(report, paper.console)
    shown = [each for each in paper.lines if "one" not in each]
    assert shown[1:4] == ["  warning: vllm: unused", "    to fix it: fix", "  error: ollama: no server"]
    assert shown[-2:] == ["No session can start: typed.", "to fix it: again"]


def test_nothing_is_changed_and_nothing_secret_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in machine.VARIABLES:
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{SECRET}@proxy.example:3128")
    before = sorted(home.rglob("*"))
    assert main(["doctor"]) == 0
    told = capsys.readouterr().out
    assert SECRET not in told
    assert "OPENAI_API_KEY, VLLM_API_KEY, HTTPS_PROXY" in re.sub(r"\s+", " ", told)
    assert sorted(home.rglob("*")) == before


def test_all_that_is_left_out_of_the_articles_is_named(home: Path) -> None:
    for number in range(20):
        (home / "articles" / f"bad{number}.md").write_bytes(b"\xff\xfe\x00")
    (home / "articles" / "head.md").write_text("---\ntitle: A\nnot a field\n---\nText.")
    first, *left = machine.articles(home / "articles")
    assert first.found.startswith("2 articles of 11 words")
    named = {check.found.split(":")[1].strip() for check in left if check.fix}
    assert named == {*(f"bad{number}.md" for number in range(20)), "head.md, front matter"}


def test_what_cannot_be_used_is_told_with_what_to_type(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").write_text("")
    files, state, sessions = machine.folders(Settings(files=home / "file", session_dir=home / "file" / "sessions"))
    assert ("--files DIR" in files.fix, state.fix) == (True, "")
    assert f"{home / 'file' / 'sessions'} cannot be used" in sessions.found
    assert "--session-dir DIR" in sessions.fix
    for term, width, fix in (("dumb", 90, "export TERM=xterm"), ("xterm", 79, "make it 80 columns"), ("xterm", 80, "")):
        monkeypatch.setenv("TERM", term)
        (found,) = machine.terminal(Console(file=io.StringIO(), force_terminal=True, width=width))
        assert (found.fix.startswith(fix), bool(found.fix)) == (True, bool(fix))


TEXT = st.text(st.characters(codec="utf-8"), max_size=200)


@given(st.lists(st.builds(Check, TEXT, TEXT), min_size=1, max_size=5), st.booleans())
def test_80_columns_lose_nothing(checks: list[Check], drawn: bool) -> None:
    report, paper = Report(), Paper(80, drawn)
    report.look("a longer name", checks)
    print_report(report, paper.console)
    words = set(paper.text.split())
    for word in " ".join(one_line(text) for check in checks for text in check).split():
        assert word in words or cell_len(word) > 60, "no word is broken at the edge of the terminal"
    assert not drawn or all(cell_len(text) <= 80 or len(text.split()) <= 2 for text in paper.lines)


@pytest.mark.parametrize("environment", family([{}, {"NO_COLOR": "1"}]))
def test_in_a_terminal_it_says_that_it_looks_and_then_shows_a_table(home: Path, environment: dict[str, str]) -> None:
    terminal = Terminal(
        "repl", "doctor", state=home, columns=120, OLLAMA_HOST=NOWHERE, OPENAI_BASE_URL=NOWHERE, **environment
    )
    assert terminal.end() == 0
    assert "checking; waiting up to" in terminal.raw
    assert "waiting up to" not in terminal.text  # it is wiped
    assert "  ✓ articles" in terminal.text
    assert " → " in terminal.text
    assert bool(re.findall(r"\x1b\[[\d;]*3[0-7]m", terminal.raw)) == (not environment)


def test_in_a_session_it_looks_at_the_session_as_it_is(home: Path) -> None:
    session = Session(Settings(backend="reader", budget=4_000, session_dir=home))
    session.use_strategy("truncate")
    session.use_budget(3_000)
    paper = Paper(120)
    run_command(session, "/doctor all", paper.console)
    assert "truncate in 3,000 tokens" in paper.text
    assert "observation-masking" not in paper.text
