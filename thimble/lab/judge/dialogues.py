"""Dialogues of a contest: made with a seed or recorded, each with facts planted in its results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from thimble.agent.messages import Message, ToolCall, turns
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
Dialogue = tuple[Trajectory, Sequence[str]]
"""A run, and the facts planted in its results."""


def generated(seed: int) -> list[Trajectory]:
    """Runs that read articles, some of them again; the same for the same seed."""
    random, library = Random(seed), load()
    tools, slugs = ArticleTools(library), [article.slug for article in library.articles]
    runs = []
    for number in range(1, DIALOGUES + 1):
        known: list[str] = []
        messages = [Message("", "system", SYSTEM)]
        for _ in range(EXCHANGES):
            messages.append(Message("", "user", f"What do we know about {random.choice(slugs).replace('-', ' ')}?"))
            for _ in range(random.randint(1, READS)):
                known.append(random.choice(known if known and random.random() < AGAIN else slugs))
                call = ToolCall(f"call_{len(known)}", "read_article", json.dumps({"slug": known[-1]}))
                messages.append(Message("", "assistant", f"I read {known[-1]}.", calls=(call,)))
                messages.append(Message("", "tool", tools.read_article(known[-1]), call_id=call.id, name=call.name))
            messages.append(Message("", "assistant", f"That is in {known[-1]}."))
        runs.append(Trajectory(f"dialogue {number}", messages))
    return runs


def planted(run: Trajectory, seed: int) -> Dialogue:
    """The run, repaired, with a fact as a line of its own in some of the results that its last call could be sent."""
    random, messages = Random(f"{seed} {run.name}"), repair(run.messages).messages
    last = max((turn.start for turn in turns(messages)), default=0)
    results = [at for at, message in enumerate(messages[:last]) if message.role == "tool"]
    facts = []
    for at in random.sample(results, min(FACTS, len(results))):
        facts.append(f"K{random.randrange(10**9):09}")
        lines = messages[at].content.split("\n")
        lines.insert(random.randint(0, len(lines)), f"The key of this part is {facts[-1]}.")
        messages[at] = replace(messages[at], content="\n".join(lines))
    return replace(run, messages=messages), facts
