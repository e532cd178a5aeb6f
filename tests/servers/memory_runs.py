"""Runs of the reader in full context, over libraries of made-up words: what a memory model is trained on.

All questions are asked once and then again, so that the agent acts by what it remembers.

python -m tests.servers.memory_runs NUMBER > RUNS.jsonl
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from tests.servers.tiny.corpora import corpus
from tests.servers.tiny.words import Split
from thimble.agent.agent import Agent
from thimble.agent.loop import run
from thimble.agent.messages import Message
from thimble.agent.prompts import BY_SCHEMA
from thimble.agent.side import SideModel
from thimble.agent.state import State
from thimble.corpus.library import load_library
from thimble.models import chat, make_reader
from thimble.strategies.spec import make_strategy
from thimble.tools import toolbox
from thimble.tools.notebook import Notebook

ARTICLES = 2
ATTEMPTS = 1_000
"""Seeds that a run can use up."""
TOOLS = ("list_articles", "read_article", "search_articles")
QUESTION = "What is the {attribute} of {subject}?"


def memory_run(seed: int, split: Split = "seen") -> dict[str, Any]:
    """A run in the form of a recorded trajectory; the same for the same seed."""
    with TemporaryDirectory() as folder:
        asked, place = library(Path(folder), seed, split)
        reader, state = make_reader(), State("none", 1_000_000)
        every = toolbox(load_library(place), Path(folder), Notebook())
        tools = {name: every[name] for name in TOOLS}
        agent = Agent(reader, make_strategy("none", None), state, tools, SideModel(reader))
        for text in asked:
            for _ in run(agent, text):
                pass
    messages = [Message("m0", "system", BY_SCHEMA), *agent.history[1:]]
    return {
        "id": f"{split}-{seed}",
        "tools": agent.schemas(),
        "messages": [chat.write_message(one) for one in messages],
    }


def library(folder: Path, seed: int, split: Split) -> tuple[list[str], Path]:
    """Questions about articles, and the folder of these.

    The reader takes what it said before for an answer to three words or more.
    """
    for attempt in range(ATTEMPTS):
        place = folder / str(attempt)
        questions = corpus(place, ATTEMPTS * seed + attempt, split, ARTICLES)
        if all(" " in question.attribute for question in questions):
            texts = [QUESTION.format(attribute=one.attribute, subject=one.subject) for one in questions]
            return [*texts, *Random(seed).sample(texts, len(texts))], place
    raise AssertionError(seed)


def memory_runs(number: int) -> Iterator[str]:
    """So many runs, a line each."""
    return (json.dumps(memory_run(seed), ensure_ascii=False) for seed in range(number))


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in memory_runs(int(sys.argv[1])))
