"""The footer: one line after each exchange with its cost. Every figure comes from the ledger."""

from __future__ import annotations

from collections import Counter as Tally
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len

from thimble.agent.ledger import Amount, Ledger
from thimble.agent.view import View
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.trace import MIN_NAME_COLUMNS, fit_spec
from thimble.session import figures
from thimble.session.totals import add_up

if TYPE_CHECKING:
    from thimble.agent.agent import Agent

LEAST_WAIT_SECONDS = 0.5
FROM_MEMORY = "from memory"
"""The mark of an answer without any lookup, which cites nothing that was read."""
Level = Literal["calm", "near", "over"]


@dataclass(frozen=True, slots=True)
class Context:
    """The last prompt of an exchange and its budget, in tokens."""

    prompt: Amount
    limit: int

    @property
    def level(self) -> Level:
        """How near the budget it is."""
        return budget_level(self.prompt.tokens, self.limit)

    def __str__(self) -> str:
        return figures.format_budget_use(self.prompt.tokens, self.limit, self.prompt.exact)


def footer_line(agent: Agent, width: int) -> str:
    """The cost of the newest exchange, in at most `width` columns.

    `turns 4 · ctx ~6,812/8,000 85% · cached 5,903 · out 412 · observation-masking −3 obs −2.1k · 3.1s · Σ 21.4k`:

    - the model calls of the exchange, and `from memory` if its answer is from memory;
    - the prompt of its last call beside the budget, and the cached part of it;
    - the output tokens of all models;
    - the strategy, and the observations and tokens kept out of that prompt: by itself, then by each part and `fit`;
    - seconds in the models (of a background model only those the agent waited), and of waiting for a model to be free
      or to load;
    - the prompt tokens of the session.

    If the line is too long, the strategy's name is shortened, then the tool protocol is left out, then fields drop from
    the right.
    """
    ledger = agent.ledger
    calls = ledger.of_exchange(ledger.exchanges)
    answers = [call for call in calls if call.purpose == "answer"]
    spent, total = add_up(calls), add_up(ledger.calls).prompt
    name = one_line(answers[-1].strategy if answers else agent.strategy_name)
    saved = _saved(agent) if answers or _unanswered(ledger) else ""
    protocol = getattr(agent.backend, "protocol", "")
    before = sum(call.waited for call in calls if call.lag is None)
    waited = f" +{before:.1f}s wait" if before >= LEAST_WAIT_SECONDS else ""
    seconds = sum(call.seconds if call.lag is None else call.held for call in calls)
    memory = f" · {FROM_MEMORY}" * ledger.from_memory
    fields = [
        f"turns {spent.turns}{f' ({protocol})' if protocol else ''}{memory}",
        f"ctx {context(agent)}",
        f"cached {figures.format_amount(answers[-1].cached) if answers else '?'}",
        f"out {figures.format_amount(spent.output) if calls else '?'}",
        f"{name}{saved}",
        f"{seconds:.1f}s{waited}" if calls else "?",
        f"Σ {figures.format_short(total.tokens, total.exact)}",
    ]
    for place, shorter in ((4, f"{fit_spec(name, MIN_NAME_COLUMNS)}{saved}"), (0, f"turns {spent.turns}{memory}")):
        if len(fit_fields(fields, width)) < len(fields):
            fields[place] = shorter
    return " · ".join(fit_fields(fields, width))


def fit_fields(fields: list[str], width: int, least: int = 1) -> list[str]:
    """The fields that fit in `width` columns, with dots between them: the last drop first, down to `least`."""
    while len(fields) > least and cell_len(" · ".join(fields)) > width:
        fields = fields[:-1]
    return fields


def context(agent: Agent) -> Context:
    """The last prompt of the newest exchange: tokens as the server reported them, else as counted, else unknown."""
    ledger = agent.ledger
    answers = [call for call in ledger.of_exchange(ledger.exchanges) if call.purpose == "answer"]
    pending = _unanswered(ledger)
    if pending and ledger.prepared:
        return Context(Amount(pending.tokens, ledger.prepared.exact), pending.limit)
    if answers:
        return Context(answers[-1].prompt, answers[-1].limit)
    return Context(Amount(None), agent.limit)


def budget_level(tokens: int | None, limit: int) -> Level:
    """How near a prompt is to the budget: calm below 70%, near up to 100%, over above."""
    if tokens is None or tokens < 0.7 * limit:
        return "calm"
    return "near" if tokens <= limit else "over"


def _unanswered(ledger: Ledger) -> View | None:
    """The newest view, if it is of the newest exchange and its call was stopped or failed."""
    return ledger.view if ledger.prepared_in == ledger.exchanges and not ledger.replied else None


def _saved(agent: Agent) -> str:
    """The observations that the newest view changes or drops, and the tokens saved: by the strategy, then by name.

    The named ones are `fit` and the parts of a strategy.
    """
    view = agent.ledger.view
    if view is None:
        return ""
    results = (message.id for message in view.history if message.role == "tool")
    hidden = Tally(by for id_ in results for by in {step.by for step in view.steps.get(id_, ())})
    saved = {
        by: f" −{hidden[by]} obs" * bool(hidden[by]) + f" −{figures.format_short(less)}" * (less > 0)
        for by, less in view.taken.items()
    }
    return saved.pop("", "") + "".join(f", {one_line(by)}{words}" for by, words in saved.items() if words)
