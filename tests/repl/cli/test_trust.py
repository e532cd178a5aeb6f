"""The question at the start of a conversation, in a real terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.pty_terminal import Terminal


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "thimble.toml").write_text('price = "output=7"\nfiles = "/"\n')
    return folder


@pytest.fixture
def opened(here: Path, tmp_path: Path) -> Iterator[list[Terminal]]:
    """A conversation in that folder; a test may add others."""
    found = [Terminal("repl", "--backend", "reader", "--plain", state=tmp_path, here=here)]
    yield found
    for one in found:
        one.close()


def test_it_is_asked_once(opened: list[Terminal], here: Path, tmp_path: Path) -> None:
    shown = opened[0].see("leaves it out:")
    assert "./thimble.toml sets what counts only if you want it:" in shown
    assert "  price = output=7 (strategies would decide by these prices)" in shown
    assert "  files = / (files outside this folder could be read by the model)" in shown
    opened[0].type("y\r", ahead=True)
    opened[0].see("thimble", "/help")
    opened.append(Terminal("repl", "config", state=tmp_path, here=here))
    assert opened[1].end() == 0
    assert "output=7" in opened[1].text
    assert "not used" not in opened[1].text
    opened.append(Terminal("repl", "--backend", "reader", "--plain", state=tmp_path, here=here))
    assert "leaves it out" not in opened[2].see("thimble", "/help")


@pytest.mark.parametrize("answer", ["n\r", "\r", "\x03", "\x04"])
def test_anything_but_yes_leaves_it_out(opened: list[Terminal], here: Path, tmp_path: Path, answer: str) -> None:
    opened[0].see("leaves it out:")
    opened[0].type(answer, ahead=True)
    opened[0].see("thimble", "/help")
    assert not (tmp_path / "thimble" / "confirmed").exists()
