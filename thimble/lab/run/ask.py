"""Do a job: hold its session, score the answers, and measure what each exchange took."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter

from thimble.agent.budget import Counter, Prices
from thimble.agent.errors import BudgetError, ThimbleError
from thimble.agent.events import Answered
from thimble.agent.ledger import Call
from thimble.agent.view import View
from thimble.corpus.markdown import MARKUP, plain
from thimble.corpus.questions import Exchange, Fact
from thimble.corpus.score import score
from thimble.lab.action_similarity import Action
from thimble.lab.run.jobs import Job
from thimble.models import READER
from thimble.models.prices import read_prices
from thimble.session.session import Session
from thimble.session.step_worker import StepWorker
from thimble.session.totals import cost, totals

NO_ROOM = "no room"
"""The ending of an exchange whose question the budget cannot hold."""


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """One exchange. Tokens and costs are None where the server has not reported them.

    Attributes:
        right: Whether the answer is right; None for a message of a dialogue that is no question.
        why: The reason where it is not.
        text: The answer.
        ending: As the loop says it (`agent.events.Ending`), or NO_ROOM.
        turns: Calls of the agent.
        prompt: Tokens of all prompts, those of the strategy's calls included; so are the next four.
        prefill: Those of them that were computed anew.
        output: Tokens that models wrote.
        cost: In computed prompt tokens, by the price card.
        side_calls: Calls of the strategy.
        side_cost: What they cost.
        places: For each fact, where its passage stood in the prompt of the answer: 0 at the start, 1 at the end; None
            if it was not there.
        over: Calls of the agent over the budget; None in a store of an older thimble.
        actions: What the agent did at each of its turns, the answer last.
    """

    right: bool | None
    why: str = ""
    text: str = ""
    ending: str = NO_ROOM
    turns: int = 0
    prompt: int | None = 0
    prefill: int | None = 0
    output: int | None = 0
    cost: float | None = 0.0
    side_calls: int = 0
    side_cost: float | None = 0.0
    places: tuple[float | None, ...] = ()
    over: int | None = None
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class JobResult:
    """What came of a job.

    Attributes:
        answers: Its exchanges up to the error, if there was one.
        error: Why the job failed, such as a server that is gone; "" if it did not.
        seconds: How long it took.
        spent: What its calls cost, those of a failed exchange too. A prompt of unknown cached tokens counts in full.
    """

    answers: tuple[ScoredAnswer, ...] = ()
    error: str = ""
    seconds: float = 0.0
    spent: float = 0.0


def ask(job: Job) -> JobResult:
    """The result of a job. A budget that cannot hold a question is a wrong answer; any other error ends the job."""
    session = Session(job.settings)
    if job.model == READER:
        session.agent.side.worker = StepWorker()  # the same every time
    return hold(session, job)


def hold(session: Session, job: Job) -> JobResult:
    """The same in a session that is there already."""
    started, prices = perf_counter(), read_prices(job.price)
    asked: list[ScoredAnswer] = []
    error = ""
    try:
        for exchange in job.question.exchanges:
            asked.append(_exchange(session, exchange, job))
        session.leave()
    except ThimbleError as failed:
        error = failed.what
    calls = session.agent.ledger.calls if session.is_ready else []
    answers = (
        _paid(answer, [call for call in calls if call.exchange == number], prices)
        for number, answer in enumerate(asked, 1)
    )
    return JobResult(tuple(answers), error, perf_counter() - started, sum(_at_most(call, prices) for call in calls))


def _exchange(session: Session, exchange: Exchange, job: Job) -> ScoredAnswer:
    """One exchange without what it cost: a call in the background may end after it."""
    ended: Answered | None = None
    before = len(session.agent.history)
    with suppress(BudgetError):
        for event in session.ask(exchange.question):
            ended = event if isinstance(event, Answered) else ended
    text = ended.text if ended else ""
    scored = score(exchange, text, job.question.kind) if exchange.scored else None
    ledger, counter = session.agent.ledger, session.agent.backend.counter
    said = [message for message in session.agent.history[before:] if message.role == "assistant"]
    passages = ended is not None and ended.ending == "passages"
    return ScoredAnswer(
        right=scored.right and not passages if scored else None,
        why="passages, no answer" if scored and passages else scored.why if scored else "",
        text=text,
        ending=ended.ending if ended else NO_ROOM,
        places=tuple(place(fact, ledger.view, counter) if ended and ledger.view else None for fact in exchange.facts),
        actions=tuple(map(Action.of, said)),
    )


def _paid(answer: ScoredAnswer, calls: Sequence[Call], prices: Prices) -> ScoredAnswer:
    """The answer with what its calls took."""
    every, side = totals(calls), totals(call for call in calls if call.purpose != "answer")
    return replace(
        answer,
        turns=every.turns,
        prompt=every.prompt.tokens,
        prefill=every.prefill.tokens,
        output=every.output.tokens,
        cost=cost(every, prices),
        over=every.over,
        side_calls=side.calls,
        side_cost=cost(side, prices),
    )


def _at_most(call: Call, prices: Prices) -> float:
    known = cost(call, prices)
    return (call.prompt.tokens or 0) + prices.output * (call.output.tokens or 0) if known is None else known


# --- where a passage stood --------------------------------------------------------------------------------------------


def place(fact: Fact, view: View, counter: Counter) -> float | None:
    """Where the passage of a fact begins in a prompt: the share of its tokens that stand before; None if nowhere.

    The passage is a sentence that proves the fact, word for word; of several places, the last one counts. Tool schemas
    stand at the start.
    """
    wanted = [_bare(proof.sentence) for proof in fact.proof]
    before, found = float(view.overhead), None
    for message in view.messages:
        size = counter.count(message)
        for text in (_bare(message.content), _bare(plain(message.content))):
            at = max((text.rfind(sentence) for sentence in wanted), default=-1)
            if at >= 0:
                found = (before + size * at / len(text)) / max(1, view.tokens)
                break
        before += size
    return None if found is None else round(min(found, 1.0), 4)


def _bare(text: str) -> str:
    """A text on one line, without links and emphasis."""
    for pattern, kept in MARKUP:
        text = pattern.sub(kept, text)
    return " ".join(text.split())
