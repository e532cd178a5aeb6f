"""Static embeddings: a unit row for each text, near where the words are alike, from files that may be missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.paths import ROOT
from thimble.models.embeddings import static
from thimble.models.embeddings.static import StaticEmbedder, static_embedder

EMBEDDER = static_embedder()
pytestmark = pytest.mark.skipif(EMBEDDER is None, reason="wordllama is not installed")


@given(st.lists(st.text(max_size=40) | st.just("half \ud83d"), max_size=12))
def test_each_text_has_a_unit_row_whatever_stands_beside_it(texts: list[str]) -> None:
    assert EMBEDDER
    rows = EMBEDDER.embed(texts)
    assert rows.shape == (len(texts), 256)
    lengths = np.linalg.norm(rows, axis=1)
    assert np.all((lengths == 0) | (np.abs(lengths - 1) < 1e-5))
    assert np.array_equal(rows, np.array([EMBEDDER.embed([text])[0] for text in texts]).reshape(-1, 256))


def test_words_that_are_alike_are_near() -> None:
    assert EMBEDDER
    near = EMBEDDER.embed(["a cat sleeps", "a kitten is napping", "the central bank raises interest rates"])
    cosines = near @ near.T
    assert cosines[0, 1] > 0.4 > 0.2 > cosines[0, 2]


def test_without_the_package_or_one_of_its_files_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    anew = static_embedder.__wrapped__  # once found, it is the same in a process
    (tmp_path / "wordllama" / "weights").mkdir(parents=True)
    (tmp_path / "wordllama" / "__init__.py").touch()
    (tmp_path / "wordllama" / static.VECTORS_FILE).touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert anew() is None
    (tmp_path / "wordllama" / "tokenizers").mkdir()
    (tmp_path / "wordllama" / static.TOKENIZER).touch()
    assert isinstance(anew(), StaticEmbedder)
    (tmp_path / "wordllama" / "__init__.py").unlink()
    monkeypatch.setattr(sys, "path", [])
    assert anew() is None


def test_nothing_of_wordllama_or_of_a_network_is_imported() -> None:
    code = (
        "import sys\n"
        "from thimble.models.embeddings.static import static_embedder\n"
        "made = static_embedder()\n"
        "assert not {'numpy', 'tokenizers', 'sqlite3'} & {*sys.modules}\n"
        "made.embed(['text'])\n"
        "print({'wordllama', 'huggingface_hub', 'requests', 'safetensors'} & {*sys.modules})\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr) == ("set()\n", "")
