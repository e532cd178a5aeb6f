from __future__ import annotations

import io
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
from tests.support.paths import ROOT
from tests.support.pty_terminal import Terminal
from tests.support.sessions import Paper
from thimble.agent.errors import ModelError, ThimbleError, UsageError
from thimble.models.server import Check
from thimble.repl.__main__ import main
from thimble.repl.commands.doctor import machine
from thimble.repl.commands.doctor.doctor import STATES, show
from thimble.repl.commands.doctor.examine import Report, examine
from thimble.repl.commands.table import run_command
from thimble.repl.screen.sanitise import line
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


@contextmanager
def ollama(**replies: bytes) -> Iterator[str]:
    """A server that answers as Ollama does, or with what is given instead."""
    ps = b'{"models":[]}'
    routes = {"version": b'{"version":"0.13.0"}', "tags": TAGS, "show": SHOW, "ps": ps, **replies}

    def handle(handler: Any, body: Any) -> None:
        route = handler.path.removeprefix("/api/")
        send(handler, routes.get(route, b'{"error":"no such route"}'), 200 if route in routes else 404)

    with loopback(handle) as url:
        yield url


@contextmanager
def silent() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def doctor(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """The exit code and the lines of `thimble doctor --json`."""
    code = main(["doctor", "--json", *arguments])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, [json.loads(text) for text in captured.out.splitlines()]


def states(found: list[dict[str, Any]], group: str) -> dict[str, str]:
    return {each["name"]: each["state"] for each in found if each.get("group") == group}


def texts(report: Report, group: str) -> str:
    return "\n".join(f"{check.state} {check.found} | {check.fix}" for of, check in report.findings if of == group)


# ---- servers, and what follows ----


def test_a_server_that_works_is_what_a_session_would_use(capsys: pytest.CaptureFixture[str]) -> None:
    with ollama() as url:
        code, found = doctor(capsys, "--base-url", url)
    assert code == 0
    assert found[-1] | {"verdict": ""} == {
        "type": "doctor",
        "verdict": "",
        "fix": None,
        "backend": "ollama",
        "model": "qwen2.5:7b",
        "code": 0,
    }
    assert "fail" not in states(found, "ollama").values()
    assert "ollama/qwen2.5:7b" in found[-1]["verdict"]


def test_nothing_there_leaves_the_reader_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = doctor(capsys)
    assert code == 0
    assert found[-1]["backend"] == "reader"
    assert "the built-in reader answers" in found[-1]["verdict"]
    assert "ollama pull" in found[-1]["verdict"]
    assert "fail" not in {each.get("state") for each in found}  # nobody insisted on a server


@pytest.mark.parametrize("asked", [("--backend", "ollama"), ("--model", "qwen2.5:7b")])
def test_a_server_that_was_asked_for_and_is_not_there_is_exit_code_3(
    asked: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = doctor(capsys, *asked)
    assert code == found[-1]["code"] == 3
    assert found[-1]["backend"] is None
    assert {each["fix"] for each in found if each.get("state") == "ok"} >= {None}
    assert "fail" in states(found, "ollama").values()
    assert f"No session can start: nothing answers at {NOWHERE}" in found[-1]["verdict"]
    assert "ollama serve" in found[-1]["fix"]


def test_a_server_that_hangs_is_named_and_hides_nothing() -> None:
    with silent() as url:
        report = examine(Settings(backend="ollama", base_url=url), Console(file=io.StringIO()), seconds=0.3)
    assert f"fail {url} gave no answer within 0.3 seconds" in texts(report, "ollama")
    assert texts(report, "versions").startswith("ok ")
    assert report.text == "No session can start: the model server gave no answer within 0.3 seconds."
    assert (report.code, report.backend) == (3, None)
    assert report.fix


def test_a_server_that_is_used_and_fails_stops_the_session_and_another_does_not(
    home: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (home / "empty").mkdir()
    with ollama(show=b"no object") as url:
        code, found = doctor(capsys, "--base-url", url)
        assert code == 3
        assert found[-1]["verdict"].startswith("A session would take ollama/qwen2.5:7b and fail: ")
        assert (found[-1]["backend"], found[-1]["model"]) == ("ollama", "qwen2.5:7b")
        code, found = doctor(capsys, "--backend", "reader", "--base-url", url)
        assert (code, found[-1]["backend"]) == (0, "reader")
        assert "fail" not in states(found, "ollama").values()
        code, found = doctor(capsys, "--base-url", url, "--corpus", "empty")
        assert (code, found[-1]["backend"]) == (2, None)  # what is typed wrong is told first


# ---- the frame ----


def test_what_hangs_ends_with_its_time_and_the_next_check_runs() -> None:
    report, never = Report(seconds=0.3), Event()

    def hangs() -> Iterator[Check]:
        yield Check("first", "ok", "")
        never.wait(60)

    report.look("a", "", hangs, waits="it")
    report.look("b", "", lambda: [Check("next", "ok", "")], waits="it")
    never.set()
    assert [(check.name, check.state) for _, check in report.findings] == [
        ("first", "ok"),
        ("time", "warn"),  # it had said something
        ("next", "ok"),
    ]
    assert report.code == 0


def test_a_check_with_a_bug_hides_nothing() -> None:
    def fails() -> Iterator[Check]:
        yield Check("one", "ok", "")
        raise ZeroDivisionError("of mine")

    def refuses(error: ThimbleError) -> Iterator[Check]:
        raise error

    report = Report()
    report.look("a", "n", fails)
    assert report.code == 0
    report.look("b", "n", refuses, ModelError("what", "fix"))
    assert (report.code, report.text, report.fix) == (3, "No session can start: what.", "fix")
    report.look("c", "n", refuses, UsageError("typed", "again"))
    report.look("d", "n", refuses, UsageError("later", ""))
    assert (report.code, report.text, report.fix) == (2, "No session can start: typed.", "again")
    report.look("e", "n", lambda: [Check("last", "ok", "")])
    (_, one), (_, bug), (_, refused), *_, (_, last) = report.findings
    assert (one.name, last.name) == ("one", "last")
    assert (bug.state, "ZeroDivisionError: of mine" in bug.found) == ("warn", True)
    assert refused == Check("n", "fail", "what", "fix")


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
    assert "OPENAI_API_KEY set" in told
    assert "HTTPS_PROXY set" in told
    assert sorted(home.rglob("*")) == before


# ---- the machine ----


def checks(found: Iterator[Check]) -> dict[str, Check]:
    return {check.name: check for check in found}


def test_all_that_is_left_out_of_the_articles_is_named(home: Path) -> None:
    folder = home / "articles"
    for number in range(20):
        (folder / f"bad{number}.md").write_bytes(b"\xff\xfe\x00")
    (folder / "head.md").write_text("---\ntitle: A\nnot a field\n---\nText.")
    found = [*machine.articles(folder)]
    assert found[0].found.startswith("2 articles of 11 words")
    named = [check.found.split(":")[0] for check in found if check.name == "left out"]
    assert sorted(named) == sorted([*(f"bad{number}.md" for number in range(20)), "head.md, front matter"])
    for article in folder.glob("[!b]*.md"):
        article.unlink()
    left: list[Check] = []
    with pytest.raises(UsageError, match="no articles in"):
        left.extend(machine.articles(folder))
    assert len(left) == 20


def test_what_a_terminal_cannot_do_is_told_with_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    found = checks(machine.terminal(Console(file=io.StringIO(), force_terminal=True)))
    assert (found["terminal"].state, found["terminal"].fix) == ("warn", "export TERM=xterm-256color")
    monkeypatch.setenv("TERM", "xterm")
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    found = checks(machine.terminal(Console(file=ascii_only, force_terminal=True, width=60)))
    assert {name: check.state for name, check in found.items()} == {"terminal": "warn"}


# ---- how it is shown ----

TEXT = st.text(st.characters(codec="utf-8"), max_size=200)
STATE = st.sampled_from(sorted(STATES))
FINDINGS = st.tuples(
    st.sampled_from(["ollama", "corpus"]),
    st.builds(Check, st.sampled_from(["server", "a longer name"]), STATE, TEXT, TEXT),
)


def reported(*findings: tuple[str, Check]) -> Report:
    report = Report()
    for group, check in findings:
        report.add(group, check)
    return report


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


@given(st.lists(FINDINGS, min_size=1, max_size=5), st.booleans())
def test_80_columns_lose_nothing(findings: list[tuple[str, Check]], drawn: bool) -> None:
    report = reported(*findings)
    paper = Paper(80, drawn)
    show(report, paper.console)
    shown, words = squeezed(paper.text), set(paper.text.split())
    for _, check in findings:
        assert squeezed(line(check.found)) in shown
    said = [line(text) for _, check in findings for text in (check.found, check.fix)]
    for word in " ".join([*said, line(report.text)]).split():
        assert word in words or cell_len(word) > 60, "no word is broken at the edge of the terminal"
    assert not drawn or all(cell_len(text) <= 80 or len(text.split()) <= 2 for text in paper.lines)


def test_plain_lines_can_be_read_aloud() -> None:
    hostile = Check("server", "fail", "no\x1b[31m \nserver", "type\x1b]0;x\x07 this")
    paper = Paper(80, drawn=False)
    show(reported(("ollama", hostile)), paper.console)
    assert paper.lines == [
        "ollama",
        "  error: server: no server",
        "    to mend it: type this",
        "No session can start: no server.",
        "to mend it: type this",
    ]


def test_json_has_a_line_for_each_finding_and_one_for_what_follows(capsys: pytest.CaptureFixture[str]) -> None:
    *findings, verdict = doctor(capsys)[1]
    for each in findings:
        assert list(each) == ["type", "group", "name", "state", "found", "fix"]
        assert each["type"] == "check"
        assert each["state"] in STATES
        assert each["state"] == "ok" or each["fix"]
    assert verdict["type"] == "doctor"
    groups = "session, ollama, vllm, openai, gguf, corpus, tokens, terminal, folders, environment, versions"
    assert [*dict.fromkeys(each["group"] for each in findings)] == groups.split(", ")
    page = (ROOT / "docs" / "reference" / "formats.md").read_text()
    for name in (*findings[0], *verdict):
        assert f"`{name}`" in page


# ---- as a user meets it ----


@pytest.mark.parametrize(
    ("arguments", "code"),
    family(
        [(("--corpus", "nowhere"), 2), ((), 0), (("--backend", "ollama"), 3), (("--backend", "reader", "--plain"), 0)]
    ),
)
def test_its_exit_code(arguments: tuple[str, ...], code: int) -> None:
    command = [sys.executable, "-m", "thimble", "doctor", *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    assert run.returncode == code, run.stderr
    assert "Traceback" not in run.stdout + run.stderr
    assert "\x1b" not in run.stdout


def test_whoever_stops_reading_is_told_nothing() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "thimble", "doctor"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as run:
        assert run.stdout
        assert run.stderr
        run.stdout.close()
        assert run.stderr.read() == b""


@pytest.mark.parametrize("environment", family([{}, {"NO_COLOR": "1"}]))
def test_in_a_terminal_it_says_that_it_looks_and_then_shows_a_table(home: Path, environment: dict[str, str]) -> None:
    terminal = Terminal(
        "repl", "doctor", state=home, columns=120, OLLAMA_HOST=NOWHERE, OPENAI_BASE_URL=NOWHERE, **environment
    )
    assert terminal.end() == 0
    assert "a server that does not answer is waited for" in terminal.raw
    assert "is waited for" not in terminal.text  # it is wiped
    assert "  ✓ articles" in terminal.text
    assert "    → " in terminal.text
    colours = re.findall(r"\x1b\[[\d;]*3[0-7]m", terminal.raw)
    assert bool(colours) == (not environment)


def test_in_a_session_it_looks_at_the_session_as_it_is(home: Path) -> None:
    session = Session(Settings(backend="reader", budget=4_000, session_dir=home))
    session.use_strategy("truncate")
    session.use_budget(3_000)
    paper = Paper(120)
    run_command(session, "/doctor", paper.console)
    assert "truncate in 3,000 tokens" in paper.text
    assert "observation-masking" not in paper.text
