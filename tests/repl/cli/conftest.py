"""A user with nothing: an empty folder with articles below it, no server, and no settings from outside."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.session.test_session import NOWHERE
from tests.support.paths import ROOT


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder."""
    for name in [name for name in os.environ if re.match("THIMBLE_|NO_COLOR|COLUMNS", name)]:
        monkeypatch.delenv(name)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in ("OLLAMA_HOST", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, NOWHERE)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "articles").mkdir()
    (tmp_path / "articles" / "thimbles.md").write_text("# Thimbles\n\nA thimble holds two millilitres of water.\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path
