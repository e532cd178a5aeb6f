"""/stats: the tokens and their cost. All figures come from the ledger, its newest view and the budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, groupby

from rich.console import Console
from rich.text import Text

from thimble.agent.agent import Agent
from thimble.agent.budget import Budget, Prices
from thimble.agent.ledger import Call, Ledger
from thimble.agent.messages import Message
from thimble.agent.steps import FIT
from thimble.agent.view import View
from thimble.commands.replay import limit_name
from thimble.models.prices import by_timings
from thimble.repl.commands.command import command, one_of
from thimble.repl.screen.footer import budget_level
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import is_drawn, say
from thimble.session import figures
from thimble.session.session import Session
from thimble.session.totals import add_up, price_calls
from thimble.tools.wording import count_noun

CHARTED_CALLS = 60
CHART_ROWS = 3
EIGHTHS = " ▁▂▃▄▅▆▇█"


@command("stats [all]", "Calls", aliases=("tokens", "cost"), completer=one_of("all"))
def show_stats(session: Session, rest: str, console: Console) -> None:
    """Show the tokens of each call, and their cost so far.

    The prompt of each call against the budget, the parts of the last prompt, and the total cost, beside that of the
    same calls with the whole history in each. A prompt token that is not cached costs 1; the price card may add
    dollars. /stats all adds each exchange, answers and summaries, and the savings of each strategy. ~ is an estimate,
    ? is unknown, ≥ is the known part of a sum.
    """
    agent = session.agent
    ledger, view, exact = agent.ledger, agent.ledger.view, agent.backend.counter.exact
    counted = "" if exact else " · ~ is an estimate"
    say(console, one_line(f"{session.spec} · budget {agent.limit:,} · {agent.backend.id.called}{counted}"))
    if view is None or rest:
        say(console, price_line(agent))
    if view is None:
        say(console, "Nothing was asked yet: /context shows the parts of every prompt.")
        return
    card = agent.price_card()
    show_chart(ledger.calls, console)
    limit = limit_name(ledger.prepared.strategy if ledger.prepared else "")
    tables = [tokens_by_kind(view, agent.budget(agent.schemas()), exact, limit)]
    if ledger.calls and rest:
        tables += [
            by_exchange(ledger),
            by_purpose(ledger, card),
            without_management(ledger),
            tokens_by_maker(ledger, exact),
        ]
    for table in (each for each in tables if each.rows):
        if rest:
            console.print()
        table.show(console)
    if ledger.calls and not rest:
        for words in cost_lines(ledger, card):
            say(console, words)
    for text, style in remarks(ledger):
        say(console, text, style)
    if not rest:
        say(console, "/stats all: each exchange, answers and summaries, what made the prompts smaller", "quiet")


def cost_lines(ledger: Ledger, card: Prices) -> Iterable[str]:
    """A line for the cost of all calls, and one for their prompts with the whole history in each."""
    _, calls, prompt, cached, out, cost, _, *dollars = by_purpose(ledger, card).rows[-1]
    (_, _, whole, ratio), *_ = without_management(ledger).rows
    money = "".join(f" · ${each}" for each in dollars)
    yield f"total: calls {calls} · prompt {prompt} · cached {cached} · out {out} · cost {cost}{money}"
    yield f"with the whole history in each call: prompt {whole}; actual: {ratio}"


def remarks(ledger: Ledger) -> Iterable[tuple[str, str]]:
    """Thinking, turns that only a strategy needs, and the models that answered from memory or cited unread articles."""
    if thinking := sum(call.thinking for call in ledger.calls):
        yield f"of the tokens out: ~{thinking:,} of thinking, left out of the prompts of later questions", "quiet"
    if recalls := sum(run.name == "recall" for run in ledger.tools):
        yield f"of these calls: {count_noun(recalls, 'recall')}, which a whole history does not need", "quiet"
    for model in dict.fromkeys(answer.model for answer in ledger.answers):
        its = [answer for answer in ledger.answers if answer.model == model]
        from_memory, invented = sum(one.from_memory for one in its), sum(one.invented for one in its)
        if from_memory or invented:
            answers, cited = count_noun(len(its), "answer"), count_noun(invented, "citation")
            yield one_line(f"{model.called}: {from_memory} of {answers} from memory, {cited} not read"), "warn"


def price_line(agent: Agent) -> str:
    """The price card in use: the price of each kind of token, by which some strategies weigh an edit."""
    card = agent.price_card()
    origin = "as set" if agent.prices is not by_timings else "default" if card == Prices() else "from timings"
    dollars = f" · ${card.dollars:g} per million computed" if card.dollars else ""
    return f"prices per token: computed 1 · cached {card.cached:.3g} · output {card.output:.3g}{dollars} ({origin})"


def tokens_by_kind(view: View, budget: Budget, exact: bool, limit: str = "budget") -> Table:
    """Tokens in the history and in the view, and its share of the limit, by kind: system prompt, questions, schemas.

    A turn is T = (reasoning, action, observation). Observations are most of it: 84 % of one of SWE-agent (The
    Complexity Trap, Figure 1).
    """
    before, after = _kinds(view.history, budget), _kinds(view.messages, budget, view.inserted)
    rows = [(name, before[name], after[name]) for name in before]
    rows.append(("tool schemas, template", view.overhead, view.overhead))
    rows = [row for row in rows if row[1] or row[2]]
    rows.append(("total", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    cells = [
        (
            name,
            figures.format_tokens(was, exact),
            figures.format_tokens(sent, exact),
            figures.format_share(sent, view.limit),
        )
        for name, was, sent in rows
    ]
    columns = ("", ">in history", ">in view", f">of {limit}")
    return Table("The parts of the last prompt", columns, cells, bold=-1)


def _kinds(messages: Iterable[Message], budget: Budget, inserted: Sequence[int] = ()) -> dict[str, int]:
    """The tokens of the messages by kind; in a message with calls the text is reasoning, the rest is action."""
    kinds = dict.fromkeys(("system prompt", "user", "reasoning", "action", "observation", "inserted"), 0)
    names = {"system": "system prompt", "user": "user", "tool": "observation", "assistant": "reasoning"}
    for place, message in enumerate(messages):
        said = budget.count(replace(message, calls=())) if message.calls else budget.count(message)
        kinds["inserted" if place in inserted else names[message.role]] += said
        kinds["action"] += budget.count(message) - said
    return kinds


def by_purpose(ledger: Ledger, card: Prices) -> Table:
    """The cost of answers, summaries and other calls to a model, in computed prompt tokens."""
    names = dict.fromkeys(["answer", *(call.purpose for call in ledger.calls)])
    whole = price_calls(add_up(ledger.calls), card)
    groups = [(name, [call for call in ledger.calls if call.purpose == name]) for name in names]
    rows = []
    for name, calls in [*groups, ("total", ledger.calls)]:
        spent = add_up(calls)
        amounts = map(figures.format_amount, (spent.prompt, spent.cached, spent.output))
        rows.append((name, str(spent.calls), *amounts, *_cost(calls, whole, card)))
    columns = ("", ">calls", ">prompt", ">cached", ">out", ">cost", ">share", *((">dollars",) if card.dollars else ()))
    return Table("The cost, in computed prompt tokens", columns, rows, bold=-1)


def _cost(calls: Sequence[Call], whole: float | None, card: Prices) -> Iterable[str]:
    """The cost of calls, its share of the whole, and its dollars."""
    costs, spent = [price_calls(call, card) for call in calls], add_up(calls)
    price, known = sum(filter(None, costs)), None not in costs
    exact = spent.prompt.exact and spent.cached.exact and spent.output.exact
    mark = "≥" * (not known) + "~" * (not exact)
    yield f"{mark}{round(price):,}" if known or price else "?"
    yield figures.format_share(round(price), round(whole)) if known and whole else "?"
    if card.dollars:
        yield f"{mark}{card.money(price):.4f}" if known or price else "?"


def by_exchange(ledger: Ledger) -> Table:
    """Turns, tokens and seconds of each exchange, and of the session."""
    numbers = sorted({call.exchange for call in ledger.calls})
    rows = [_account(str(number), ledger.of_exchange(number)) for number in numbers]
    rows.append(_account("session", ledger.calls))
    columns = ("exchange", ">turns", ">prompt", ">cached", ">prefill", ">out", ">seconds")
    return Table("Each exchange", columns, rows, bold=-1)


def _account(name: str, calls: Sequence[Call]) -> Sequence[str]:
    spent = add_up(calls)
    amounts = map(figures.format_amount, (spent.prompt, spent.cached, spent.prefill, spent.output))
    return (name, str(spent.turns), *amounts, f"{spent.seconds:.1f}" if any(call.began for call in calls) else "?")


def without_management(ledger: Ledger) -> Table:
    """The cost of the same calls with the whole history in each, and a cache that never misses.

    A call without a strategy, such as one that warms up the model, counts on neither side.
    """
    spent = add_up(call for call in ledger.calls if call.strategy)
    answers = [call for call in ledger.calls if call.purpose == "answer"]
    raw_peak = max((call.raw_prompt for call in answers), default=0)
    peak = max((call.prompt.tokens or 0 for call in answers), default=0)
    rows = [
        (name, was, figures.format_tokens(raw, False), _format_ratio(tokens, raw))
        for name, was, tokens, raw in (
            ("prompt tokens, all calls", figures.format_amount(spent.prompt), spent.prompt.tokens, spent.raw_prompt),
            (
                "prefill tokens, all calls",
                figures.format_amount(spent.prefill),
                spent.prefill.tokens,
                spent.raw_prefill,
            ),
            ("largest prompt", figures.format_tokens(peak), peak, raw_peak),
        )
    ]
    return Table("The same calls with the whole history in each", ("", ">actual", ">whole", ">ratio"), rows)


def _format_ratio(tokens: int | None, raw: int) -> str:
    """`1.4× less`: the tokens relative to those without a strategy."""
    if not tokens or not raw:
        return "?"
    more = tokens > raw
    factor = f"{tokens / raw if more else raw / tokens:.1f}"
    return "the same" if factor == "1.0" else f"{factor}× {'more' if more else 'less'}"


def tokens_by_maker(ledger: Ledger, exact: bool) -> Table:
    """The tokens that each strategy, each of its parts and `fit` took out of the prompts."""
    known = [call.taken for call in ledger.calls if call.taken]
    rows = []
    for name in dict.fromkeys(chain(*known)):
        its = [taken[name] for taken in known if name in taken]
        acted = sum(map(bool, its))
        if acted or name != FIT:
            last = known[-1].get(name, 0)
            amounts = (_format_saving(tokens, exact) for tokens in (last, sum(its)))
            rows.append((name, *amounts, f"{acted or 'none'} of {len(its)}"))
    return Table("What made the prompts smaller, in tokens", ("", ">the last", ">all", ">calls"), rows)


def _format_saving(tokens: int, exact: bool) -> str:
    return f"{'−' * (tokens < 0)}{figures.format_tokens(abs(tokens), exact)}" if tokens else "nothing"


def show_chart(calls: Sequence[Call], console: Console) -> None:
    """Print the prompt tokens of each call against the budget, as bars, or as figures in plain output."""
    answers = [call for call in calls if call.purpose == "answer" and call.prompt.tokens is not None]
    room = max(1, console.width - 10) if is_drawn(console) else CHARTED_CALLS
    shown = answers[-min(CHARTED_CALLS, room) :]
    if not shown:
        return
    newest = f", the newest {len(shown)}" if len(shown) < len(answers) else ""
    title = f"Prompt tokens of each call{newest}; the {limit_name(shown[-1].strategy)} is {shown[-1].limit:,}"
    say(console, title, "bold" if is_drawn(console) else "")
    spans, number = [], len(answers) - len(shown) + 1
    for strategy, run in groupby(shown, key=lambda call: call.strategy):
        last = number + len([*run]) - 1
        spans.append(f"{number}{f'–{last}' if last > number else ''} {one_line(strategy)}")
        number = last + 1
    used = f"call{'s' if len(shown) > 1 else ''} " + " · ".join(spans)
    if is_drawn(console):
        for row in chart(shown, 2 if 2 * len(shown) <= room else 1):
            console.print(row)
        say(console, f"         {used}", "quiet")
    else:
        tokens = (f"{figures.format_amount(call.prompt)}{' OVER' * bool(call.over)}" for call in shown)
        say(console, f"  {', '.join(tokens)}\n  {used}")


def chart(calls: Sequence[Call], step: int) -> list[Text]:
    """One bar per call, of `step` columns; the budget of the last call is a line through the middle of a row."""
    limit = calls[-1].limit
    most = max(limit, *(call.prompt.tokens or 0 for call in calls))
    mark = max(0, int(limit * CHART_ROWS / most - 0.5))
    scale = max(most, limit * CHART_ROWS / (mark + 0.5))
    rows = []
    for row in reversed(range(CHART_ROWS)):
        drawn = Text(f"{limit:>8,} " if row == mark else " " * 9, style="quiet")
        empty = "╌" if row == mark else " "
        for call in calls:
            eighths = round((call.prompt.tokens or 0) / scale * CHART_ROWS * 8) - row * 8
            bar = EIGHTHS[max(0, min(8, eighths))]
            drawn.append(*((empty, "quiet") if bar == " " else (bar, budget_level(call.prompt.tokens, call.limit))))
            drawn.append(empty * (step - 1), style="quiet")
        rows.append(drawn)
    return rows
