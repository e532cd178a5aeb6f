"""Make the tables of docs/results/answers.md: ask the built-in reader questions with known answers, by strategy.

    python -m scripts.answers
    python -m scripts.answers --kind dialogue  # only this kind of question

Every question is asked in its own session; the exchanges of a dialogue share one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import mean

from thimble.agent.errors import BudgetError
from thimble.agent.events import Answered
from thimble.corpus.questions import Question, QuestionSet, load_questions
from thimble.corpus.score import score_answer, shows_facts
from thimble.lab.exit_code import exit_code
from thimble.lab.experiment import fingerprint
from thimble.lab.job_progress import progress
from thimble.lab.pool import run_jobs
from thimble.models import READER
from thimble.session.parser import Parser
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.session.step_worker import StepWorker
from thimble.session.totals import add_up
from thimble.strategies.table import STRATEGIES

ASKED_TOOLS = ("articles", "confined", "files", "lines", "notes", "schema", "wording")
READING = (
    "models/reader/*.py",
    "models/embeddings/static.py",
    *(f"corpus/{name}.py" for name in ("index", "manual", "markdown", "observations", "passages", "question_form")),
    *(f"corpus/{name}.py" for name in ("ranking", "search", "words")),
    *(f"tools/{name}.py" for name in ASKED_TOOLS),
)
"""The code that the built-in reader depends on, without the tools that it is never given."""
HEAD = """\
## With room for everything

How many were asked; then three shares in percent: right answers, passages that hold the answer, wrong answers. The rest
are other passages and refusals. The reader was developed on all questions but the held-out ones.
"""
UNDER = """\
## Under each strategy

Every fifth dialogue, in 8,000 tokens; `none` has 64,000. In brackets, the answers lost and won against it. Tokens are
those of one exchange, with the strategy's own calls.
"""
LIBRARY = ("corpus/articles/*.md", "corpus/files/**/*.*", "corpus/questions.yaml")
BUDGET, ROOM_ENOUGH = 8_000, 64_000
DIALOGUES_SKIPPED = 5
"""Only each fifth dialogue is asked under every strategy: they are long."""
KINDS = {
    "single": "one fact",
    "several": "two or three articles",
    "comparison": "comparison",
    "file": "files",
    "unanswerable": "not answerable",
    "dialogue": "dialogues",
    "definition": "what is it",
    "explanation": "how and why",
    "advice": "what should I do",
    "difference": "what is the difference",
    "summary": "summary of an article",
    "listing": "which articles",
    "filefact": "about the files",
    "followup": "follow-ups",
    "offtopic": "off the subject",
    "neartopic": "near the subject",
    "talk": "small talk",
}
LEANING = "dialogues, later exchanges"


@dataclass(frozen=True, slots=True)
class Asked:
    """The strategy and the budget under which questions are asked."""

    strategy: str
    budget: int


@dataclass(frozen=True, slots=True)
class Mark:
    """The score of an answer. `tokens` and `prefill` count all its model calls; None if unknown.

    An answer of passages is never `right`; `shown`: its passages have every fact.
    """

    question: str
    kind: str
    exchange: int
    held_out: bool
    leans: bool
    right: bool
    why: str
    answer: str
    turns: int
    tokens: int | None
    prefill: int | None
    ending: str = "answered"
    shown: bool = False


def ask(question: Question, under: Asked) -> list[Mark]:
    """Ask a question, or hold a dialogue, in a new session; a mark for each scored exchange."""
    session = Session(Settings(backend=READER, strategy=under.strategy, budget=under.budget))
    session.agent.side.worker = StepWorker()  # the same every time
    marks = []
    for number, exchange in enumerate(question.exchanges, 1):
        answered = _answer(session, exchange.question)
        answer, passages = answered.text, answered.ending == "passages"
        if exchange.scored:
            ledger = session.agent.ledger
            scored, used = score_answer(exchange, answer, question.kind), add_up(ledger.of_exchange(ledger.exchanges))
            marks.append(
                Mark(
                    question.id,
                    question.kind,
                    number,
                    question.held_out,
                    bool(exchange.leans_on),
                    scored.right and not passages,
                    scored.why,
                    answer,
                    used.turns,
                    used.prompt.tokens,
                    used.prefill.tokens,
                    answered.ending,
                    passages and shows_facts(exchange, answer, question.kind),
                )
            )
    return marks


def _answer(session: Session, question: str) -> Answered:
    """The session's answer; empty if the question does not fit the budget."""
    try:
        return next(event for event in session.ask(question) if isinstance(event, Answered))
    except BudgetError:
        return Answered("", "empty")


def ask_all(jobs: Sequence[tuple[Question, Asked]]) -> dict[Asked, list[Mark]]:
    """The marks of all questions under each setting, in the order of the questions."""
    found: dict[tuple[str, Asked], list[Mark]] = {}
    pool = run_jobs(_do, iter(jobs), os.cpu_count() or 1)
    with progress("asked", len(jobs), len(jobs)) as advance, closing(pool) as done:
        for (question, under), marks in done:
            found[question.id, under] = marks
            advance(1)
    by_setting: dict[Asked, list[Mark]] = {under: [] for _, under in jobs}
    for question, under in jobs:
        by_setting[under] += found[question.id, under]
    return by_setting


def _do(job: tuple[Question, Asked]) -> list[Mark]:
    return ask(*job)


FATES = ("right", "shown", "wrong")
"""The outcomes that the table counts: a right answer, passages that have it, a wrong answer."""


def rows(marks: Iterable[Mark]) -> dict[str, list[Mark]]:
    """Group the marks by row of the table."""
    found: dict[str, list[Mark]] = {name: [] for name in (*KINDS.values(), LEANING)}
    for mark in marks:
        found[KINDS[mark.kind]].append(mark)
        if mark.leans:
            found[LEANING].append(mark)
    return found


def table(marks: dict[Asked, list[Mark]]) -> Iterator[str]:
    """A line of Markdown for each setting, over the questions that all settings share."""
    shared = set.intersection(*({_place(mark) for mark in found} for found in marks.values()))
    common = {setting: [mark for mark in found if _place(mark) in shared] for setting, found in marks.items()}
    start = next(iter(common.values()))
    yield f"| {len(start)} exchanges | right | prompt | prefill |"
    yield "|---|--:|--:|--:|"
    for setting, found in common.items():
        changed = [sum(_changed(start, found, was_right)) for was_right in (True, False)]
        right = f"{mean(mark.right for mark in found):.0%}" + (" (−{} +{})".format(*changed) if any(changed) else "")
        amounts = [_mean([getattr(mark, amount) for mark in found]) for amount in ("tokens", "prefill")]
        yield f"| {setting.strategy} | {' | '.join([right, *amounts])} |"


def by_kind(marks: Sequence[Mark]) -> Iterator[str]:
    """The outcomes by kind of question, held-out questions apart, as lines of Markdown."""
    yield "| | held-out | right, shown, wrong | others | right, shown, wrong |"
    yield "|---|--:|--:|--:|--:|"
    parts = [rows(mark for mark in marks if mark.held_out is held_out) for held_out in (True, False)]
    for kind in parts[0]:
        if any(part[kind] for part in parts):
            yield f"| {kind} | {' | '.join(_ended(part[kind]) for part in parts)} |"


def _ended(marks: Sequence[Mark]) -> str:
    """Two cells: the number of answers, and three shares in percent."""
    if not marks:
        return " | "
    fates = [_fate(mark) for mark in marks]
    return f"{len(fates)} | {' '.join(f'{100 * fates.count(fate) / len(fates):.0f}' for fate in FATES)}"


def _fate(mark: Mark) -> str:
    if mark.ending == "passages":
        return "shown" if mark.shown else "near"
    return "right" if mark.right else mark.ending if mark.ending == "refused" else "wrong"


def _place(mark: Mark) -> tuple[str, int]:
    return mark.question, mark.exchange


def _changed(first: Sequence[Mark], found: Sequence[Mark], was_right: bool) -> Iterator[bool]:
    """For each answer, whether it was right (or wrong) in the first row and is now the opposite."""
    return (one.right is was_right and other.right is not was_right for one, other in zip(first, found, strict=True))


def _mean(amounts: Sequence[float | None]) -> str:
    known = [amount for amount in amounts if amount is not None]
    if len(known) < len(amounts) or not known:
        return "?"
    return f"{mean(known):,.1f}" if mean(known) < 100 else f"{mean(known):,.0f}"


def page(asked: QuestionSet, marks: dict[Asked, list[Mark]]) -> Iterator[str]:
    """The results in Markdown."""
    reader, library = fingerprint(*READING), fingerprint(*LIBRARY)
    changed = "has not changed" if reader == asked.reader else "HAS changed"
    yield HEAD
    yield from by_kind(next(iter(marks.values())))
    if len(marks) > 1:
        yield f"\n{UNDER}"
        yield from table(marks)
    yield f"\nLibrary and questions `{library}`; reader and search `{reader}`, which {changed}"
    yield "since the held-out questions were first asked."


def main(arguments: Sequence[str]) -> None:
    """Print the tables."""
    parser = Parser("python -m scripts.answers", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kind", choices=list(KINDS), help="ask only this kind of question")
    options = parser.parse_args(arguments)
    asked = load_questions()
    questions = [one for one in asked.questions if options.kind in (None, one.kind)]
    dialogues = [one for one in questions if one.kind == "dialogue"][::DIALOGUES_SKIPPED] or questions
    jobs = list(product(questions, [Asked("none", ROOM_ENOUGH)]))
    jobs += [(one, Asked(spec, BUDGET)) for spec in STRATEGIES if spec != "none" for one in dialogues]
    print("\n".join(page(asked, ask_all(jobs))))


if __name__ == "__main__":
    sys.exit(exit_code("python -m scripts.answers", partial(main, sys.argv[1:])))
