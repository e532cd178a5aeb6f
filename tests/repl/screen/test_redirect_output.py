"""Whatever code of the user's own prints comes clean and never on standard output."""

from __future__ import annotations

import subprocess
import sys

from tests.support.paths import ROOT

PRINTS = r"""
import sys
from thimble.repl.screen.redirect_output import RedirectedOutput
evil = "\x1b]0;t\x07\x1b[31m\u202e"
redirected = RedirectedOutput()
for number in range(2):
    with redirected:
        print(evil + "print")
        print(evil + "error", file=sys.stderr)
        sys.stdout.buffer.write(evil.encode() + b"bytes\n")
        with redirected.lifted():
            print("lifted")
        print("open \x1bP", end="")
    print("answer")
"""


def test_all_ways_of_printing() -> None:
    done = subprocess.run([sys.executable, "-c", PRINTS], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "lifted\nanswer\n" * 2, done.stderr
    assert "\x1b" not in done.stderr
    assert "\u202e" not in done.stderr
    assert sorted(done.stderr.split()) == sorted(["print", "error", "bytes", "open"] * 2)
