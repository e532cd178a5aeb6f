"""A job: one question, or one whole dialogue, under one setting. Its key is the same in every process and version."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import sha256
from itertools import product
from pathlib import Path

from thimble.agent.errors import UsageError
from thimble.corpus.questions import Question
from thimble.lab.experiment_flags import named, settings_of
from thimble.models import READER
from thimble.session.settings import Settings
from thimble.strategies.spec import Kind, parse_spec

CARD = "cached=0.1,output=4"
"""The price card of a study: not that of a server's timings, so that every job has the same."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is asked, and how.

    Attributes:
        question: It is asked in a session of its own; the exchanges of a dialogue share one.
        strategy: A SPEC.
        budget: Prompt tokens that a call may use.
        model: `reader`, or KIND:NAME or KIND:NAME@URL of a server.
        seed: None for what the server takes by itself, and for the reader, which draws nothing.
        temperature: The agent's, None as for the seed. Strategies ask their model at 0.
        summariser: The model that strategies ask; "" for the agent's own.
        memory: The model that they ask in the background; "" for the summariser.
        price: A price card: strategies may decide by it, and costs are counted by it.
        code: A hash of the files that the SPEC names; "" for built-in strategies.
    """

    question: Question
    strategy: str
    budget: int = 8000
    model: str = READER
    seed: int | None = None
    temperature: float | None = None
    summariser: str = ""
    memory: str = ""
    price: str = CARD
    code: str = ""

    @property
    def digest(self) -> str:
        """A hash of the question as it is asked and scored."""
        return _digest(self.question)

    @property
    def key(self) -> str:
        """Another one for everything that can change the answer; the address of a server does not count."""
        return _hash([self.digest, named(self.model), *(getattr(self, name) for name in JOB_FIGURES)])

    @property
    def settings(self) -> Settings:
        """What its session is opened with: nothing of it comes from the files or variables of a user."""
        return settings_of(
            self.model,
            strategy=self.strategy,
            budget=self.budget,
            seed=self.seed,
            temperature=self.temperature,
            summariser=self.summariser,
            memory=self.memory,
            price=self.price,
        )


JOB_FIGURES = ("strategy", "budget", "seed", "temperature", "summariser", "memory", "price", "code")
"""The fields of a job that are written as they are."""


def fingerprint(*patterns: str) -> str:
    """The first twelve digits of a hash over the names and contents of the project's matching files."""
    root, found = Path(__file__).parents[2], sha256()
    for path in sorted(path for pattern in patterns for path in root.glob(pattern)):
        found.update(f"{path.relative_to(root).as_posix()}\n".encode() + path.read_bytes())
    return found.hexdigest()[:12]


def _hash(value: object) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


@cache
def _digest(question: Question) -> str:
    return _hash(asdict(question))


def plan(
    questions: Sequence[Question],
    strategies: Sequence[str],
    budgets: Sequence[int] = (8000,),
    models: Sequence[str] = (READER,),
    seeds: Sequence[int | None] = (None,),
    like: Job | None = None,
) -> list[Job]:
    """All combinations, each once; the other fields are as in `like`.

    One question comes under every setting before the next one, so that a part of a study compares the same questions.
    The reader draws nothing: it is asked once, whatever the seeds.

    Raises:
        UsageError: a SPEC names a file that cannot be read.
    """
    code = {spec: _code(spec) for spec in strategies}
    jobs: dict[str, Job] = {}
    for question, seed, model, budget, spec in product(questions, seeds, models, budgets, strategies):
        known = like or Job(question, spec)
        job = replace(known, question=question, strategy=spec, budget=budget, model=model, seed=seed, code=code[spec])
        job = replace(job, seed=None, temperature=None) if model == READER else job
        jobs.setdefault(job.key, job)
    return [*jobs.values()]


def _code(spec: str) -> str:
    """A hash of the files of a SPEC."""
    files = [part.name for part in parse_spec(spec) if part.kind is Kind.FILE]
    try:
        return _hash([Path(name).expanduser().read_text() for name in files]) if files else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the strategy {spec} cannot be read", "give the path of a Python file") from error
