"""Ask the built-in reader strangers' questions, and count a judge's verdicts on its answers.

    python -m scripts.strangers questions.jsonl > answers.jsonl
    python -m scripts.strangers questions.jsonl --bm25 > answers.jsonl   # a plain BM25 instead of the reader
    python -m scripts.strangers --judged answers.jsonl verdicts.jsonl    # the table, by kind

A line of the questions is `{"id", "kind", "turns": [question, ...]}`; the turns of one line share a session. A line of
the answers is one turn: `{"id", "kind", "turn", "question", "ending", "score", "answer", "passages", "cited"}`. A line
of the verdicts is `{"id", "turn", "verdict"}`: one of `FATES`, from somebody who has read the answer and the articles.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import log
from pathlib import Path
from typing import Any

from thimble.agent.events import Answered
from thimble.corpus.library import load_library
from thimble.corpus.observations import parse_observation
from thimble.corpus.passages import split_passages
from thimble.corpus.score import cited_sources
from thimble.lab.exit_code import exit_code
from thimble.models import READER
from thimble.session.parser import Parser
from thimble.session.session import Session
from thimble.session.settings import Settings

ROOM_ENOUGH = 64_000
NEAREST = 3
SURE, NEAR = 8.0, 4.0
"""The minimum scores at which the plain BM25 answers, and at which it shows passages."""

FATES = ("right", "shown", "near", "declined", "wrong")
"""The outcomes of a question: the answer is right or wrong, passages have it or not, or it is declined."""

Item = Mapping[str, Any]


def ask(item: Item) -> Iterator[dict[str, Any]]:
    """The reader's answer to each turn, in a new session."""
    session = Session(Settings(backend=READER, strategy="none", budget=ROOM_ENOUGH))
    for turn, question in enumerate(item["turns"], 1):
        before = len(session.agent.history)
        answered = next(event for event in session.ask(question) if isinstance(event, Answered))
        results = (
            parse_observation(one.content, one.name) for one in session.agent.history[before:] if one.role == "tool"
        )
        found = sorted((one for shows in results for one in shows.said if one.score), key=lambda one: -one.score)
        score = found[0].score if found else 0.0
        yield _line(item, turn, answered.text, answered.ending, score, [f"[{one.source}] {one.text}" for one in found])


def _line(item: Item, turn: int, answer: str, ending: str, score: float, found: Sequence[str]) -> dict[str, Any]:
    told = {"id": item["id"], "kind": item["kind"], "turn": turn, "question": item["turns"][turn - 1]}
    return told | {
        "ending": ending,
        "score": round(score, 3),
        "answer": answer,
        "passages": found[:NEAREST],
        "cited": sorted(cited_sources(answer)),
    }


class PlainSearch:
    """A minimal baseline: BM25 over the passages of the articles, each turn by itself, without other rules."""

    def __init__(self) -> None:
        self._said = [
            (article.slug, one.text)
            for article in load_library().articles
            for section in article.sections
            for one in split_passages(section.text)
        ]
        self._counts = [Counter(re.findall(r"\w+", text.lower())) for _, text in self._said]
        self._often = Counter(word for counts in self._counts for word in counts)
        self._mean = sum(counts.total() for counts in self._counts) / len(self._counts)

    def ask(self, item: Item) -> Iterator[dict[str, Any]]:
        """The answer to each turn."""
        for turn, question in enumerate(item["turns"], 1):
            asked = set(re.findall(r"\w+", question.lower()))
            scores = sorted(((self._score(asked, at), at) for at in range(len(self._said))), reverse=True)[:NEAREST]
            found = ["{1} [{0}]".format(*self._said[at]) for _, at in scores]
            best = scores[0][0]
            ending = "answered" if best >= SURE else "passages" if best >= NEAR else "refused"
            answer = {"answered": found[0], "passages": "\n".join(found), "refused": "I cannot answer that."}[ending]
            yield _line(item, turn, answer, ending, best, found)

    def _score(self, asked: Iterable[str], at: int) -> float:
        counts, many = self._counts[at], len(self._said)
        long = 0.25 + 0.75 * counts.total() / self._mean
        return sum(
            log(1 + (many - self._often[word] + 0.5) / (self._often[word] + 0.5))
            * (counts[word] * 2.2)
            / (counts[word] + 1.2 * long)
            for word in asked
            if counts[word]
        )


def table(answers: Iterable[Item], verdicts: Iterable[Item]) -> Iterator[str]:
    """The verdicts by kind, in percent, as lines of Markdown; the first turns alone, then those of dialogues."""
    of = {(one["id"], one["turn"]): one["verdict"] for one in verdicts}
    rows: dict[str, list[str]] = defaultdict(list)
    for one in answers:
        verdict = of[one["id"], one["turn"]]
        rows[one["kind"]].append(verdict)
        rows["**all**"].append(verdict)
    yield "| | asked | right | right passage shown | other passages | declined | wrong |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for kind in [*(kind for kind in rows if kind != "**all**"), "**all**"]:
        shares = (f"{rows[kind].count(fate) / len(rows[kind]):.0%}".replace("%", " %") for fate in FATES)
        yield f"| {kind} | {len(rows[kind])} | {' | '.join(shares)} |"


def main(arguments: Sequence[str]) -> None:
    """Print the answers, or the table."""
    parser = Parser("python -m scripts.strangers", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="the questions; or answers and verdicts")
    parser.add_argument("--bm25", action="store_true", help="ask a plain BM25")
    parser.add_argument("--judged", action="store_true", help="print the table of answers and verdicts")
    options = parser.parse_args(arguments)
    files = [[json.loads(line) for line in path.read_text("utf-8").splitlines()] for path in options.files]
    if options.judged:
        print("\n".join(table(*files)))
        return
    asked = PlainSearch().ask if options.bm25 else ask
    for item in files[0]:
        for line in asked(item):
            print(json.dumps(line, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    sys.exit(exit_code("python -m scripts.strangers", partial(main, sys.argv[1:])))
