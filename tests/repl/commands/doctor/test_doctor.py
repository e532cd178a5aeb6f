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
from threading import Barrier, Event
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
from thimble.agent.errors import ModelError, UsageError
from thimble.models.server import Check
from thimble.repl.__main__ import main
from thimble.repl.commands.doctor import machine
from thimble.repl.commands.doctor.doctor import STATES, show
from thimble.repl.commands.doctor.examine import Finding, Look, Report, Verdict, examine, side_by_side
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
    return "\n".join(f"{f.check.state} {f.check.found} | {f.check.fix}" for f in report.findings if f.group == group)


# ---- servers and the verdict ----


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
        report = examine(
            Settings(backend="ollama", base_url=url), [Look("x", "y", lambda: [Check("y", "ok", "z")])], 0.3
        )
    assert url in texts(report, "ollama")
    assert "no answer within 0.3 seconds" in texts(report, "ollama")
    assert texts(report, "x") == "ok z | "
    assert report.verdict.code == 3
    assert report.verdict.fix


# ---- the frame ----


def test_what_may_hang_is_waited_for_side_by_side() -> None:
    meeting, never = Barrier(3, timeout=30), Event()
    late = Check("late", "fail", "too late")

    def meets() -> Iterator[Check]:
        meeting.wait()
        yield Check("met", "ok", "")

    def hangs() -> Iterator[Check]:
        yield Check("first", "ok", "")
        never.wait(60)

    found = side_by_side([*[Look("a", "", meets, late)] * 3, *[Look("b", "", hangs, late)] * 20], 1.0)
    never.set()
    assert [each.check.name for each in found] == ["met"] * 3 + ["first", "late"] * 20
    assert {each.check.state for each in found[4::2]} == {"warn"}  # they had said something


def test_a_check_with_a_bug_hides_nothing() -> None:
    def fails() -> Iterator[Check]:
        yield Check("one", "ok", "")
        raise ZeroDivisionError("of mine")

    def refuses() -> Iterator[Check]:
        raise ModelError("what", "fix")

    one, bug, refused, last = side_by_side(
        [Look("a", "n", fails), Look("b", "n", refuses), Look("c", "n", lambda: [Check("last", "ok", "")])], 1.0
    )
    assert one.check.name == "one"
    assert "ZeroDivisionError: of mine" in bug.check.found
    assert (bug.check.state, bug.error) == ("warn", None)
    assert refused.check == Check("n", "fail", "what", "fix")
    assert isinstance(refused.error, ModelError)
    assert last.check.name == "last"


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
REPORTS = st.builds(
    Report,
    st.lists(
        st.builds(
            Finding,
            st.sampled_from(["ollama", "corpus"]),
            st.builds(Check, st.sampled_from(["server", "a longer name"]), STATE, TEXT, TEXT),
        ),
        min_size=1,
        max_size=5,
    ),
    st.builds(Verdict, TEXT, TEXT, st.sampled_from([0, 2, 3])),
)


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


@given(REPORTS, st.booleans())
def test_80_columns_lose_nothing(report: Report, drawn: bool) -> None:
    paper = Paper(80, drawn)
    show(report, paper.console)
    shown, words = squeezed(paper.text), set(paper.text.split())
    for finding in report.findings:
        assert squeezed(line(finding.check.found)) in shown
    said = [line(f"{finding.check.found} {finding.check.fix}") for finding in report.findings]
    for word in " ".join([*said, line(report.verdict.text)]).split():
        assert word in words, "no word is broken at the edge of the terminal"
    assert not drawn or all(cell_len(text) <= 80 or len(text.split()) <= 2 for text in paper.lines)


def test_plain_lines_can_be_read_aloud() -> None:
    hostile = Check("server", "fail", "no\x1b[31m \nserver", "type\x1b]0;x\x07 this")
    paper = Paper(80, drawn=False)
    show(Report([Finding("ollama", hostile)], Verdict("None.", "that", 3)), paper.console)
    assert paper.lines == [
        "ollama",
        "  error: server: no server",
        "    to mend it: type this",
        "None.",
        "to mend it: that",
    ]


def test_json_has_a_line_for_each_finding_and_one_for_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
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
