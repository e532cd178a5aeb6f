"""Measure the benefit of caching static embeddings: seconds of CPU time for passages of the shipped articles.

    python benchmarks/embeddings.py

"fresh" embeds and writes the cache, "kept" reads it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from thimble.corpus.library import load_library
from thimble.models.embeddings.kept import KeptEmbedder
from thimble.models.embeddings.static import static_embedder
from thimble.strategies.retrieval import PASSAGE_TEXT

ARTICLES = Path(__file__).resolve().parent.parent / "thimble" / "corpus" / "articles"
COUNTS = (1, 100, 1_500, 20_000)


def passages(count: int) -> list[str]:
    """This many different passages, as long as the articles' own."""
    found = [
        m[0]
        for each in load_library(ARTICLES).articles
        for part in each.sections
        for m in PASSAGE_TEXT.finditer(part.text)
    ]
    return [f"{number} {found[number % len(found)]}" for number in range(count)]


def seconds(task: Callable[[], object]) -> float:
    started = process_time()
    task()
    return process_time() - started


def main() -> None:
    static = static_embedder()
    if static is None:
        raise SystemExit("the package wordllama is not installed: pip install --no-deps wordllama")
    static.embed(["The files are read."])
    print(f"{'passages':>8} {'static':>8} {'fresh':>8} {'kept':>8} {'bytes each':>10}")
    for count in COUNTS:
        texts = passages(count)
        with tempfile.TemporaryDirectory() as folder:
            kept = KeptEmbedder(static, Path(folder))
            times = [seconds(lambda: each.embed(texts)) for each in (static, kept, kept)]  # noqa: B023
            size = kept.path.stat().st_size // count
        print(f"{count:8,} {' '.join(f'{time:8.3f}' for time in times)} {size:10,}")


if __name__ == "__main__":
    main()
