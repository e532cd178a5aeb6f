"""Trials: one question, really asked in a fork of the session under each strategy, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from thimble.agent.agent import Agent
from thimble.agent.budget import Prices
from thimble.agent.errors import BudgetError, ModelError, NotRecorded, Stopped
from thimble.agent.events import Answered, Ending, PromptCut
from thimble.agent.ledger import NOTHING, Amount, Call
from thimble.agent.loop import run
from thimble.corpus.questions import Exchange
from thimble.repl.commands.compare.each import under_each
from thimble.repl.commands.compare.known import known, verdict
from thimble.repl.commands.compare.replay import broke
from thimble.repl.screen.sanitise import clean, line
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import in_use, is_drawn, say
from thimble.repl.screen.trace import cut
from thimble.session import figures
from thimble.session.session import Session
from thimble.session.totals import Totals, cost, totals

ENDED: dict[Ending, str] = {
    "answered": "answered",
    "passages": "no answer: the closest passages",
    "refused": "declined to answer",
    "turn-limit": "answered at the turn limit",
    "thought": "no answer: only thinking",
    "empty": "no answer: empty",
}
ANSWER_CHARACTERS = 600
"""Characters of an answer that are shown."""


@dataclass
class Trial:
    """The answer to the question under one strategy, and its cost.

    `outcome` says in words how it ended, `answer` is "" where there is none. `prompt`, `prefill` and `out` are tokens
    of all calls, those that the strategy made among them. `over` counts the calls over the budget, by at most
    `most_over` tokens.
    `seconds` are those of the model. `cost` is in prices of a computed prompt token; None where it is unknown.
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
        """Enter what these calls cost."""
        sums = totals(calls)
        self.turns, self.prompt, self.out, self.seconds = sums.turns, sums.prompt, sums.output, sums.seconds
        self.prefill, self.over, self.most_over = sums.prefill, sums.over, sums.most_over
        self.cost = priced(sums, prices)


def priced(sums: Totals, prices: Prices) -> Amount:
    """The cost of calls; a prompt token that is computed anew costs 1."""
    total = cost(sums, prices)
    exact = sums.prompt.exact and sums.prefill.exact and sums.output.exact
    return Amount(None) if total is None else Amount(round(total), exact)


def ask_each(session: Session, specs: Sequence[str], question: str, console: Console) -> None:
    """Ask under each of these strategies, and show what came of it; one that fails is a row.

    Raises:
        NotRecorded: a cassette is played that does not hold this; nothing is shown.
        Stopped: the user pressed Ctrl-C; what was done is shown.
    """
    found, exchange = list[Trial](), known(question, session.settings)

    def asked(spec: str) -> None:
        found.append(Trial(spec))
        fork = partial(session.fork, "" if spec == session.spec else spec)
        found[-1] = session.aside(("compare", spec, question), Trial, lambda: ask(fork(), question, found[-1]))
        if not is_drawn(console):
            say(console, f"done {len(found)} of {len(specs)}, {line(spec)}: {line(came_to(found[-1], exchange))}")

    try:
        under_each(specs, asked, console, "asking")
    except Stopped:
        show_asked(session, found, question, exchange, console)
        raise
    show_asked(session, found, question, exchange, console)


def ask(fork: Agent, question: str, found: Trial) -> Trial:
    """Ask, and enter in `found` what came of it, whatever that is; Ctrl-C leaves it at what was complete by then.

    Raises NotRecorded if a cassette has no answer.
    """
    prices, was_cut = fork.price_card(), ""
    try:
        with unlearnt(fork.backend.counter), closing(run(fork, question)) as events:
            for event in events:
                if isinstance(event, Answered):
                    found.outcome, found.answer = ENDED[event.ending] + was_cut, event.text
                elif isinstance(event, PromptCut):
                    was_cut = "; the server cut a prompt"
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
    return found


@contextmanager
def unlearnt(counter: Any) -> Iterator[None]:
    """Restore the counter afterwards, so that each strategy starts with what the session has learnt."""
    learnt = getattr(counter, "learnt", None)
    try:
        yield
    finally:
        if learnt is not None:
            counter.learnt = learnt


def show_asked(
    session: Session, found: Sequence[Trial], question: str, exchange: Exchange | None, console: Console
) -> None:
    """Print the cost under each strategy, then the outcome and the beginning of each answer; equal answers once."""
    if not found:
        return
    names = [f"{one.spec}{in_use(console, one.spec == session.spec)}" for one in found]
    rows = [
        (
            f"{name}{' OVER' * bool(one.over)}",
            str(one.turns),
            *map(_short, (one.prompt, one.prefill, one.out)),
            f"{one.seconds:.1f}",
            _short(one.cost),
        )
        for name, one in zip(names, found, strict=True)
    ]
    columns = ("strategy", ">turns", ">prompt", ">prefill", ">out", ">seconds", ">cost")
    Table(cut(f"Asked under each: {line(question)}", max(console.width, 80)), columns, rows).show(console)
    first: dict[str, str] = {}
    for one, name in zip(found, names, strict=True):
        console.print()
        ended = Text(came_to(one, exchange), style="over" if one.over else "")
        console.print(Text.assemble((f"{line(name)}: ", "name"), ended))
        answer = line(clean(one.answer))
        same = first.setdefault(answer, one.spec)
        if answer and same != one.spec:
            say(console, f"  the same answer as {line(same)}", "quiet")
        elif answer:
            shown = Text(f"{answer[:ANSWER_CHARACTERS]}{' …' if len(answer) > ANSWER_CHARACTERS else ''}")
            console.print(Padding(shown, (0, 0, 0, 2), expand=False) if is_drawn(console) else Text("  ") + shown)


def came_to(one: Trial, exchange: Exchange | None) -> str:
    """`answered, known answer: right`: how it ended, calls over the budget, and whether a known answer is hit.

    Safe to print.
    """
    over = figures.over(one.over, one.most_over, one.prompt.exact) if one.over else ""
    hit = f"known answer: {verdict(exchange, one.answer)}" if exchange and one.answer.strip() else ""
    return line(", ".join(filter(None, (one.outcome, over, hit))))


def _short(of: Amount) -> str:
    return figures.short(of.tokens, of.exact)
