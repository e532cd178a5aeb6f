"""Whatever code of the user's own prints, by whatever way, comes clean and never on standard output."""

from __future__ import annotations

import subprocess
import sys

from tests.support.paths import ROOT

PRINTS = r"""
import os, subprocess, sys
from repl.screen.apart import Apart
evil = "\x1b]0;t\x07\x1b[31m\u202e"
apart = Apart()
for number in range(2):
    with apart:
        print(evil + "print")
        print(evil + "error", file=sys.stderr)
        sys.stdout.buffer.write(evil.encode() + b"bytes\n")
        sys.__stdout__.write(evil + "real\n")
        os.write(1, b"\x1b[31mdescriptor\n")
        subprocess.run(["printf", "\\033[31mchild\\n"])
        print("open \x1bP", end="")
    print("answer")
"""


def test_all_ways_of_printing() -> None:
    done = subprocess.run([sys.executable, "-c", PRINTS], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "answer\n" * 2, done.stderr
    assert "\x1b" not in done.stderr
    assert "\u202e" not in done.stderr
    assert sorted(done.stderr.split()) == sorted(["print", "error", "bytes", "real", "descriptor", "child", "open"] * 2)


INTERRUPTED = r"""
import itertools, os, signal, sys
from repl.screen.apart import Apart

def standard():
    return [(os.fstat(each).st_dev, os.fstat(each).st_ino) for each in (1, 2)], sys.stdout, sys.stderr

def heard(at):
    lines = itertools.count(1)
    def trace(frame, event, arg):
        if event == "line" and frame.f_code is not Apart.__exit__.__code__ and next(lines) == at:
            signal.raise_signal(signal.SIGINT)
        return trace
    sys.settrace(trace)
    try:
        with apart, apart.lifted():
            pass
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False

apart, before, at = Apart(), standard(), 1
while heard(at):
    assert standard() == before, at
    at += 1
assert at > 100
print("answer")
"""


def test_ctrl_c_at_any_line_leaves_the_streams_as_they_were() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("answer\n", "")
