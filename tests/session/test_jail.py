"""The jail: a result or one error, what was printed, and no process that stays."""

from __future__ import annotations

import os
import select
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from thimble.agent.errors import UsageError
from thimble.session import jail
from thimble.session.jail import MOST_PRINTED, jailed


def run(folder: Path, code: str, seconds: int = 60) -> tuple[Any, list[str]]:
    """What a function with this body comes to."""
    return jailed(partial(eval, f"exec({code!r}) or result", {"result": [1, "a"]}), folder, seconds)


def test_a_result_comes_back_with_the_last_lines_that_were_printed(tmp_path: Path) -> None:
    (tmp_path / "random.py").write_text("raise AssertionError('the wrong module')\n")
    code = "import os, random\nfor at in range(99): print(os.getcwd(), at)\nos.system('echo last')"
    result, printed = run(tmp_path, code)
    assert result == [1, "a"]
    assert printed == [*(f"{tmp_path} {at}" for at in range(100 - MOST_PRINTED, 99)), "last"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("while True: pass", "no end within 1 seconds of computing"),
        ("import time\ntime.sleep(60)", "it did not end within 1 seconds"),
        ("import os\nos._exit(7)", "its process ended before its time (exit code 7)"),
        ("import os\nos.kill(os.getpid(), 9)", "exit code -9"),
        ("import os\nos.write(3, b'{}')\nos._exit(0)", "exit code 0"),
        ("bytearray(10**11)", "exit code 1"),
        ("with open('big', 'wb') as file: file.write(bytes(10**7))", "exit code 1"),
    ],
)
def test_code_that_does_not_end_well_is_one_error(
    code: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jail, "GRACE_SECONDS", 0 if "sleep" in code else 60)
    result, _ = run(tmp_path, code, 1)
    assert isinstance(result, UsageError)
    assert words in result.what


def test_what_the_code_has_started_ends_with_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "held")
    reader = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    code = "import os, time\nheld = os.open('held', os.O_WRONLY)\nif not os.fork(): time.sleep(600)\nprint('left')"
    assert run(tmp_path, code) == ([1, "a"], ["left"])
    assert select.select([reader], [], [], 60) == ([reader], [], [])
    assert os.read(reader, 1) == b""
    os.close(reader)
