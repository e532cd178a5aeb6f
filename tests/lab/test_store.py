"""The store: whatever is finished stays, in any order, over crashes; one process writes, and others are refused."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.paths import ROOT
from thimble.agent.errors import UsageError
from thimble.lab.store import Store

ROWS = st.lists(st.dictionaries(st.text(), st.text()), max_size=2)
RECORDS = st.fixed_dictionaries({"key": st.sampled_from("abcdef"), "rows": ROWS, "spent": st.floats(0, 9)})
RECORD = {"key": "a", "rows": [], "spent": 0}


@given(st.lists(st.lists(RECORDS, max_size=4), max_size=4), st.integers(0, 99))
def test_the_newest_record_of_each_key_stays_whatever_a_killed_writer_leaves(
    tmp_path_factory: pytest.TempPathFactory, times: list[list[dict[str, object]]], torn: int
) -> None:
    path = tmp_path_factory.mktemp("store") / "s.jsonl"
    kept: dict[str, object] = {}
    for records in times:
        store = Store(path, write=True)
        assert store.records() == [kept[key] for key in sorted(kept)]
        for record in records:
            store.add(record)
            kept[str(record["key"])] = record
        assert store.records() == [kept[key] for key in sorted(kept)]
        store.close()
        with path.open("ab") as file:
            file.write(b'{"key": "f", "text": "' + b"x" * torn)  # half a line
        reader = Store(path)
        assert reader.records() == [kept[key] for key in sorted(kept)]
        reader.close()


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    store = Store(path, write=True)
    store.add(RECORD)
    second = f"from pathlib import Path; from thimble.lab.store import Store; Store(Path({str(path)!r}), write=True)"
    refused = subprocess.run([sys.executable, "-c", second], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert f"another thimble lab is writing {path}" in refused.stderr
    reader = Store(path)
    store.add(RECORD | {"key": "b"})
    assert len(reader.records()) == 2
    reader.close()
    store.close()
    Store(path, write=True).close()


def test_what_is_no_store_is_one_line_and_how_to_mend_it(tmp_path: Path) -> None:
    text, older = tmp_path / "text", tmp_path / "older.db"
    text.write_text(f'{json.dumps(RECORD)}\n{json.dumps(RECORD)}\n{{"key": "a"}}\n')
    with sqlite3.connect(older) as file:
        file.execute("CREATE TABLE results (key)")
    file.close()
    before = older.read_bytes()
    for path, what in ((text, "line 3: this is not a record"), (older, "line 1: this is not a record")):
        for write in (False, True):
            with pytest.raises(UsageError, match=what):
                Store(path, write=write)
    assert older.read_bytes() == before
    for path, what in ((tmp_path / "none", "there is no store"), (tmp_path, "there is no store")):
        with pytest.raises(UsageError, match=what):
            Store(path)
    for path in (tmp_path, tmp_path / "nowhere" / "s.jsonl"):
        with pytest.raises(UsageError, match="cannot be opened"):
            Store(path, write=True)


def test_a_file_that_cannot_grow_is_one_line_and_how_to_mend_it(tmp_path: Path) -> None:
    writes = f"""if True:
        import resource
        from pathlib import Path
        from thimble.lab.store import Store
        store = Store(Path({str(tmp_path / "s.jsonl")!r}), write=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))
        store.add({{"key": "a", "rows": [], "spent": 0}})
        store.add({{"key": "b" * 99, "rows": [], "spent": 0}})
    """
    refused = subprocess.run([sys.executable, "-c", writes], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert "s.jsonl cannot be written: File too large" in refused.stderr
    store = Store(tmp_path / "s.jsonl", write=True)
    assert store.records() == [RECORD]
    store.close()
