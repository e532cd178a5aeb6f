"""Asked: one question, really asked in a fork of the session under one strategy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from agent.agent import Agent
from agent.budget import Prices
from agent.errors import BudgetError, ModelError, NotRecorded
from agent.events import Answered, Ending, Event, Prepared, Preparing, PromptCut, ToolCalled
from agent.ledger import NOTHING, Amount, Call
from agent.loop import run
from agent.protocols import Waiting
from repl.commands.compare.replay import broke
from session import figures
from session.totals import totals

ENDINGS: dict[Ending, str] = {
    "answered": "answered",
    "refused": "declined to answer",
    "turn-limit": "answered at the turn limit",
    "thought": "no answer: only thinking",
    "empty": "no answer: empty",
}
STOPPED = "stopped"
CUT = "; the server cut a prompt"


@dataclass
class Trial:
    """The answer to the question under one strategy, and its cost.

    `outcome` says in words how it ended, `answer` is "" where there is none. `prompt`, `prefill` and `out` are tokens
    of all calls, those that the strategy made among them. `over` counts the calls over the budget, by at most
    `most_over` tokens.
    `seconds` are those of the model. `cost` is in prices of a computed prompt token; None where it is unknown.
    """

    spec: str
    outcome: str = STOPPED
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
        """Enter what these calls cost."""
        rows = list(calls)
        sums = totals(rows)
        self.turns, self.prompt, self.out, self.seconds = sums.turns, sums.prompt, sums.output, sums.seconds
        self.prefill, self.over, self.most_over = sums.prefill, sums.over, sums.most_over
        self.cost = cost(self.prompt, self.prefill, self.out, prices)


def ask(fork: Agent, question: str, found: Trial, on_step: Callable[[str, bool], None]) -> None:
    """Ask, and enter in `found` what came of it, whatever that is; Ctrl-C leaves it at what was complete by then.

    `on_step` gets the step under way, and whether a turn begins. Raises NotRecorded if a cassette has no answer.
    """
    prices, cut = fork.price_card(), ""
    fork.side.on_ask = lambda purpose: on_step(f"asks a model: {purpose}", False)
    try:
        with unlearnt(fork.backend.counter), closing(run(fork, question)) as events:
            for event in events:
                if isinstance(event, Answered):
                    found.outcome, found.answer = ENDINGS[event.ending] + cut, event.text
                elif isinstance(event, PromptCut):
                    cut = CUT
                elif said := _under_way(event):
                    on_step(said, isinstance(event, Preparing))
    except NotRecorded:
        raise
    except BudgetError as error:
        found.outcome = f"over budget: {error.what}"
    except ModelError as error:
        found.outcome = f"model error: {error.what}"
    except (Exception, SystemExit) as error:  # a strategy of the user's own, whatever it does
        found.outcome = f"failed: {broke(error, found.spec)}"
    finally:
        found.spent(fork.ledger.calls, prices)


@contextmanager
def unlearnt(counter: Any) -> Iterator[None]:
    """Restore the counter afterwards, so that each strategy starts with what the session has learnt."""
    learnt = getattr(counter, "learnt", None)
    try:
        yield
    finally:
        if learnt is not None:
            counter.learnt = learnt


def cost(prompt: Amount, prefill: Amount, out: Amount, prices: Prices) -> Amount:
    """The cost of calls with so many tokens; a prompt token that is computed anew costs 1."""
    if prompt.tokens is None or prefill.tokens is None or out.tokens is None:
        return Amount(None)
    total = prices.prompt(prompt.tokens, prompt.tokens - prefill.tokens) + prices.output * out.tokens
    return Amount(round(total), prompt.exact and prefill.exact and out.exact)


def _under_way(event: Event) -> str:
    match event:
        case Preparing():
            return f"turn {event.turn}: prepares the view"
        case Prepared():
            return f"turn {event.turn}: sends {figures.tokens(event.view.tokens, event.exact)} tokens"
        case Waiting(what):
            return what
        case ToolCalled():
            return event.call.name
    return ""
