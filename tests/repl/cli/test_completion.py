"""Completion in the shell, asked as argcomplete's own scripts ask."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from thimble.repl.__main__ import main

SHELL = {
    "_ARGCOMPLETE": "1",
    "_ARGCOMPLETE_IFS": "\n",
    "_ARGCOMPLETE_COMP_WORDBREAKS": " \t\n\"'><=;|&(:",
    "_ARGCOMPLETE_SHELL": "bash",
    "COMP_TYPE": "9",
}


def completed(typed: str, folder: Path) -> list[str]:
    out = folder / "out"
    asked = {"COMP_LINE": typed, "COMP_POINT": str(len(typed)), "_ARGCOMPLETE_STDOUT_FILENAME": str(out)}
    environment = {**os.environ, **SHELL, **asked, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-m", "thimble"], cwd=folder, env=environment, check=True, timeout=60)
    return [word.strip() for word in out.read_text().split("\n")]


@pytest.mark.parametrize(
    ("typed", "offers"),
    [
        ("thimble --strat", ["--strategy"]),
        ("thimble doc", ["doctor"]),
        ("thimble --strategy tidy+hyb", ["tidy+hybrid"]),
        ("thimble --strategy observation-masking:wi", ["window="]),  # bash itself breaks words at a colon
        ("thimble --strategy hybrid:when=a", ["always"]),
        ("thimble --replay reader/hyb", ["reader/hybrid"]),
        ("thimble --strategy nothing:", [""]),
    ],
)
def test_what_tab_offers(typed: str, offers: list[str], tmp_path: Path) -> None:
    assert completed(typed, tmp_path) == offers


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_what_it_sources(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "_ARGCOMPLETE" in capsys.readouterr().out
