from __future__ import annotations

from pathlib import Path

import pytest

from thimble.models.text_calls import kept_way as module
from thimble.models.text_calls.kept_way import folder, keep_way, kept_way


def test_what_was_kept_last_is_found_under_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "folder", lambda: tmp_path / "new")
    for way in ("schema", "tools"):
        keep_way("\ud800digest", way)
        assert kept_way("\ud800digest") == way
    assert kept_way("other") == ""


def test_a_damaged_file_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "folder", lambda: tmp_path)
    keep_way("digest", "tools")
    [file] = tmp_path.iterdir()
    file.write_bytes(b"\xff\xfe")
    assert kept_way("digest") == ""


def test_a_disk_that_cannot_be_written_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(module, "folder", lambda: tmp_path / "file" / "folder")
    keep_way("digest", "tools")
    assert kept_way("digest") == ""


def test_the_folder_is_the_users_cache() -> None:
    assert folder().parts[-2:] == ("thimble", "calls")
