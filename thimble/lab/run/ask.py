"""A job: ask one question, or hold one dialogue, in a session under one setting, and score the answers."""

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
from thimble.corpus.markdown import MARKUP, strip_markup
from thimble.corpus.questions import Exchange, Fact, Question
from thimble.corpus.score import score_answer
from thimble.lab.action_similarity import Action
from thimble.lab.experiment import Row, hash_of, made_by
from thimble.lab.experiment_flags import bare_model_name, settings_of
from thimble.models import READER
from thimble.models.prices import read_prices
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.session.step_worker import StepWorker
from thimble.session.totals import add_up, price_calls

STUDY_BUDGET = 8_000
CARD = "cached=0.1,output=4"
"""The price card of a study: not derived from a server's timings, so that all jobs have the same."""
NO_ROOM = "no room"
"""The ending of an exchange if the question does not fit the budget."""
JOB_SETTINGS = ("strategy", "budget", "seed", "temperature", "summariser", "memory", "price")
"""The fields of a job that are also settings of its session, besides the model."""


@dataclass(frozen=True, slots=True)
class Job:
    """A question and the setting under which it is asked.

    Attributes:
        question: The question, asked in a new session; the exchanges of a dialogue share one.
        strategy: A SPEC.
        budget: Prompt tokens that a call may use.
        model: `reader`, or KIND:NAME or KIND:NAME@URL of a server.
        seed: None for the server's default, and for the reader, which is deterministic.
        temperature: The agent's temperature; None as for the seed. Strategies ask their model at 0.
        summariser: The model that strategies ask; "" for the agent's own.
        memory: The model that they ask in the background; "" for the summariser.
        price: A price card, for costs and for strategies that depend on it.
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
        """A hash of everything that can change the answer, except the address of a server."""
        settings = (getattr(self, name) for name in JOB_SETTINGS)
        return hash_of([_hash_question(self.question), bare_model_name(self.model), *settings, self.code])

    @property
    def size(self) -> int:
        """The number of exchanges."""
        return len(self.question.exchanges)

    @property
    def settings(self) -> Settings:
        """The settings of its session; the user's config files and environment are ignored."""
        return settings_of(self.model, **{name: getattr(self, name) for name in JOB_SETTINGS})

    @property
    def columns(self) -> Row:
        """The columns that identify the job; `model` includes non-default settings, `strategy` the hash of a file."""
        usual = {"temperature": None, "summariser": "", "memory": "", "price": CARD}
        more = (f"{name} {getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value)
        return {
            "model": ", ".join([bare_model_name(self.model), *more]),
            "strategy": self.strategy + (f" ({self.code[:6]})" if self.code else ""),
            "budget": self.budget,
            "seed": self.seed,
            "question": self.question.id,
            "kind": self.question.kind,
            "digest": _hash_question(self.question),
        }


@cache
def _hash_question(question: Question) -> str:
    """A hash of the question and its expected answers."""
    return hash_of(asdict(question))


def run_job(job: Job) -> list[Row]:
    """Run a job; a row for each exchange. A question over the budget is a wrong answer; other errors end the job."""
    session = Session(job.settings)
    if job.model == READER:
        session.agent.side.worker = StepWorker()  # makes background calls deterministic
    return ask_in_session(session, job)


def ask_in_session(session: Session, job: Job) -> list[Row]:
    """Run a job in this session; a row for each exchange.

    Each row has the columns of the job and:

    - `exchange`, from 1; `error`: why the job failed, such as an unreachable server, in all its rows. The last row is
      then the failed exchange, without an answer
    - `right`, None for a message of a dialogue that is not a question; `why` it is wrong; `text`, the answer
    - `ending`: one of `agent.events.Ending`, or NO_ROOM
    - `places`: for each fact, the position of its passage in the prompt of the answer: 0 at the start, 1 at the end;
      None if it was not there
    - `actions`: the agent's action at each turn, the answer last
    - tokens and costs of its calls (`_cost_figures`), and `made_by`, the fingerprint of the code
    """
    rows, error = list[Row](), ""
    try:
        for exchange in job.question.exchanges:
            rows.append(_answer(session, exchange, job.question.kind))
        session.leave()
    except ThimbleError as failed:
        error = failed.what
        rows.append({"right": None, "why": "", "text": "", "ending": "", "places": [], "actions": []})
    calls = session.agent.ledger.calls if session.is_ready else []  # read now: background calls may end late
    return [
        {**job.columns, "exchange": number, **row, "error": error, "made_by": made_by()}
        | _cost_figures([call for call in calls if call.exchange == number], read_prices(job.price))
        for number, row in enumerate(rows, 1)
    ]


def _answer(session: Session, exchange: Exchange, kind: str) -> Row:
    ended: Answered | None = None
    before = len(session.agent.history)
    with suppress(BudgetError):
        for event in session.ask(exchange.question):
            ended = event if isinstance(event, Answered) else ended
    text = ended.text if ended else ""
    scored = score_answer(exchange, text, kind) if exchange.scored else None
    ledger, counter = session.agent.ledger, session.agent.backend.counter
    said = [Action.of(message) for message in session.agent.history[before:] if message.role == "assistant"]
    passages = ended is not None and ended.ending == "passages"
    return {
        "right": scored.right and not passages if scored else None,
        "why": "passages, no answer" if scored and passages else scored.why if scored else "",
        "text": text,
        "ending": ended.ending if ended else NO_ROOM,
        "places": [
            fact_depth(fact, ledger.view, counter) if ended and ledger.view else None for fact in exchange.facts
        ],
        "actions": [[action.text, [*map(list, action.calls)]] for action in said],
    }


def _cost_figures(calls: Sequence[Call], prices: Prices) -> Row:
    """The tokens and costs of calls; None if the server did not report them.

    `turns` and `over` (the budget) count the agent's calls, `side_calls` the strategy's own. Costs are in computed
    prompt tokens, by the price card; `spent` is never None: without reported cached tokens, a prompt counts in full.
    """
    every, side = add_up(calls), add_up(call for call in calls if call.purpose != "answer")
    return {
        "turns": every.turns,
        "over": every.over,
        "prompt": every.prompt.tokens,
        "prefill": every.prefill.tokens,
        "output": every.output.tokens,
        "cost": price_calls(every, prices),
        "side_calls": side.calls,
        "side_cost": price_calls(side, prices),
        "spent": sum(_max_cost(call, prices) for call in calls),
    }


def _max_cost(call: Call, prices: Prices) -> float:
    known = price_calls(call, prices)
    return (call.prompt.tokens or 0) + prices.output * (call.output.tokens or 0) if known is None else known


# --- where a passage stood --------------------------------------------------------------------------------------------


def fact_depth(fact: Fact, view: View, counter: Counter) -> float | None:
    """The start of a fact's passage in a prompt, as the share of tokens before it; None if it is not there.

    The passage is a sentence that proves the fact, word for word; if it occurs several times, the last one counts. Tool
    schemas are at the start of the prompt.
    """
    wanted = [_bare(proof.sentence) for proof in fact.proof]
    before, found = float(view.overhead), None
    for message in view.messages:
        size = counter.count(message)
        for text in (_bare(message.content), _bare(strip_markup(message.content))):
            at = max((text.rfind(sentence) for sentence in wanted), default=-1)
            if at >= 0:
                found = (before + size * at / len(text)) / max(1, view.tokens)
                break
        before += size
    return None if found is None else round(min(found, 1.0), 4)


def _bare(text: str) -> str:
    """A text on one line, without the markup of links and emphasis."""
    for pattern, kept in MARKUP:
        text = pattern.sub(kept, text)
    return " ".join(text.split())
