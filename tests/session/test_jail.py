"""The jail: a result or one error, what was printed, and no process that stays."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from thimble.agent.errors import UsageError
from thimble.session import jail
from thimble.session.jail import MAX_PRINTED_LINES, Jail


def run(folder: Path, code: str, seconds: int = 60) -> tuple[str, list[str]]:
    """What a function with this body comes to: its reply, or the error."""
    with Jail(partial(eval, f"exec({code!r}) or b'done'"), folder, seconds) as jailed:
        try:
            reply = jailed.ask({}).decode()
        except UsageError as error:
            reply = error.what
    return reply, jailed.printed


def test_a_result_comes_back_with_the_last_lines_that_were_printed(tmp_path: Path) -> None:
    (tmp_path / "random.py").write_text("raise AssertionError('the wrong module')\n")
    code = "import os, random\nfor at in range(99): print(os.getcwd(), at)\nos.system('echo last')"
    result, printed = run(tmp_path, code)
    assert result == "done"
    assert printed == [*(f"{tmp_path} {at}" for at in range(100 - MAX_PRINTED_LINES, 99)), "last"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("while True: pass", "no result within 1 seconds"),
        ("import time\ntime.sleep(60)", "no result within 1 seconds:"),
        ("import time\ntry: time.sleep(60)\nexcept BaseException: time.sleep(60)", "no result within 1 seconds"),
        ("import os\nos._exit(7)", "its process ended unexpectedly (exit code 7)"),
        ("import os\nos.kill(os.getpid(), 9)", "exit code -9"),
        ("import os\nos._exit(0)", "exit code 0"),
        (
            "import os\nfor fd in range(3, 9):\n  try: os.write(fd, b'{}\\n')\n  except OSError: pass",
            "other than a reply",
        ),
        (
            "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0)\nwhile True: pass",
            "its process ended unexpectedly",
        ),
        ("bytearray(10**11)", "exit code 1"),
        ("with open('big', 'wb') as file: file.write(bytes(10**7))", "exit code 1"),
    ],
)
def test_code_that_does_not_end_well_is_one_error(
    code: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jail, "GRACE_SECONDS", 0 if "except Base" in code else 60)  # a busy machine is slow to begin
    result, _ = run(tmp_path, code, 1)
    assert words in result


SURVIVES = """
import os, time
held = os.open('held', os.O_WRONLY)
if not os.fork():
    os.setsid()
    if not os.fork():
        time.sleep(600)
    os._exit(0)
print('left')
"""
"""A process that has left the group of its parent, and outlives it."""


@pytest.fixture
def held(tmp_path: Path) -> Iterator[int]:
    """A pipe from the code; it ends when nobody holds its other end."""
    os.mkfifo(tmp_path / "held")
    reader = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    yield reader
    os.close(reader)


def has_ended(reader: int) -> bool:
    return select.select([reader], [], [], 60) == ([reader], [], []) and os.read(reader, 1) == b""


def test_processes_of_the_code_end_with_it(tmp_path: Path, held: int) -> None:
    assert run(tmp_path, SURVIVES) == ("done", ["left"])
    assert has_ended(held)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_processes_of_the_code_end_with_the_judge(tmp_path: Path, held: int, how: signal.Signals) -> None:
    code = f"{SURVIVES}\nopen('told', 'w').close()\ntime.sleep(600)"
    asks = f"from pathlib import Path; from tests.session.test_jail import run; run(Path({str(tmp_path)!r}), {code!r})"
    judge = subprocess.Popen([sys.executable, "-c", asks], cwd=ROOT, stderr=subprocess.DEVNULL)
    while not (tmp_path / "told").exists():
        time.sleep(0.01)
    judge.send_signal(how)
    judge.wait(60)
    assert has_ended(held)
