"""How long does a user wait for a folder of 20,000 notes?

    python benchmarks/corpus.py                    # a table in Markdown
    python benchmarks/corpus.py --check            # exits 1 if something takes longer than its bound
    python benchmarks/corpus.py --notes 2000

The notes are made up: 500 words each in four sections, with front matter, and with the word frequencies of a language
(Zipf). *First*, *again* and *10 changed* each measure a new process, `thimble --backend reader -p`, from its start to
its answer, minus the time with the built-in articles. The others are the slowest of three calls in one process.

Times are seconds of CPU time, which other work on the machine hardly changes. On an idle machine with the files in
memory they equal wall time.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import accumulate, islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from thimble.agent.errors import ToolError
from thimble.corpus.library import ARTICLES
from thimble.repl.prompt.completion import Completions
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.tools.articles import ArticleTools

PROJECT = Path(__file__).resolve().parent.parent
NOTES, CHANGED = 20_000, 10
FIRST_A_NOTE, AGAIN, PLEASANT = 0.003, 1.5, 0.8
SYLLABLES = [first + vowel + last for first in "bdfgklmnprstvz" for vowel in "aeiou" for last in ("", "n", "r", "s")]
COMMON = 60
"""The rank of a word that occurs in a quarter of all sections: the first ranks are like `the` and `of`."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true", help="exit with 1 if a bound is missed")
    options.add_argument("--notes", type=int, default=NOTES, metavar="N", help=f"notes in the folder ({NOTES:,})")
    given = options.parse_args()
    missed = False
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"HOME": home, "XDG_CACHE_HOME": home, "XDG_STATE_HOME": home}
        folder = Path(home, "notes")
        write(folder, given.notes)
        print(f"| {given.notes:,} notes | seconds | bound |\n|---|--:|--:|")
        for name, seconds, bound in measured(folder, given.notes):
            missed = missed or seconds > bound
            print(f"| {name} | {seconds:.2f} | {bound:g}{', MISSED' * (seconds > bound)} |", flush=True)
        kept = max(path.stat().st_size for path in Path(home, "thimble", "articles").glob("*.sqlite"))
        print(f"\nKept on disk: {kept / 1e6:,.0f} MB")
    print(f"Memory of a session: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")
    return int(given.check and missed)


def measured(folder: Path, notes: int) -> Iterator[tuple[str, float, float]]:
    """The name of each measurement, its seconds and its bound."""
    usual = min(answered() for _ in range(3))
    yield "first", answered(folder) - usual, FIRST_A_NOTE * notes
    yield "again", min(answered(folder) for _ in range(3)) - usual, AGAIN
    for path in islice(sorted(folder.rglob("*.md")), CHANGED):
        path.write_text(path.read_text("utf-8") + "changed\n", "utf-8")
    yield "10 changed", answered(folder) - usual, AGAIN
    session = Session(Settings(backend="reader", corpus=folder))
    tools, completions = ArticleTools(session.library), Completions(session)
    words = vocabulary()
    title = session.library.articles[notes // 2].title
    calls: dict[str, Callable[[], object]] = {
        "list_articles": tools.list_articles,
        "list_articles, a topic": lambda: tools.list_articles(words[COMMON]),
        "search_articles, common words": lambda: tools.search_articles(" ".join(words[COMMON : COMMON + 3])),
        "search_articles, the most common word": lambda: tools.search_articles(words[0]),
        "read_article, a slug": lambda: tools.read_article("note-00007"),
        "read_article, a title": lambda: tools.read_article(title),
        "read_article, nearly a slug": lambda: tools.read_article("note-0007x"),
        "Tab on a slug": lambda: list(completions.get_completions(Document("read note-00"), CompleteEvent())),
    }
    for name, call in calls.items():
        yield name, max(seconds(call) for _ in range(3)), PLEASANT


def answered(folder: Path = ARTICLES) -> float:
    """Seconds from the start of a thimble with one question to its answer."""
    command = [sys.executable, "-m", "thimble", "--backend", "reader", "--corpus", str(folder), "-p", "Hello"]
    environ = {**os.environ, "PYTHONPATH": str(PROJECT)}
    quiet = subprocess.DEVNULL
    return seconds(lambda: subprocess.run(command, env=environ, check=True, stdout=quiet, stderr=quiet))


def seconds(call: Callable[[], object]) -> float:
    """The seconds of CPU time of a call, in this process and its children."""
    started = sum(os.times()[:4])
    with suppress(ToolError):
        call()
    return sum(os.times()[:4]) - started


def vocabulary() -> list[str]:
    """Invented words, the most common first."""
    chance = random.Random(7)
    every = dict.fromkeys("".join(chance.choices(SYLLABLES, k=chance.randint(1, 3))) for _ in range(40_000))
    return [word for word in every if len(word) > 2]


def write(folder: Path, notes: int) -> None:
    """Write made-up notes; the same number gives the same notes."""
    chance, known = random.Random(8), vocabulary()
    weights = list(accumulate(1 / (rank + 5) for rank in range(len(known))))
    for number in range(notes):
        path = folder / f"{number % 40:02}" / f"note-{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        words = iter(chance.choices(known, cum_weights=weights, k=620))
        path.write_text(note(words, number), encoding="utf-8")


def note(words: Iterator[str], number: int) -> str:
    """One note."""

    def take(many: int) -> list[str]:
        return list(islice(words, many))

    text = [f"---\ntitle: {' '.join(take(4))} {number}\ntags: [{', '.join(take(2))}]\ndate: 2026-01-02\n---\n"]
    for _ in range(4):
        text.append(f"## {' '.join(take(3))}\n")
        text += [". ".join(" ".join(take(10)).capitalize() for _ in range(4)) + ".\n" for _ in range(3)]
    return "\n".join(text)


if __name__ == "__main__":
    sys.exit(main())
