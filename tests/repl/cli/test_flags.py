from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.session.test_session import NOWHERE
from tests.support.forked_thimble import forked_thimble
from thimble.repl.__main__ import main
from thimble.session.settings_table import SETTINGS
from thimble.strategies import own_code

QUESTION = "How much does a thimble hold?"


def thimble(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([forked_thimble(), *arguments], input=stdin, capture_output=True, timeout=60)


# ---- help, version, config ----


def test_help_fits_a_terminal_and_names_every_flag(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    shown = set(re.findall(r"^  (-\w|--[\w-]+)", text, re.MULTILINE)) - {"-h", "-p"}
    others = "--json --resume --record --replay --live --observations --warm --version"
    assert shown == {*(setting.flag for setting in SETTINGS.values() if setting.help), *others.split()}


def test_help_and_version_load_next_to_nothing() -> None:
    code = "import sys; from thimble.repl.__main__ import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    loaded = set(run.stderr.split())
    assert {"argparse", "thimble.repl.cli.flags"} <= loaded
    if sys.version_info >= (3, 14):  # argparse itself loads it there, for its colours
        loaded.discard("dataclasses")
    heavy = {"dataclasses", "pathlib", "typing", "json", "difflib", "shutil", "rich", "thimble.agent.loop", "models"}
    assert not loaded & heavy


def test_config_names_each_value_and_its_origin(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "thimble.toml").write_text('strategy = "hybrid"\ncorpus = "articles"\nmodel = "m"\n')
    assert main(["config", "--budget", "4000", "--plain"]) == 0
    rows = [re.split(r"  +", line) for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == list(SETTINGS)
    found = {name: (value, origin) for name, value, origin in rows}
    assert found["budget"] == ("4000", "flag --budget")
    assert found["plain"] == ("on", "flag --plain")
    assert found["strategy"] == ("hybrid", "./thimble.toml")
    assert found["corpus"][1] == "default; that of ./thimble.toml is left out"
    assert found["base_url"] == (NOWHERE, "environment OLLAMA_HOST")
    assert found["model"] == ("(automatic)", "default; that of ./thimble.toml is left out")
    assert found["seed"] == ("(automatic)", "default")


# ---- exit codes ----

READER = ("--backend", "reader", "--corpus", "articles", "--files", "articles")

ENDINGS: list[tuple[Sequence[str], int, str, str]] = [
    ((*READER, "-p", QUESTION), 0, "turns ", ""),
    (("--bugdet", "3"), 2, "there is no flag --bugdet", "did you mean --budget?"),
    (("--budget=3", "--colour"), 2, "there is no flag --colour", "--help"),
    (("--strat", "none"), 2, "there is no flag --strat", "did you mean --strategy?"),
    (("--resum",), 2, "there is no flag --resum", "--resume"),
    (("confg",), 2, "there is no command 'confg'", "did you mean config?"),
    (("config", "config"), 2, "there is no command 'config'", ""),
    (("config", "-p", "x"), 2, "config takes no prompts", "thimble -p TEXT"),
    (("why", "is", "this"), 2, "there is no command 'why'", 'thimble -p "why ..."'),
    (("--budget",), 2, "--budget needs a value", "--budget VALUE"),
    (("-p",), 2, "-p needs a value", "-pTEXT"),
    (("--observations", "x", "-p", "x"), 2, "--observations belongs to prepare", "thimble prepare"),
    (("--plain=yes",), 2, "--plain takes no value", "--plain alone"),
    (("--budget", "12", "-p", "x"), 2, "budget cannot be '12' (flag --budget)", "500 to 2,000,000"),
    (("--budget", "many", "-p", "x"), 2, "budget cannot be 'many'", "500 to 2,000,000"),
    (("--backend", "olama", "-p", "x"), 2, "backend cannot be 'olama'", "did you mean ollama?"),
    (("--corpus", r"C:\notes", "-p", "x"), 2, r"corpus cannot be 'C:\\notes'", "a folder that exists"),
    (("--corpus", "nowhere", "-p", "x"), 2, "corpus cannot be 'nowhere'", "a folder that exists"),
    (("--corpus", "empty", "-p", "x"), 2, "no articles in", "--corpus DIR"),
    (("--strategy", "noen", "-p", "x"), 2, "there is no strategy 'noen'", "did you mean none?"),
    (("--base-url", "::::", "-p", "x"), 2, "'::::' is no address", "host:port"),
    (("-p", "\udcff"), 2, "is not UTF-8 text", "UTF-8"),
    (("-p", ""), 2, "a prompt is empty", "-p"),
    ((*READER,), 2, "standard input holds no prompt", "-p TEXT"),
    ((*READER, "-p", "/nothing"), 2, "there is no command /nothing", "/help"),
    (("--backend", "ollama", "-p", "x"), 3, "nothing answers at", "ollama serve"),
    (("--model", "qwen2.5:7b", "-p", "x"), 3, "nothing answers at", "ollama serve"),
    ((*READER, "--budget", "500", "-p", "x"), 4, "the budget holds 500", "raise the budget"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "what", "fix", "as_json"),
    [(*ending, False) for ending in ENDINGS] + [(*ending, True) for ending in (ENDINGS[0], ENDINGS[1], ENDINGS[-1])],
)
def test_every_ending_has_its_code_and_its_two_lines(
    arguments: Sequence[str],
    code: int,
    what: str,
    fix: str,
    as_json: bool,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (folder / "empty").mkdir()
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert main([*arguments, *(["--json"] if as_json else [])]) == code
    captured = capsys.readouterr()
    told = captured.err.splitlines()
    if code:
        assert told[-2].startswith("thimble: ")
        assert what in told[-2]
        assert told[-1].startswith("fix: ")
        assert fix in told[-1]
    if as_json:
        events = [json.loads(line) for line in captured.out.splitlines()]
        errors = [event for event in events if event["type"] == "error"]
        assert [error["code"] for error in errors] == ([code] if code else [])
    elif code:
        assert captured.out == ""
    else:
        assert "two millilitres" in captured.out
        assert what in captured.err


WORDS = st.sampled_from(
    ["--budget", "--json", "--plain", "--", "-", "-x", "--backend", "reader", "config", "-p", "=", "3", "--model=", "é"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments=st.lists(WORDS | st.text(max_size=5), max_size=6))
def test_no_command_line_ends_in_a_traceback(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["config", *arguments])
    captured = capsys.readouterr()
    assert code in (0, 2)
    assert bool(captured.out) or code == 2
    if code:
        assert captured.err.startswith("thimble: ")


# ---- whole processes ----


def test_a_pipe_of_prompts_and_commands() -> None:
    run = thimble(*READER, stdin=f"/strategy none\n\n{QUESTION}\n/stats\n{QUESTION}\n".encode())
    assert run.returncode == 0
    swapped, answer, *stats, again = run.stdout.decode().split("\n\n")
    assert swapped.startswith("The strategy is now none")
    assert "two millilitres" in answer
    assert "Each exchange" in "".join(stats)
    assert "two millilitres" in again
    assert run.stdout.endswith(b"\n")
    assert "none" in run.stderr.decode().splitlines()[-1]


def test_answers_come_as_prompts_arrive() -> None:
    command = [sys.executable, "-m", "thimble", *READER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{QUESTION}\n".encode())
        process.stdin.flush()
        assert b"two millilitres" in process.stdout.readline()
        process.stdin.close()
        assert process.wait(30) == 0


def test_a_strategy_without_an_end_is_stopped_with_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("mine.py").write_text("def prepare(messages, budget):\n    while True: pass\n")
    monkeypatch.setattr(own_code, "MOST_SECONDS", 0.2)
    assert main([*READER, "--strategy", "./mine.py", "-p", QUESTION]) == 2
    assert "TimedOut: it has not ended after 0.2 seconds" in capsys.readouterr().err


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_stops_an_answer_with_one_line(as_json: bool) -> None:
    command = [sys.executable, "-m", "thimble", *READER, "-p", QUESTION, *(["--json"] if as_json else [])]
    environ = {**os.environ, "THIMBLE_PACE": "0.5"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ) as process:
        assert process.stdout is not None
        if as_json:
            while b'"text"' not in process.stdout.readline():
                pass
        else:
            assert process.stderr is not None
            assert process.stderr.readline().decode() == f"› {QUESTION}\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert err.decode().splitlines() == ["thimble: stopped before the answer was complete"]
    if as_json:
        error, last = (json.loads(line) for line in out.splitlines()[-2:])
        assert (error["type"], error["code"], error["fix"], last["type"]) == ("error", 1, None, "session")
    else:
        assert out == b""


def test_without_a_terminal_there_is_no_conversation() -> None:
    import pty

    controller, terminal = pty.openpty()
    run = subprocess.run([sys.executable, "-m", "thimble", *READER], stdin=terminal, capture_output=True, timeout=60)
    os.close(controller)
    os.close(terminal)
    assert run.returncode == 2
    assert run.stderr.startswith(b"thimble: standard output is not a terminal\nfix: ask with -p TEXT")
