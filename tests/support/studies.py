"""Jobs and rows of `thimble lab run`, for tests: questions that nobody asks, and what might come of them."""

from __future__ import annotations

from typing import Any

from thimble.corpus.questions import Exchange, Fact, Proof, Question
from thimble.lab.experiment import Row
from thimble.lab.run.ask import Job

SHARE = "In SWE-agent runs, observation tokens make up about 84 % of an average turn"
ASKED = "What share of an average turn do observation tokens make up in SWE-agent runs?"
UNANSWERED = """\
reader: none
questions:
""" + "".join(
    f"  - {{id: q{number}, kind: offtopic, question: What is {number} times two?, absent: [times]}}\n"
    for number in range(4)
)
"""Four questions that the library does not answer, as a file."""


def question(name: str, exchanges: int = 1) -> Question:
    """A question that the library answers, asked so many times in one session."""
    fact = Fact(("84 %",), (Proof(SHARE, article="observation-masking"),))
    asked = tuple(Exchange(ASKED, (fact,)) for _ in range(exchanges))
    return Question(name, "single" if exchanges == 1 else "dialogue", asked)


def job(number: int = 0, strategy: str = "none", **settings: Any) -> Job:
    """A job of its own for each number."""
    return Job(question(f"q{number}"), strategy, **settings)


def row(number: int, right: bool | None = True, **values: Any) -> Row:
    """The row of a question with one exchange of one turn."""
    usual = {
        "model": "reader", "strategy": "none", "budget": 8000, "seed": None, "question": f"q{number}", "kind": "single",
        "digest": f"d{number}", "exchange": 1, "right": right, "why": "", "text": "", "ending": "answered",
        "places": [], "actions": [], "error": "", "made_by": "this", "turns": 1, "over": 0, "prompt": 0, "prefill": 0,
        "output": 0, "cost": 0.0, "side_calls": 0, "side_cost": 0.0, "spent": 0.0,
    }  # fmt: skip
    return {**usual, **values}
