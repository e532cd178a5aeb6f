"""Trials: one question, really asked in a fork of a session under a strategy, and its outcome."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from thimble.agent.agent import Agent
from thimble.agent.budget import Prices
from thimble.agent.errors import BudgetError, ModelError, NotRecorded
from thimble.agent.events import Answered, Ending, PromptCut
from thimble.agent.ledger import NOTHING, Amount, Call
from thimble.agent.loop import run
from thimble.commands.replay import describe_failure
from thimble.corpus.questions import Exchange, load_questions
from thimble.corpus.score import score_answer, shows_facts
from thimble.models.reader.view import CLOSEST_PASSAGES
from thimble.session.settings import Settings
from thimble.session.totals import add_up, price_sums

ENDING_WORDS: dict[Ending, str] = {
    "answered": "answered",
    "passages": "no answer: the closest passages",
    "refused": "declined to answer",
    "turn-limit": "answered at the turn limit",
    "thought": "no answer: only thinking",
    "empty": "no answer: empty",
}


@dataclass
class Trial:
    """The answer to the question under one strategy, and its cost.

    `outcome` says in words how it ended; `answer` is "" if there is none. `prompt`, `prefill` and `out` are tokens of
    all calls, the strategy's own included. `over` counts the calls over the budget, by at most `most_over` tokens.
    `seconds` are those of the model. `cost` is in prices of a computed prompt token; None if unknown.
    """

    spec: str
    outcome: str = "stopped"
    answer: str = ""
    turns: int = 0
    prompt: Amount = NOTHING
    prefill: Amount = NOTHING
    out: Amount = NOTHING
    seconds: float = 0.0
    cost: Amount = NOTHING
    over: int = 0
    most_over: int = 0

    def spent(self, calls: Iterable[Call], prices: Prices) -> None:
        """Enter the cost of these calls."""
        sums = add_up(calls)
        self.turns, self.prompt, self.out, self.seconds = sums.turns, sums.prompt, sums.output, sums.seconds
        self.prefill, self.over, self.most_over = sums.prefill, sums.over, sums.most_over
        self.cost = price_sums(sums, prices)


def ask_fork(fork: Agent, question: str, found: Trial) -> Trial:
    """Ask, and enter the outcome in `found`, whatever it is; on Ctrl-C, the part that was complete.

    Raises NotRecorded if a recording has no answer.
    """
    prices, was_cut = fork.price_card(), ""
    try:
        with restore_counter(fork.backend.counter), closing(run(fork, question)) as events:
            for event in events:
                if isinstance(event, Answered):
                    found.outcome, found.answer = ENDING_WORDS[event.ending] + was_cut, event.text
                elif isinstance(event, PromptCut):
                    was_cut = "; the server cut a prompt"
    except NotRecorded:
        raise
    except BudgetError as error:
        found.outcome = f"over budget: {error.what}"
    except ModelError as error:
        found.outcome = f"model error: {error.what}"
    except (Exception, SystemExit) as error:  # the user's own strategy may raise anything
        found.outcome = f"failed: {describe_failure(error, found.spec)}"
    finally:
        found.spent(fork.ledger.calls, prices)
    return found


@contextmanager
def restore_counter(counter: Any) -> Iterator[None]:
    """Restore the counter afterwards, so that each strategy starts with the counts that the session has learnt."""
    learnt = getattr(counter, "learnt", None)
    try:
        yield
    finally:
        if learnt is not None:
            counter.learnt = learnt


# --- known answers ----------------------------------------------------------------------------------------------------


def find_known_exchange(question: str, settings: Settings) -> Exchange | None:
    """The known exchange with the same words; None if the articles or files are not the built-in ones."""
    own = Settings()
    if (settings.corpus.resolve(), settings.files.resolve()) != (own.corpus.resolve(), own.files.resolve()):
        return None
    return _known_exchanges().get(_plain_words(question))


def judge_answer(exchange: Exchange, answer: str) -> str:
    """`right`, or `wrong: why`; for passages that are not an answer, `shown` or `not shown`."""
    if answer.startswith(CLOSEST_PASSAGES):
        return "shown" if shows_facts(exchange, answer, "") else "not shown"
    found = score_answer(exchange, answer)
    return "right" if found.right else f"wrong: {found.why}"


@cache
def _known_exchanges() -> dict[tuple[str, ...], Exchange]:
    """The questions with known answers, by their words; of two with the same words, the first."""
    exchanges = [exchange for one in load_questions().questions for exchange in one.exchanges if exchange.scored]
    return {_plain_words(exchange.question): exchange for exchange in reversed(exchanges)}


def _plain_words(text: str) -> tuple[str, ...]:
    """Words and numbers without case and punctuation."""
    return tuple(re.findall(r"\w+", text.casefold()))
