"""thimble takes one name: in a folder with rooms of its own, nothing of that folder is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

LIBRARY = "import thimble; thimble.view(thimble.open_session(backend='reader')); import sys; print(*sys.modules)"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder whose packages are called as the rooms are; none of them can be imported."""
    rooms = [room.parent.name for room in (ROOT / "thimble").glob("*/__init__.py")]
    assert len(rooms) == 11
    for room in rooms:
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text("raise AssertionError('the wrong room')\n")
    (tmp_path / "thimble").symlink_to(ROOT / "thimble")
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ("-m", "thimble", "--backend", "reader", "-p", "What is context rot?", "-p", "/stats"),
        pytest.param(("-m", "thimble", "doctor", "--backend", "reader"), marks=pytest.mark.nightly),
        pytest.param(("-m", "thimble", "lab", "simulate", "--turns", "3"), marks=pytest.mark.nightly),
        ("-c", LIBRARY),
    ],
)
def test_only_its_own_name_is_imported(arguments: tuple[str, ...], elsewhere: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(elsewhere)}
    run = subprocess.run([sys.executable, *arguments], cwd=elsewhere, env=environ, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "wrong room" not in run.stdout + run.stderr
    if arguments[1] == LIBRARY:
        loaded = set(run.stdout.split())
        assert "thimble.session.session" in loaded
        assert not [name for name in loaded if name.startswith(("thimble.repl", "rich", "prompt_toolkit"))]
