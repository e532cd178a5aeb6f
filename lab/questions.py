"""Which strategy keeps the answers? Asks the questions with known answers under each, and scores the replies.

    thimble lab questions    # the tables of docs/results/answers.md
    thimble lab questions --strategy none --strategy observation-masking:window=4 --budget 6000 --wrong

Every question is asked in its own session; the exchanges of a dialogue share one.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from itertools import chain, product
from pathlib import Path
from statistics import mean

from agent.background import Lagged
from agent.errors import BudgetError
from agent.events import Answered
from corpus.questions import Question, QuestionSet
from corpus.questions import load as load_questions
from corpus.score import score
from lab.statistics import wilson
from models import READER, SERVERS
from session.parser import Parser
from session.session import Session
from session.settings import Settings
from session.totals import totals
from strategies import STRATEGIES

ROOT = Path(__file__).parents[1]
ASKED_TOOLS = ("articles", "confined", "files", "lines", "notes", "schema", "wording")
READING = (
    "models/reader/*.py",
    "models/embeddings/static.py",
    *(f"corpus/{name}.py" for name in ("index", "markdown", "passages", "ranking", "search", "words")),
    *(f"tools/{name}.py" for name in ASKED_TOOLS),
)
"""The code that the built-in reader uses to find and read, without the tools that it never gets."""
HEAD = """\
# Answers

Under which strategy does the built-in reader still answer right? The exchanges of one dialogue depend on each other, so
the intervals of their rows are too narrow. All rows have the same dialogues: compare *lost* and *won*, the answers that
are lost and won against the first row, which has room enough. A single question mostly fits into 8,000 tokens, so only
the first row has the single questions; the others have each fifth dialogue.

```sh
thimble lab questions
```

| column | is |
|---|---|
| a kind of question, and how many | the share of right answers, with its 95 % Wilson interval |
| prompt, prefill, turns | tokens and turns of one exchange of a dialogue, with the strategy's own calls |
"""
LIBRARY = ("corpus/articles/*.md", "corpus/files/**/*.*", "corpus/questions.yaml")
BUDGET, ROOM_ENOUGH = 8_000, 64_000
DIALOGUES_SKIPPED = 5
"""Each fifth dialogue is held under every strategy: they are long."""
KINDS = {
    "single": "one fact",
    "several": "two or three articles",
    "comparison": "comparison",
    "file": "files",
    "unanswerable": "not answerable",
    "dialogue": "dialogues, every exchange",
    "definition": "what is it",
    "explanation": "how and why",
    "advice": "what should I do",
    "difference": "what is the difference",
    "summary": "summary of an article",
    "listing": "which articles",
    "filefact": "about the files",
    "followup": "follow-ups, every exchange",
    "offtopic": "off the subject",
    "neartopic": "near the subject, not in it",
    "talk": "small talk",
}
LEANING = "dialogues, exchanges that lean on earlier ones"


@dataclass(frozen=True, slots=True)
class Setting:
    """The model, strategy and budget for the questions."""

    strategy: str
    budget: int
    backend: str = "reader"
    model: str = ""
    base_url: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """One answer and its score. `tokens` and `prefill` count all its model calls; None if unknown."""

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


def ask(question: Question, setting: Setting) -> list[Mark]:
    """Ask one question or hold one dialogue in a new session; a mark for each scored exchange."""
    session = Session(
        Settings(
            backend=setting.backend,
            model=setting.model,
            base_url=setting.base_url,
            strategy=setting.strategy,
            budget=setting.budget,
        )
    )
    session.agent.side.worker = Lagged()  # the same every time
    marks = []
    for number, exchange in enumerate(question.exchanges, 1):
        answer = _answer(session, exchange.question)
        if exchange.scored:
            ledger = session.agent.ledger
            scored, used = score(exchange, answer, question.kind), totals(ledger.of_exchange(ledger.exchanges))
            marks.append(
                Mark(
                    question.id,
                    question.kind,
                    number,
                    question.held_out,
                    bool(exchange.leans_on),
                    scored.right,
                    scored.why,
                    answer,
                    used.turns,
                    used.prompt.tokens,
                    used.prefill.tokens,
                )
            )
    return marks


def _answer(session: Session, question: str) -> str:
    """The session's answer; "" if the budget cannot hold the question."""
    try:
        return next((event.text for event in session.ask(question) if isinstance(event, Answered)), "")
    except BudgetError:
        return ""


def fingerprint(*patterns: str) -> str:
    """The first twelve digits of a hash over the names and contents of the matching files."""
    found = sha256()
    for path in sorted(path for pattern in patterns for path in ROOT.glob(pattern)):
        found.update(f"{path.relative_to(ROOT).as_posix()}\n".encode() + path.read_bytes())
    return found.hexdigest()[:12]


def ask_all(jobs: Sequence[tuple[Question, Setting]]) -> dict[Setting, list[Mark]]:
    """The marks of every question under its setting; the reader runs on every core, a server one question at a time."""
    from rich.console import Console
    from rich.progress import track

    alone = any(setting.backend != "reader" for _, setting in jobs)
    marks: dict[Setting, list[Mark]] = {setting: [] for _, setting in jobs}
    with ProcessPoolExecutor(1 if alone else os.cpu_count()) as pool:
        done = pool.map(ask, *zip(*jobs, strict=True), chunksize=1 if alone else 8)
        shown = track(done, "asking", total=len(jobs), console=Console(stderr=True))
        for (_, setting), found in zip(jobs, shown, strict=True):
            marks[setting] += found
    return marks


Wanted = Callable[[Mark], bool]


def rows(marks: Iterable[Mark]) -> dict[str, list[Mark]]:
    """The marks by the rows of the table."""
    found: dict[str, list[Mark]] = {name: [] for name in (*KINDS.values(), LEANING)}
    for mark in marks:
        found[KINDS[mark.kind]].append(mark)
        if mark.leans:
            found[LEANING].append(mark)
    return found


def table(marks: dict[Setting, list[Mark]], wanted: Wanted) -> Iterator[str]:
    """Settings by kind, as lines of Markdown: share of right answers with its interval, lost answers, tokens.

    Comparisons, lost and won answers and tokens cover only the questions that every setting got.
    """
    every = ((setting, [mark for mark in found if wanted(mark)]) for setting, found in marks.items())
    chosen = {setting: found for setting, found in every if found}
    by_kind = {setting: rows(found) for setting, found in chosen.items()}
    first = next(iter(by_kind.values()))
    kinds = [name for name in first if first[name]]
    asked = " | ".join(f"{name} ({len(first[name])})" for name in kinds)
    yield f"| | {asked} | lost | won | prompt | prefill | turns |"
    yield "|---" + "|--:" * (len(kinds) + 5) + "|"
    shared = set.intersection(*({_place(mark) for mark in found} for found in chosen.values()))
    common = {setting: [mark for mark in found if _place(mark) in shared] for setting, found in chosen.items()}
    start = next(iter(common.values()))
    for setting, found in common.items():
        cells = [_share(by_kind[setting][name]) for name in kinds]
        cells += [
            str(sum(_changed(start, found, was_right))) if found is not start else "" for was_right in (True, False)
        ]
        cells += [_mean([getattr(mark, amount) for mark in found]) for amount in ("tokens", "prefill", "turns")]
        yield f"| {setting.strategy} @{setting.budget:,} | {' | '.join(cells)} |"


def _place(mark: Mark) -> tuple[str, int]:
    return mark.question, mark.exchange


def _changed(first: Sequence[Mark], found: Sequence[Mark], was_right: bool) -> Iterator[bool]:
    """For each answer, whether it was right (or wrong) in the first row and has changed."""
    return (one.right is was_right and other.right is not was_right for one, other in zip(first, found, strict=True))


def _share(marks: Sequence[Mark]) -> str:
    if not marks:
        return ""
    right = sum(mark.right for mark in marks)
    low, high = wilson(right, len(marks))
    return f"{right / len(marks):.0%} ({low:.0%} to {high:.0%})".replace("%", " %").replace(" % to", " to")


def _mean(amounts: Sequence[float | None]) -> str:
    known = [amount for amount in amounts if amount is not None]
    if len(known) < len(amounts) or not known:
        return "?"
    return f"{mean(known):,.1f}" if mean(known) < 100 else f"{mean(known):,.0f}"


def page(asked: QuestionSet, marks: dict[Setting, list[Mark]]) -> Iterator[str]:
    """The results as a page of Markdown."""
    reader, library = fingerprint(*READING), fingerprint(*LIBRARY)
    changed = "has not changed" if reader == asked.reader else "HAS changed"
    yield HEAD
    yield f"Library and questions `{library}`; reader and search `{reader}`, which {changed} since"
    yield "the held-out questions were first asked.\n"
    for title, wanted in (
        ("Held-out questions", lambda mark: mark.held_out),
        ("Questions that the reader was developed on", lambda mark: not mark.held_out),
    ):
        if any(map(wanted, chain.from_iterable(marks.values()))):
            yield f"## {title}\n"
            yield from table(marks, wanted)
            yield ""


def wrong(marks: dict[Setting, list[Mark]]) -> Iterator[str]:
    """Every wrong answer, and the reason."""
    for setting, found in marks.items():
        yield f"\n## {setting.strategy} @{setting.budget:,}\n"
        for mark in found:
            if not mark.right:
                where = f"{mark.question}.{mark.exchange}" if mark.kind == "dialogue" else mark.question
                yield f"- {where}: {mark.why}. {' '.join(mark.answer.split())}"


def _jobs(questions: Sequence[Question], options: argparse.Namespace) -> list[tuple[Question, Setting]]:
    """The questions for each strategy: all for the named ones; by default all for none, and dialogues for the rest."""
    of = partial(Setting, backend=options.backend, model=options.model, base_url=options.base_url)
    budget = options.budget or BUDGET
    if options.strategy:
        return list(product(questions, [of(spec, budget) for spec in options.strategy]))
    dialogues = [one for one in questions if one.kind == "dialogue"][::DIALOGUES_SKIPPED] or questions
    rest = [of(spec, budget) for spec in STRATEGIES if spec != "none"]
    return [*product(questions, [of("none", ROOM_ENOUGH)]), *((one, each) for each in rest for one in dialogues)]


def _options(arguments: Sequence[str], prog: str) -> argparse.Namespace:
    parser = Parser(prog, description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--strategy", action="append", metavar="SPEC", help="ask under this strategy; repeatable")
    parser.add_argument("--budget", type=int, metavar="N", help=f"prompt tokens a call may use ({BUDGET:,})")
    parser.add_argument("--backend", choices=[*SERVERS, READER], default=READER)
    parser.add_argument("--model", default="", metavar="NAME")
    parser.add_argument("--base-url", default="", metavar="URL")
    parser.add_argument("--kind", choices=list(KINDS), help="ask only this kind of question")
    parser.add_argument("--wrong", action="store_true", help="list the wrong answers instead")
    parser.add_argument("--json", action="store_true", help="one line of JSON an answer instead")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str], prog: str) -> None:
    """Print the page, the wrong answers or the marks."""
    options = _options(arguments, prog)
    asked = load_questions()
    questions = [one for one in asked.questions if options.kind in (None, one.kind)]
    marks = ask_all(_jobs(questions, options))
    lines: Iterator[str]
    if options.json:
        lines = (json.dumps(asdict(setting) | asdict(mark)) for setting, found in marks.items() for mark in found)
    else:
        lines = wrong(marks) if options.wrong else page(asked, marks)
    print("\n".join(lines))
