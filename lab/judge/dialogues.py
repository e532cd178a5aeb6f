"""Dialogues of a contest: made with a seed or recorded, each with facts planted in its results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from thimble.agent.messages import Message, ToolCall
from thimble.agent.prompts import SYSTEM
from thimble.agent.repair import repair
from thimble.corpus.library import load
from thimble.lab.replay.trajectories import Trajectory
from thimble.tools.articles import ArticleTools

DIALOGUES, EXCHANGES, READS = 4, 6, 3
"""How many are made; the questions of each; the articles read for a question, at most."""
AGAIN = 0.3
"""How often an article is read that was read before."""
FACTS = 6
"""The facts planted in a dialogue, at most one in a result."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A run, and the texts planted in its results."""

    run: Trajectory
    facts: Sequence[str]


def generated(seed: int) -> list[Trajectory]:
    """Runs that read articles, some of them again; the same for the same seed."""
    random, library = Random(seed), load()
    tools, slugs = ArticleTools(library), [article.slug for article in library.articles]
    return [
        Trajectory(f"dialogue {number}", [*_numbered(_read(random, tools, slugs))])
        for number in range(1, DIALOGUES + 1)
    ]


def _read(random: Random, tools: ArticleTools, slugs: Sequence[str]) -> Iterator[Message]:
    known: list[str] = []
    yield Message("", "system", SYSTEM)
    for _ in range(EXCHANGES):
        yield Message("", "user", f"What do we know about {random.choice(slugs).replace('-', ' ')}?")
        for _ in range(random.randint(1, READS)):
            slug = random.choice(known if known and random.random() < AGAIN else slugs)
            call = ToolCall(f"call_{len(known)}", "read_article", json.dumps({"slug": slug}))
            known.append(slug)
            yield Message("", "assistant", f"I read {slug}.", calls=(call,))
            yield Message("", "tool", tools.read_article(slug), call_id=call.id, name=call.name)
        yield Message("", "assistant", f"That is in {known[-1]}.")


def _numbered(messages: Iterator[Message]) -> Iterator[Message]:
    return (replace(message, id=f"m{number}") for number, message in enumerate(messages, 1))


def planted(run: Trajectory, seed: int) -> Dialogue:
    """The run, repaired, with a fact as a line of its own in some of its results."""
    random, messages = Random(f"{seed} {run.name}"), repair(run.messages).messages
    results = [at for at, message in enumerate(messages) if message.role == "tool"]
    facts = []
    for at in random.sample(results, min(FACTS, len(results))):
        facts.append(f"K{random.randrange(10**9):09}")
        lines = messages[at].content.split("\n")
        lines.insert(random.randint(0, len(lines)), f"The key of this part is {facts[-1]}.")
        messages[at] = replace(messages[at], content="\n".join(lines))
    return Dialogue(replace(run, messages=messages), facts)
