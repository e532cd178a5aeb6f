"""Kept embeddings: as fresh ones, made once, and never in the way of a session."""

from __future__ import annotations

import random
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.embedding import NUMBERS, Counting
from thimble.agent.errors import ModelError
from thimble.models.embeddings.kept import TEXTS_PER_COMMIT, KeptEmbedder

TEXTS = st.lists(st.text(alphabet="ab \ud800é", max_size=6), max_size=20)
MANY = [f"text {number}" for number in range(2 * TEXTS_PER_COMMIT + 5)]


@given(st.lists(TEXTS, max_size=4))
def test_kept_rows_are_fresh_rows_and_no_text_is_embedded_twice(calls: list[list[str]]) -> None:
    with TemporaryDirectory() as folder:
        inner = Counting()
        for texts in calls:
            rows = KeptEmbedder(inner, Path(folder)).embed(texts)
            fresh = Counting().embed(texts)
            assert rows.shape == fresh.shape
            assert rows.dtype == np.float32
            assert np.allclose(rows, fresh, atol=1e-3)
            lengths = np.linalg.norm(rows, axis=1)
            assert np.all((lengths == 0) | (np.abs(lengths - 1) < 1e-6))
            assert np.array_equal(rows, KeptEmbedder(Counting(), Path(folder)).embed(texts))
        asked = [text for texts in inner.asked for text in texts]
        assert len(asked) == len(set(asked))


def test_progress_tells_how_many_of_the_new_ones_are_done(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    KeptEmbedder(Counting(), tmp_path).embed(MANY[:3])
    kept = KeptEmbedder(Counting(), tmp_path, lambda done, of: told.append((done, of)))
    kept.embed(MANY)
    new = len(MANY) - 3
    assert told == [(0, new), (TEXTS_PER_COMMIT, new), (2 * TEXTS_PER_COMMIT, new), (new, new)]
    kept.embed(MANY)
    assert len(told) == 4


def test_each_model_has_a_file_that_only_its_user_reads(tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    for name in ("one", "../another"):
        KeptEmbedder(Counting(name=name), folder).embed(["text"])
    files = [*folder.iterdir()]
    assert len(files) == 2
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not any(b"text" in file.read_bytes().replace(b"CREATE TABLE vectors(text", b"") for file in files)


def test_vectors_before_an_error_are_kept(tmp_path: Path) -> None:
    inner = Counting()

    def end(done: int, of: int) -> None:
        inner.fails = done >= TEXTS_PER_COMMIT

    with pytest.raises(ModelError):
        KeptEmbedder(inner, tmp_path, end).embed(MANY)
    again = Counting()
    KeptEmbedder(again, tmp_path).embed(MANY)
    assert sum(map(len, again.asked)) == len(MANY) - TEXTS_PER_COMMIT


def damage(path: Path, how: int) -> None:
    """Spoil a file in one of several ways."""
    data = path.read_bytes()
    dice = random.Random(how)
    match how % 5:
        case 0:
            path.write_bytes(data[: dice.randrange(len(data))])
        case 1:
            path.write_bytes(dice.randbytes(len(data)))
        case 2:
            spoilt = bytearray(data)
            for _ in range(50):
                spoilt[dice.randrange(len(data))] = dice.randrange(256)
            path.write_bytes(spoilt)
        case 3:
            with sqlite3.connect(path) as file:
                file.execute("UPDATE vectors SET vector = ?", (dice.choice([b"", b"odd", "text", b"\0\x7e" * 16]),))
            file.close()
        case 4:
            with sqlite3.connect(path) as file:
                file.execute("UPDATE vectors SET vector = substr(vector, 1, 8) WHERE text > x'80'")
            file.close()


@pytest.mark.parametrize("how", range(40))
def test_a_damaged_file_stops_nobody_and_is_made_anew(how: int, tmp_path: Path) -> None:
    texts = MANY[:60]
    right = KeptEmbedder(Counting(), tmp_path).embed(texts)
    damage(KeptEmbedder(Counting(), tmp_path).path, how)
    for _ in range(2):
        assert np.allclose(KeptEmbedder(Counting(), tmp_path).embed(texts), right, atol=0.2)


def test_a_locked_file_is_gone_round(tmp_path: Path) -> None:
    kept = KeptEmbedder(Counting(), tmp_path)
    right = kept.embed(["one"])
    with sqlite3.connect(kept.path) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        assert np.array_equal(kept.embed(["one"]), right)
        writer.rollback()
    writer.close()


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_cannot_be_written_is_gone_round(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    assert KeptEmbedder(Counting(), tmp_path / place).embed(["one"]).shape == (1, NUMBERS)


def test_threads_share_a_file(tmp_path: Path) -> None:
    def embed(number: int) -> bool:
        texts = MANY[number * 20 : number * 20 + 60]
        return np.allclose(KeptEmbedder(Counting(), tmp_path).embed(texts), Counting().embed(texts), atol=1e-3)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(embed, range(16)))
