"""Dialogues of a contest: generated or recorded, each with facts of its results that a view should keep."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from random import Random

from thimble.agent.messages import Message, ToolCall, last_turn, turns
from thimble.agent.prompts import SYSTEM_PROMPT
from thimble.agent.repair import repair
from thimble.commands.trajectories import Trajectory
from thimble.corpus.library import load_library
from thimble.tools.articles import ArticleTools

DIALOGUES, EXCHANGES, READS = 4, 6, 3
"""The number of generated dialogues, the questions of each, and the maximum articles read for a question."""
AGAIN = 0.3
"""The probability of reading an article a second time."""
FACTS, FACT_WORDS = 6, 8
"""The facts of a dialogue, at most one from each result, and the words of a fact."""
Dialogue = tuple[Trajectory, Sequence[str]]
"""A run, and facts of its tool results."""


def generate_runs(seed: int) -> list[Trajectory]:
    """Generate runs that read articles, some of them twice; the same for the same seed."""
    random, library = Random(seed), load_library()
    tools, slugs = ArticleTools(library), [article.slug for article in library.articles]
    runs = []
    for number in range(1, DIALOGUES + 1):
        known: list[str] = []
        messages = [Message("", "system", SYSTEM_PROMPT)]
        for _ in range(EXCHANGES):
            messages.append(Message("", "user", f"What do we know about {random.choice(slugs).replace('-', ' ')}?"))
            for _ in range(random.randint(1, READS)):
                known.append(random.choice(known if known and random.random() < AGAIN else slugs))
                call = ToolCall(f"call_{len(known)}", "read_article", json.dumps({"slug": known[-1]}))
                messages.append(Message("", "assistant", f"I read {known[-1]}.", calls=(call,)))
                messages.append(Message("", "tool", tools.read_article(known[-1]), call_id=call.id, name=call.name))
            messages.append(Message("", "assistant", f"That is in {known[-1]}."))
        runs.append(Trajectory(f"dialogue {number}", repair(messages).messages))  # which gives them ids
    return runs


def plant_facts(run: Trajectory, seed: int) -> Dialogue:
    """The run, and facts of some of its results, drawn with the seed."""
    return run, facts_of(run.messages, Random(f"{seed} {run.name}"), FACTS)


def facts_of(messages: Sequence[Message], random: Random, most: int) -> list[str]:
    """Consecutive words from at most `most` results before the last turn, drawn so that no pattern finds them.

    Words that also occur in another message are not a fact: every view shows them.
    """
    last = max((turn.start for turn in turns(messages)), default=0)
    words = {at: one.content.split() for at, one in enumerate(messages[:last]) if one.role == "tool"}
    long = [at for at, of in words.items() if len(of) >= FACT_WORDS]
    shown = _words(message for at, message in enumerate(messages) if at not in words)
    facts = []
    for at in random.sample(long, min(most, len(long))):
        start = random.randrange(len(words[at]) - FACT_WORDS + 1)
        facts.append(" ".join(words[at][start : start + FACT_WORDS]))
    return [fact for fact in facts if fact not in shown]


def shown_facts(facts: Sequence[str], calls: Iterable[tuple[Sequence[Message], Sequence[Message]]]) -> Iterator[bool]:
    """For each call (history, view) and each fact before the last turn: whether the view has the words of the fact."""
    for history, view in calls:
        earlier, said = _words(history[: last_turn(history)]), _words(view)
        yield from (fact in said for fact in facts if fact in earlier)


def _words(messages: Iterable[Message]) -> str:
    return " ".join(_with_blanks(message.content) for message in messages)


@lru_cache(maxsize=4_096)
def _with_blanks(text: str) -> str:
    """The text with each run of whitespace as one space."""
    return " ".join(text.split())
