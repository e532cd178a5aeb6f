from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
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
    assert [main([command, "--help"]) for command in ("laws", "completion", "open")] == [0, 0, 0]
    assert capsys.readouterr().out == 3 * text
    assert max(map(len, text.splitlines())) <= 80
    shown = set(re.findall(r"^  (-\w|--[\w-]+)", text, re.MULTILINE)) - {"-h", "-p"}
    others = "--json --resume --record --replay --live --observations --warm --keep-secrets --version"
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
    assert found["corpus"][1] == "default; the value in ./thimble.toml is ignored"
    assert found["base_url"] == (NOWHERE, "environment OLLAMA_HOST")
    assert found["model"] == ("(automatic)", "default; the value in ./thimble.toml is ignored")
    assert found["seed"] == ("(automatic)", "default")


# ---- exit codes ----

READER = ("--backend", "reader", "--corpus", "articles", "--files", "articles")


WORDS = st.sampled_from(
    ["--budget", "--json", "--plain", "--", "-", "-x", "--backend", "reader", "config", "-p", "=", "3", "--model=", "é"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
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
    run = thimble(*READER, stdin=f"/strategy none\n\n{QUESTION}\n/stats all\n{QUESTION}\n".encode())
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
    monkeypatch.setattr(own_code, "MAX_SECONDS", 0.2)
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
