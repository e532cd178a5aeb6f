"""How good is it? Sessions of thimble over libraries that it has not seen, greedy; what came of each is judged.

python -m tests.servers.tiny.evaluation                  # writes the model card
python -m tests.servers.tiny.evaluation FOLDER ASKED     # of another model, so many questions a row; writes no card
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Literal

import torch

from tests.servers.tiny.card import card
from tests.servers.tiny.corpora import SOUND, Question, articles, corpus, library, question
from tests.servers.tiny.local import Local
from tests.servers.tiny.template import FOLDER
from tests.servers.tiny.words import Split
from thimble.agent.agent import Agent
from thimble.agent.events import Answered, Event, Replied, ToolCalled, ToolReturned
from thimble.agent.loop import run
from thimble.agent.protocols import Tool
from thimble.agent.side import SideModel
from thimble.agent.state import State
from thimble.corpus.library import load
from thimble.lab.statistics import wilson
from thimble.strategies.spec import parse
from thimble.tools import toolbox
from thimble.tools.notebook import Notebook

ASKED = 200
SEED = 1_000_000
"""Of the first question. The training data has another."""
SEEDS = 40
"""Libraries that are tried for the tests."""
STRATEGY = "observation-masking"
TURNS = 4


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of question: words of a split, articles of up to so many facts, and what list it takes."""

    name: str
    split: Split
    kind: Literal["subject", "group"] = "subject"
    most_facts: int = 1
    exchanges: int = 1


ROWS = (
    Row("one fact, words seen", "seen"),
    Row("one fact, new words", "new"),
    Row("one fact, words seen, listed by group", "seen", "group"),
    Row("one fact, new words, listed by group", "new", "group"),
    Row("one fact, new words, third question of a session", "new", exchanges=3),
    Row("two or three facts, words seen", "seen", most_facts=3),
    Row("two or three facts, new words", "new", most_facts=3),
)


@dataclass(frozen=True, slots=True)
class Mark:
    """What came of a question. `calls` is how many of its two calls were made; `said` is for a look at mistakes."""

    calls: int
    order: bool
    slug: bool
    answer: bool
    said: tuple[str, ...]


def ask(folder: Path, row: Row, seed: int) -> Mark:
    """Hold one session with the model of a folder; its last question is judged."""
    backend = _model(folder)
    random = Random(seed)
    written = articles(random, row.split, random.choice((3, 4, 5, 6)), row.most_facts)
    tools = toolbox(library(written), Path(), Notebook())
    agent = _agent(backend, tools)
    for _ in range(row.exchanges):
        asked = question(random, random.choice(written), row.kind)
        events = list(run(agent, asked.text))
    return judge(asked, events)


def _agent(backend: Local, tools: Mapping[str, Tool]) -> Agent:
    side = SideModel(backend)
    return Agent(backend, parse(STRATEGY, side), State(STRATEGY), tools, side, max_turns=TURNS)


def judge(asked: Question, events: Sequence[Event]) -> Mark:
    """What came of a question, by the events of its exchange.

    A call counts when it is valid JSON for a tool that there is. The slug is the first that was read. An answer is
    right when it holds the value and cites the article.
    """
    calls = [event.call for event in events if isinstance(event, ToolCalled)]
    known = [call.name for call in calls if call.name in ("list_articles", "read_article")]
    read = [json.loads(call.arguments).get("slug") for call in calls if call.name == "read_article"]
    answer = next(event.text for event in events if isinstance(event, Answered))
    right = asked.answer in answer and f"[{asked.slug}]" in answer
    replies = (event.message for event in events if isinstance(event, Replied))
    said = (f"{reply.content} {' '.join(call.arguments for call in reply.calls)}" for reply in replies)
    results = (event.message.content for event in events if isinstance(event, ToolReturned))
    order = known == ["list_articles", "read_article"]
    return Mark(min(2, len(known)), order, read[:1] == [asked.slug], right, (asked.text, *said, *list(results)[-1:]))


def table(folder: Path, asked: int, pool: Executor) -> Iterator[str]:
    """The figures as lines of Markdown; every answer that was wrong goes to standard error."""
    yield "| | calls parsed | list, then read | right slug | right answer |"
    yield "|---|--:|--:|--:|--:|"
    for number, row in enumerate(ROWS):
        first = SEED + 10_000 * number
        marks = list(pool.map(partial(ask, folder, row), range(first, first + asked), chunksize=10))
        cells = [share(sum(mark.calls for mark in marks), 2 * asked)]
        cells += [share(sum(getattr(mark, name) for mark in marks), asked) for name in ("order", "slug", "answer")]
        yield f"| {row.name} | {' | '.join(cells)} |"
        for mark in marks:
            if not mark.answer:
                print(row.name, *mark.said, sep="\n    ", file=sys.stderr)


def answers_all(folder: Path, seed: int) -> bool:
    """Whether every question of the library that `corpora.corpus` writes is answered right, and by both calls.

    Each question is asked in a session of its own, and all of them in one.
    """
    backend = _model(folder)
    with TemporaryDirectory() as name:
        questions = corpus(Path(name), seed)
        tools = toolbox(load(Path(name)), Path(name), Notebook())
    for session in [*([one] for one in questions), questions]:
        agent = _agent(backend, tools)
        marks = [judge(asked, list(run(agent, asked.text))) for asked in session]
        if not all(mark.order and mark.slug and mark.answer for mark in marks):
            return False
    return True


@cache
def _model(folder: Path) -> Local:
    """The model of a folder, for this process."""
    torch.set_num_threads(1)
    return Local(folder)


def share(right: int, of: int) -> str:
    """A share with its 95 % interval."""
    low, high = wilson(right, of)
    return f"{right / of:.1%} ({low:.0%} to {high:.0%})".replace("%", " %").replace(" % to", " to")


def main(arguments: Sequence[str]) -> None:
    """Measure a model, and write its card if it is the one of this folder."""
    folder = Path(arguments[0]) if arguments else FOLDER
    asked = int(arguments[1]) if arguments[1:] else ASKED
    lines = []
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        for line in table(folder, asked, pool):
            print(line, flush=True)
            lines.append(line)
        right = pool.map(partial(answers_all, folder), range(SEEDS))
        sound = [seed for seed, every in enumerate(right) if every]
    print(f"All questions right: {len(sound)} of {SEEDS} libraries")
    if not arguments:
        (folder / SOUND).write_text(f"{json.dumps(sound)}\n", "utf-8")
        (folder / "README.md").write_text(card("\n".join(lines), asked, f"{len(sound)} of {SEEDS}"), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
