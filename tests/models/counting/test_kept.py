from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.counting import kept as module
from models.counting.kept import folder, keep, kept
from tests.support.paths import ROOT

values = st.recursive(st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")), st.lists)


@given(st.text(min_size=1), values, values)
def test_what_was_kept_last_is_found_under_its_digest(digest: str, first: object, last: object) -> None:
    keep("test", digest, first)
    keep("test", digest, last)
    assert kept("test", digest) == last
    assert kept("other", digest) is None


def test_without_a_digest_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "folder", lambda: tmp_path / "new")
    keep("test", "", 1)
    assert kept("test", "") is None
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_file_is_nothing(damage: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "folder", lambda: tmp_path)
    keep("test", "digest", {"a": 1})
    [file] = tmp_path.iterdir()
    file.write_bytes(damage)
    assert kept("test", "digest") is None


def test_a_disk_that_cannot_be_written_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(module, "folder", lambda: tmp_path / "file" / "folder")
    keep("test", "digest", 1)
    assert kept("test", "digest") is None


ON_A_FULL_DISK = """
import resource
from models.counting.kept import folder, keep, kept
keep("test", "digest", "small")
resource.setrlimit(resource.RLIMIT_FSIZE, (50, -1))
keep("test", "digest", "large" * 100)
print(kept("test", "digest"), len([*folder().iterdir()]))
"""


def test_a_disk_that_is_full_keeps_what_was_there_and_no_draft(tmp_path: Path) -> None:
    command, environ = [sys.executable, "-c", ON_A_FULL_DISK], {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    run = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr) == ("small 1\n", "")


def test_the_folder_is_the_users_cache() -> None:
    assert folder().parts[-2:] == ("thimble", "counting")
