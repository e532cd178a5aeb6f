"""Whatever code of the user's own prints comes clean and marked, and never on standard output."""

from __future__ import annotations

import subprocess
import sys

from tests.support.paths import ROOT

PRINTS = r"""
import sys
from thimble.repl.screen.redirect_output import RedirectedOutput
from thimble.repl.screen.streams import write_error_line
evil = "\x1b]0;t\x07\x1b[31m\u202e"
redirected = RedirectedOutput()
for number in range(2):
    with redirected:
        write_error_line("thimble itself")
        print(evil + "print")
        print(evil + "error", file=sys.stderr)
        with redirected.lifted():
            print("lifted")
        print("open \x1bP", end="")
    print("answer")
"""


def test_all_ways_of_printing() -> None:
    done = subprocess.run([sys.executable, "-c", PRINTS], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "lifted\nanswer\n" * 2, done.stderr
    assert not {"\x1b", "\u202e"} & {*done.stderr}
    marked = [f"  your code prints: {word}" for word in ("print", "error", "open")]
    assert sorted(map(str.rstrip, done.stderr.splitlines())) == sorted([*marked, "thimble itself"] * 2)


CHILDREN = r"""
import os, sys
from thimble.repl.screen.redirect_output import RedirectedOutput, mark_output_of_children
mark_output_of_children()
mark_output_of_children()
print("answer")
print("thimble itself", file=sys.stderr)
with RedirectedOutput():
    os.system(r"printf '\033]0;t\007\033[31mone\n'; printf 'two' >&2")
os.system("echo three; (sleep 60; echo four) &")
"""


def test_what_child_processes_print_is_marked_too() -> None:
    done = subprocess.run([sys.executable, "-c", CHILDREN], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.stdout == "answer\n", done.stderr
    assert "\x1b" not in done.stderr
    said = "".join(line.removeprefix("  your code prints: ") for line in done.stderr.splitlines())
    assert said == "thimble itselfonetwothree"
    assert done.stderr.count("  your code prints: ") == len(done.stderr.splitlines()) - 1
