"""A folder whose articles are kept: whatever happened to it, opening it again is as good as reading it anew."""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.agent.errors import UsageError
from thimble.corpus.library import Library, load_library
from thimble.corpus.search import Search

QUERIES = ("cache", "prefix cache", "old tool results", "the", "window", "ca", "上下文")
NAMES = ("a.md", "b.md", "A.MD", "b/a.md", "b/c.txt", "é.md", "b\\d.md", "a-2.md")
WORD = st.sampled_from(["cache", "prefix", "window", "old", "tool", "results", "上下文", "caches", "## cache\n\n"])
TEXT = st.one_of(
    st.lists(WORD, min_size=1, max_size=12).map(" ".join),
    st.sampled_from(["---\ntags: [cache, tool]\nslug: a\n---\nold window", "---\ntitle: [\n---\nx", "", "a\0b"]),
)
STEP = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), TEXT),
    st.tuples(st.just("delete"), st.sampled_from(NAMES), st.just("")),
    st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("link"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("open"), st.just(""), st.just("")),
)


def said(known: Library) -> object:
    """All that a library has to say."""
    search = Search(known)
    hits = [(h.article.slug, h.section, h.text, h.score) for query in QUERIES for h in search.find(query, 20)]
    topics = [[article.slug for article in known.matching(topic)] for topic in ("cache", "a", "2", "tools")]
    articles = [(a, list(a.sections), a.subject.split()) for a in known.articles]
    return articles, [skip[:2] for skip in known.skipped], known.tags, topics, hits


def opened(folder: Path, keep: Path | None = None) -> object:
    try:
        return said(load_library(folder, keep))
    except UsageError as error:
        return error.what


def act(folder: Path, deed: str, name: str, other: str, moment: int) -> None:
    path, to = folder / name, folder / other
    if deed == "write":
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(other)
        os.utime(path, ns=(0, moment * 1_000_000_000))
    elif deed == "delete":
        path.unlink(missing_ok=True)
    elif deed == "rename" and os.path.lexists(path):
        to.parent.mkdir(exist_ok=True)
        path.rename(to)
    elif deed == "link" and not os.path.lexists(path):
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(to)


@given(st.lists(STEP, max_size=12))
def test_opening_again_is_reading_anew(steps: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder, keep = Path(place, "notes"), Path(place, "kept.sqlite")
        folder.mkdir()
        for moment, (deed, name, other) in enumerate(steps):
            if deed == "open":
                opened(folder, keep)
            else:
                act(folder, deed, name, other, moment)
        assert opened(folder, keep) == opened(folder)
        assert opened(folder, keep) == opened(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(30):
        path = tmp_path / "notes" / f"note-{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# Note {number}\n\nA cache of prefix {number}.\n\n## Old\n\nresults {number % 7}\n")
    return tmp_path / "notes"


def read_again(folder: Path, keep: Path) -> list[tuple[int, int]]:
    """How much was to be read, as it was told."""
    told: list[tuple[int, int]] = []
    assert said(load_library(folder, keep, lambda done, of: told.append((done, of)))) == opened(folder)
    return told


def test_only_what_has_changed_is_read_again(folder: Path, tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    assert read_again(folder, keep) == [(done, 30) for done in range(30)]
    assert read_again(folder, keep) == []
    (folder / "note-3.md").write_text("other")
    (folder / "note-4.md").unlink()
    (folder / "new.md").write_text("new")
    assert read_again(folder, keep) == [(0, 2), (1, 2)]
    assert read_again(folder, keep) == []


def test_only_the_user_can_read_it(folder: Path, tmp_path: Path) -> None:
    keep = tmp_path / "cache" / "kept"
    known = load_library(folder, keep)
    assert {stat.S_IMODE(path.stat().st_mode) for path in keep.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(keep.parent.stat().st_mode) == 0o700
    assert len(known.articles) == 30


@pytest.mark.parametrize("damage", [b"", b"no database", b"SQLite format 3\0" + b"\0" * 5_000, None])
def test_a_damaged_file_is_made_anew(folder: Path, tmp_path: Path, damage: bytes | None) -> None:
    keep = tmp_path / "kept"
    load_library(folder, keep)
    keep.write_bytes(keep.read_bytes()[:9_000] if damage is None else damage)
    assert opened(folder, keep) == opened(folder)
    assert read_again(folder, keep) == []


def test_damage_that_a_search_meets_is_told_and_read_anew_the_next_time(folder: Path, tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    load_library(folder, keep)
    with closing(sqlite3.connect(keep)) as connection, connection:
        connection.execute("DELETE FROM passages_docsize")
    known = load_library(folder, keep)
    with pytest.raises(UsageError, match="the cache of the articles is damaged"):
        Search(known).find("cache")
    assert opened(folder, keep) == opened(folder)


@given(st.integers(0, 2**32))
def test_wherever_bytes_are_flipped_it_opens(seed: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder, keep, at = Path(place, "notes"), Path(place, "kept"), Random(seed)
        folder.mkdir()
        for number in range(9):
            (folder / f"{number}.md").write_text(f"# Note {number}\n\ncache {number}\n")
        load_library(folder, keep)
        whole = bytearray(keep.read_bytes())
        for _ in range(at.randrange(1, 2_000)):
            whole[at.randrange(100, len(whole))] = at.randrange(256)
        keep.write_bytes(whole)
        with suppress(UsageError):  # it is deleted then
            Search(load_library(folder, keep)).find("cache")
            return
        assert opened(folder, keep) == opened(folder)


def test_another_version_is_made_anew(folder: Path, tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    load_library(folder, keep)
    with closing(sqlite3.connect(keep)) as connection:
        connection.execute("PRAGMA user_version = 1")
    assert len(read_again(folder, keep)) == 30


def test_where_it_cannot_be_kept_it_is_read_into_memory(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert opened(folder, tmp_path / "file" / "kept") == opened(folder)
    (tmp_path / "kept").mkdir()
    assert opened(folder, tmp_path / "kept") == opened(folder)


def test_an_open_session_does_not_see_what_another_one_finds(folder: Path, tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    known = load_library(folder, keep)
    before = said(known)
    (folder / "note-3.md").write_text("# Another\n\ncache cache")
    (folder / "note-4.md").unlink()
    assert opened(folder, keep) == opened(folder)
    assert said(known) == before


def test_ctrl_c_keeps_whole_articles_only(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep, steps = tmp_path / "kept", count()
    monkeypatch.setattr("thimble.corpus.kept.FILES_PER_COMMIT", 4)

    def stop(done: int, of: int) -> None:
        if next(steps) == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_library(folder, keep, stop)
    assert read_again(folder, keep) == [(done, 18) for done in range(18)]


def test_threads_may_make_it_at_once(folder: Path, tmp_path: Path) -> None:
    right = opened(folder)
    with ThreadPoolExecutor(8) as pool:
        assert all(known == right for known in pool.map(lambda _: opened(folder, tmp_path / "kept"), range(16)))
    assert read_again(folder, tmp_path / "kept") == []
    assert {path.name for path in tmp_path.iterdir()} == {"notes", "kept"}


def test_a_file_that_vanishes_meanwhile_is_left_out_and_looked_for_again(folder: Path, tmp_path: Path) -> None:
    keep, gone = tmp_path / "kept", folder / "note-7.md"
    text = gone.read_text()
    known = load_library(folder, keep, lambda done, of: gone.unlink(missing_ok=True))
    assert [skip[:2] for skip in known.skipped] == [("note-7.md", "No such file or directory")]
    gone.write_text(text)
    assert read_again(folder, keep) == [(0, 1)]


@pytest.fixture
def crowd() -> Iterator[Library]:
    with tempfile.TemporaryDirectory() as place:
        for number in range(700):
            Path(place, f"a-note-on-{number}.md").write_text("text")
        yield load_library(Path(place))


def test_a_slug_that_is_nearly_right_is_found_among_many(crowd: Library) -> None:
    with pytest.raises(UsageError, match="nearest: a-note-on-699"):
        crowd.get("anote-on-699")
