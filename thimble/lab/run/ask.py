"""A job: one question, or one whole dialogue, under one setting. Its session is held and its answers are scored."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache

from thimble.agent.budget import Counter, Prices
from thimble.agent.errors import BudgetError, ThimbleError
from thimble.agent.events import Answered
from thimble.agent.ledger import Call
from thimble.agent.view import View
from thimble.corpus.markdown import MARKUP, plain
from thimble.corpus.questions import Exchange, Fact, Question
from thimble.corpus.score import score
from thimble.lab.action_similarity import Action
from thimble.lab.experiment import Row, hash_of, made_by
from thimble.lab.experiment_flags import named, settings_of
from thimble.models import READER
from thimble.models.prices import read_prices
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.session.step_worker import StepWorker
from thimble.session.totals import cost, totals

STUDY_BUDGET = 8_000
CARD = "cached=0.1,output=4"
"""The price card of a study: not that of a server's timings, so that every job has the same."""
NO_ROOM = "no room"
"""The ending of an exchange whose question the budget cannot hold."""
JOB_SETTINGS = ("strategy", "budget", "seed", "temperature", "summariser", "memory", "price")
"""The fields of a job that are settings of its session, besides the model."""


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
    budget: int = STUDY_BUDGET
    model: str = READER
    seed: int | None = None
    temperature: float | None = None
    summariser: str = ""
    memory: str = ""
    price: str = CARD
    code: str = ""

    @property
    def key(self) -> str:
        """A hash of everything that can change the answer; the address of a server does not count."""
        settings = (getattr(self, name) for name in JOB_SETTINGS)
        return hash_of([_digest(self.question), named(self.model), *settings, self.code])

    @property
    def size(self) -> int:
        """Exchanges."""
        return len(self.question.exchanges)

    @property
    def settings(self) -> Settings:
        """What its session is opened with: nothing of it comes from the files or variables of a user."""
        return settings_of(self.model, **{name: getattr(self, name) for name in JOB_SETTINGS})

    @property
    def columns(self) -> Row:
        """What was asked, and under what: `model` names all that is not usual, `strategy` the code of a file."""
        usual = {"temperature": None, "summariser": "", "memory": "", "price": CARD}
        more = (f"{name} {getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value)
        return {
            "model": ", ".join([named(self.model), *more]),
            "strategy": self.strategy + (f" ({self.code[:6]})" if self.code else ""),
            "budget": self.budget,
            "seed": self.seed,
            "question": self.question.id,
            "kind": self.question.kind,
            "digest": _digest(self.question),
        }


@cache
def _digest(question: Question) -> str:
    """A hash of the question as it is asked and scored."""
    return hash_of(asdict(question))


def ask(job: Job) -> list[Row]:
    """A row for each exchange. A budget that cannot hold a question is a wrong answer; any other error ends the job."""
    session = Session(job.settings)
    if job.model == READER:
        session.agent.side.worker = StepWorker()  # the same every time
    return hold(session, job)


def hold(session: Session, job: Job) -> list[Row]:
    """The same in a session that is there already.

    Each row has the columns of the job and:

    - `exchange`, from 1; `error`: why the job failed, such as a server that is gone, in all its rows. The last one is
      then of the exchange that failed, without an answer
    - `right`, None for a message of a dialogue that is no question; `why` it is wrong; `text`, the answer
    - `ending`: as the loop says it (`agent.events.Ending`), or NO_ROOM
    - `places`: for each fact, where its passage stood in the prompt of the answer: 0 at the start, 1 at the end; None
      if it was not there
    - `actions`: what the agent did at each of its turns, the answer last
    - what its calls took (`_figures`), and `made_by`, the fingerprint of the code that answered
    """
    rows, error = list[Row](), ""
    try:
        for exchange in job.question.exchanges:
            rows.append(_answer(session, exchange, job.question.kind))
        session.leave()
    except ThimbleError as failed:
        error = failed.what
        rows.append({"right": None, "why": "", "text": "", "ending": "", "places": [], "actions": []})
    calls = session.agent.ledger.calls if session.is_ready else []  # those in the background may have ended late
    return [
        {**job.columns, "exchange": number, **row, "error": error, "made_by": made_by()}
        | _figures([call for call in calls if call.exchange == number], read_prices(job.price))
        for number, row in enumerate(rows, 1)
    ]


def _answer(session: Session, exchange: Exchange, kind: str) -> Row:
    ended: Answered | None = None
    before = len(session.agent.history)
    with suppress(BudgetError):
        for event in session.ask(exchange.question):
            ended = event if isinstance(event, Answered) else ended
    text = ended.text if ended else ""
    scored = score(exchange, text, kind) if exchange.scored else None
    ledger, counter = session.agent.ledger, session.agent.backend.counter
    said = [Action.of(message) for message in session.agent.history[before:] if message.role == "assistant"]
    passages = ended is not None and ended.ending == "passages"
    return {
        "right": scored.right and not passages if scored else None,
        "why": "passages, no answer" if scored and passages else scored.why if scored else "",
        "text": text,
        "ending": ended.ending if ended else NO_ROOM,
        "places": [place(fact, ledger.view, counter) if ended and ledger.view else None for fact in exchange.facts],
        "actions": [[action.text, [*map(list, action.calls)]] for action in said],
    }


def _figures(calls: Sequence[Call], prices: Prices) -> Row:
    """What calls took, in tokens; None where the server has not reported it.

    `turns` and `over` (the budget) count calls of the agent, `side_calls` those of the strategy. Costs are in computed
    prompt tokens, by the price card; `spent` is known always: a prompt of unknown cached tokens counts in full.
    """
    every, side = totals(calls), totals(call for call in calls if call.purpose != "answer")
    return {
        "turns": every.turns,
        "over": every.over,
        "prompt": every.prompt.tokens,
        "prefill": every.prefill.tokens,
        "output": every.output.tokens,
        "cost": cost(every, prices),
        "side_calls": side.calls,
        "side_cost": cost(side, prices),
        "spent": sum(_at_most(call, prices) for call in calls),
    }


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
