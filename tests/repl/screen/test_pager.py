"""The pager in a real terminal: it is left with `q` or Ctrl-C, and the program goes on."""

from __future__ import annotations

from pathlib import Path
from shutil import which

import pytest

from tests.support.pty_terminal import Terminal

pytestmark = pytest.mark.skipif(which("less", path="/usr/bin:/bin") is None, reason="there is no less")


@pytest.mark.parametrize("keys", ["q", "\x03"])
def test_a_long_text_is_scrolled_and_left(tmp_path: Path, keys: str) -> None:
    terminal = Terminal("tests.support.paging", "300", state=tmp_path)
    terminal.see("line 58 ⟦x⟧")
    assert "line 60" not in terminal.text
    terminal.type(" ")
    terminal.see("line 100 ⟦x⟧")
    terminal.type(keys)
    terminal.see("it goes on")
    assert terminal.end() == 0
    assert "line 299" not in terminal.raw


def test_what_is_typed_ahead_is_no_search_and_is_kept(tmp_path: Path) -> None:
    terminal = Terminal("tests.support.paging", "300", "after a key", state=tmp_path)
    terminal.see("type now")
    terminal.type("/line 290\rqq")
    terminal.see("line 20 ⟦x⟧", "q goes back to thimble")
    assert "line 100" not in terminal.text
    terminal.type("q")
    terminal.see("it goes on, typed: '/line 290\\rqq'")
    assert terminal.end() == 0
    assert "line 299" not in terminal.raw
