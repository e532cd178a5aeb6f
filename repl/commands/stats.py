"""Statistics: where the tokens are and what they cost. All figures are from the ledger, its newest view, the budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby

from rich.console import Console
from rich.text import Text

from agent.agent import Agent
from agent.budget import Budget, Prices
from agent.errors import UsageError
from agent.ledger import Call, Ledger
from agent.messages import Message
from agent.steps import FIT
from agent.view import View
from repl.screen.fate_letters import FATE_LETTERS
from repl.screen.footer import level
from repl.screen.pager import MORE, show
from repl.screen.sanitise import line
from repl.screen.tables import Table
from repl.screen.theme import is_drawn, say
from repl.screen.trace import TIDY
from session import figures
from session.prices import by_timings
from session.session import Session
from session.totals import Totals, cost, totals

ROLES = ("system", "user", "assistant", "tool")
ROLE_NAMES = {"system": "system prompt", "tool": "tool results"}
SHOWN_EXCHANGES = 12
SHOWN_CALLS = 60
CHART_ROWS = 5
BLOCKS = " ▁▂▃▄▅▆▇█"


def show_stats(session: Session, rest: str, console: Console) -> None:
    """/stats [more]: where the tokens are, and what they cost so far.

    The last prompt by role, by fate, and by reasoning, action and observation; each exchange; the cost of answers and
    of summaries, in dollars if the price card has them; the cost of the same calls with the whole history in each, and
    who made them smaller; the prompt of each call against the budget. ~ is an estimate, ? is unknown, ≥ is the known
    part of a sum. On a low screen the most important of it; /stats more has all.
    """
    if rest not in ("", MORE):
        raise UsageError(f"/stats takes no {rest[:40]!r}", f"write /stats or /stats {MORE}")
    agent = session.agent
    counted = "" if agent.backend.counter.exact else " · ~ is an estimate"
    say(console, line(f"{session.spec} · budget {agent.limit:,} · {agent.backend.id.called}{counted}"))
    view = agent.ledger.view
    if view is None:
        say(console, price_line(agent))
        empty_session(session).show(console)
        return
    show(console, rest, lambda: _whole(session, view, console), lambda: _short(session, view, console), "/stats")


def _whole(session: Session, view: View, console: Console) -> None:
    ledger, budget = session.agent.ledger, session.agent.budget(session.agent.schemas())
    say(console, price_line(session.agent))
    tables = [by_role(session, view, budget), by_fate(session, view, budget)]
    tables.append(by_part(view, budget, session.agent.backend.counter.exact))
    if ledger.calls:
        card = session.agent.price_card()
        tables += [by_exchange(ledger), by_purpose(ledger, card), without_management(totals(ledger.calls), ledger)]
        tables.append(by_maker(ledger, session.agent.backend.counter.exact))
    for table in tables:
        table.show(console)
        console.print()
    _tell_recalls(ledger, console)
    _tell_grounds(ledger, console)
    show_chart(ledger.calls, console)


def _short(session: Session, view: View, console: Console) -> None:
    ledger = session.agent.ledger
    by_fate(session, view, session.agent.budget(session.agent.schemas())).show(console)
    if not _recalls(ledger):
        console.print()
    if ledger.calls:
        spent = totals(ledger.calls)
        for name, *cells in without_management(spent, ledger).rows[:2]:
            say(console, "{}: {}; with the whole history: {} ({})".format(name, *cells))
        if makers := by_maker(ledger, session.agent.backend.counter.exact).rows:
            say(console, line(f"smaller by: {', '.join(f'{name} {tokens}' for name, _, tokens, _ in makers)}"))
        _tell_recalls(ledger, console)
        say(console, cost_line(ledger, session.agent.price_card()))
    _tell_grounds(ledger, console)
    show_chart(ledger.calls, console)


def _recalls(ledger: Ledger) -> int:
    return sum(run.name == "recall" for run in ledger.tools)


def _tell_recalls(ledger: Ledger, console: Console) -> None:
    """Say which turns there would not be without a strategy: the comparison counts them on both sides."""
    if recalls := _recalls(ledger):
        say(
            console,
            f"among these calls: {figures.several(recalls, 'recall')}, which a whole history does not need",
            "quiet",
        )


def _tell_grounds(ledger: Ledger, console: Console) -> None:
    """Say which models answered from memory, or cited what was never read."""
    for model in dict.fromkeys(answer.model for answer in ledger.answers):
        its = [answer for answer in ledger.answers if answer.model == model]
        from_memory, invented = sum(one.from_memory for one in its), sum(one.invented for one in its)
        if from_memory or invented:
            answers, cited = figures.several(len(its), "answer"), figures.several(invented, "citation")
            say(console, f"{model.called}: {from_memory} of {answers} from memory, {cited} not read", "warn")


def price_line(agent: Agent) -> str:
    """The price card in use: what the strategies that weigh an edit go by, for a token of each kind."""
    card = agent.price_card()
    origin = "as set" if agent.prices is not by_timings else "usual" if card == Prices() else "from timings"
    dollars = f" · ${card.dollars:g} a million computed" if card.dollars else ""
    return f"prices: computed 1 · cached {card.cached:.3g} · written {card.output:.3g}{dollars} ({origin})"


def empty_session(session: Session) -> Table:
    """The fixed cost of every prompt: the system prompt and the tool schemas."""
    agent = session.agent
    budget = agent.budget(agent.schemas())
    system = budget.count(Message("m1", "system", agent.state.system))
    exact = agent.backend.counter.exact
    costs = [
        (ROLE_NAMES["system"], system),
        (f"schemas of {figures.several(len(agent.offered()), 'tool')}, and template", budget.overhead),
        ("together", system + budget.overhead),
        ("left for the conversation", max(0, budget.limit - system - budget.overhead)),
    ]
    rows = [(name, figures.tokens(count, exact), figures.share(count, budget.limit)) for name, count in costs]
    return Table("Nothing is asked yet, and every prompt will already hold", ("", ">tokens", ">of budget"), rows, (2,))


def by_role(session: Session, view: View, budget: Budget) -> Table:
    """Messages, tokens in the history and tokens in the view, by role; the schemas are a row of their own."""
    inserted = {view.messages[index].id for index in view.inserted}
    exact = session.agent.backend.counter.exact
    rows: list[_Row] = []
    for role in ROLES:
        said = [message for message in view.history if message.role == role]
        shown = [message for message in view.messages if message.role == role and message.id not in inserted]
        rows.append(_Row(ROLE_NAMES.get(role, role), len(said), _size(budget, said), _size(budget, shown)))
    new = [view.messages[index] for index in view.inserted]
    rows.append(_Row("inserted", len(new), 0, _size(budget, new)))
    rows.append(_Row("tool schemas, template", 0, view.overhead, view.overhead))
    return _of_view("The last prompt, by role", rows, exact, view.limit, summed=True)


def by_fate(session: Session, view: View, budget: Budget) -> Table:
    """The messages of the history by their fate in the view, with their tokens."""
    shown = {message.id: message for message in view.messages}
    exact = session.agent.backend.counter.exact
    rows: list[_Row] = []
    for fate in FATE_LETTERS:
        met = [message for message, its in view.fated if its == fate]
        there = [shown[message.id] for message in met if message.id in shown]
        rows.append(_Row(fate, len(met), _size(budget, met), _size(budget, there)))
    last = session.agent.ledger.prepared
    under = f" (under {line(last.strategy)})" if last and last.strategy != session.spec else ""
    return _of_view(f"The last prompt{under}, by what became of each message", rows, exact, view.limit, summed=False)


def by_part(view: View, budget: Budget, exact: bool) -> Table:
    """The turns, in the history and in the view, by their parts: T = (reasoning, action, observation).

    Observations are most of a turn: 84 % of one of SWE-agent (The Complexity Trap, Figure 1).
    """
    history, shown = _parts(view.history, budget), _parts(view.messages, budget)
    rows = [
        (name, *(cell for parts in (history, shown) for cell in
                 (figures.tokens(parts[name], exact), figures.share(parts[name], sum(parts.values())))))
        for name in history
    ]  # fmt: skip
    return Table("The turns, by what they hold", ("", ">in history", ">share", ">in view", ">share"), rows)


def _parts(messages: Iterable[Message], budget: Budget) -> dict[str, int]:
    """Tokens of reasoning, action and observation."""
    parts = {"reasoning": 0, "action": 0, "observation": 0}
    for message in messages:
        if message.role == "tool":
            parts["observation"] += budget.count(message)
        elif message.role == "assistant":
            said = budget.count(replace(message, calls=())) if message.calls else budget.count(message)
            parts["reasoning"] += said
            parts["action"] += budget.count(message) - said
    return parts


def by_purpose(ledger: Ledger, card: Prices) -> Table:
    """The cost of answers, of summaries and of what else a model was asked for, in computed prompt tokens."""
    names = list(dict.fromkeys(["answer", *(call.purpose for call in ledger.calls)]))
    whole = cost(totals(ledger.calls), card)
    rows = []
    for name, calls in [
        *((name, [c for c in ledger.calls if c.purpose == name]) for name in names),
        ("", ledger.calls),
    ]:
        spent = totals(calls)
        amounts = map(figures.amount, (spent.prompt, spent.cached, spent.output))
        rows.append((name or "together", str(spent.calls), *amounts, *_cost(calls, whole, card)))
    columns = ("", ">calls", ">prompt", ">cached", ">out", ">cost", ">share", *((">dollars",) if card.dollars else ()))
    return Table("What it cost, in computed prompt tokens", columns, rows, (len(rows) - 1,))


def _cost(calls: Sequence[Call], whole: float | None, card: Prices) -> Iterable[str]:
    costs, spent = [cost(call, card) for call in calls], totals(calls)
    price, known = sum(filter(None, costs)), None not in costs
    exact = spent.prompt.exact and spent.cached.exact and spent.output.exact
    mark = "≥" * (not known) + "~" * (not exact)
    yield f"{mark}{round(price):,}" if known or price else "?"
    yield _part(price if known else None, whole)
    if card.dollars:
        yield f"{mark}{card.money(price):.4f}" if known or price else "?"


def _part(price: float | None, whole: float | None) -> str:
    return "?" if price is None or not whole else figures.share(round(price), round(whole))


def cost_line(ledger: Ledger, card: Prices) -> str:
    """`cost: ~5,310 computed tokens, summaries 12% of it; $0.0042`."""
    whole = cost(totals(ledger.calls), card)
    _, summaries, *_ = _cost([call for call in ledger.calls if call.purpose == "summary"], whole, card)
    tokens, _, *dollars = _cost(ledger.calls, whole, card)
    return f"cost: {tokens} computed tokens, summaries {summaries} of it" + "".join(f"; ${one}" for one in dollars)


def by_exchange(ledger: Ledger) -> Table:
    """Turns, tokens and seconds of the newest exchanges, and of the session."""
    numbers = sorted({call.exchange for call in ledger.calls})[-SHOWN_EXCHANGES:]
    rows = [_account(str(number), ledger.of_exchange(number)) for number in numbers]
    rows.append(_account("session", ledger.calls))
    columns = ("exchange", ">turns", ">prompt", ">cached", ">prefill", ">out", ">seconds")
    left_out = len({call.exchange for call in ledger.calls}) - len(numbers)
    title = "Each exchange" + (f" (the newest; {left_out} earlier ones are in the sum)" if left_out else "")
    return Table(title, columns, rows, (len(rows) - 1,))


def without_management(spent: Totals, ledger: Ledger) -> Table:
    """The cost of the same calls with the whole history in each, and a cache that never misses."""
    answers = [call for call in ledger.calls if call.purpose == "answer"]
    raw_peak = max((call.raw_prompt for call in answers), default=0)
    peak = max((call.prompt.tokens or 0 for call in answers), default=0)
    rows = [
        ("prompt tokens, all calls", figures.amount(spent.prompt), figures.tokens(spent.raw_prompt, False),
         _ratio(spent.prompt.tokens, spent.raw_prompt)),
        ("prefill tokens, all calls", figures.amount(spent.prefill), figures.tokens(spent.raw_prefill, False),
         _ratio(spent.prefill.tokens, spent.raw_prefill)),
        ("largest prompt", figures.tokens(peak), figures.tokens(raw_peak, False), _ratio(peak, raw_peak)),
    ]  # fmt: skip
    return Table("The same calls with the whole history in each", ("", ">as it was", ">whole", ">ratio"), rows)


def by_maker(ledger: Ledger, exact: bool) -> Table:
    """What `tidy`, each strategy or its parts, and `fit` took out of the history on its way into the prompts."""
    known = [call.taken for call in ledger.calls if call.taken]
    rows = []
    for name in dict.fromkeys(chain(*known)):
        its = [taken[name] for taken in known if name in taken]
        acted = sum(map(bool, its))
        if acted or name not in (TIDY, FIT):
            last = known[-1].get(name, 0)
            rows.append(
                (name, *(_less(tokens, exact) for tokens in (last, sum(its))), f"{acted or 'none'} of {len(its)}")
            )
    return Table("Who made the prompts smaller, by how many tokens", ("", ">the last", ">all", ">calls"), rows)


def _less(tokens: int, exact: bool) -> str:
    return f"{'−' * (tokens < 0)}{figures.tokens(abs(tokens), exact)}" if tokens else "nothing"


def show_chart(calls: Sequence[Call], console: Console) -> None:
    """Prompt tokens of each call against the budget: bars where they can be drawn, figures elsewhere."""
    answers = [call for call in calls if call.purpose == "answer" and call.prompt.tokens is not None]
    known = answers[-SHOWN_CALLS:]
    if not known:
        return
    drawn, first = is_drawn(console), len(answers) - len(known) + 1
    newest = f", the newest {SHOWN_CALLS}" if len(known) < len(answers) else ""
    title = f"Prompt tokens of each call{newest}; the budget is {known[-1].limit:,}"
    say(console, title, "bold")
    if not drawn:
        console.out(
            "  " + ", ".join(figures.amount(call.prompt) + " OVER" * bool(call.over) for call in known), highlight=False
        )
        say(console, f"  {strategies_of(known, first)}")
        return
    step = 2 if 2 * len(known) + 10 <= console.width else 1
    columns = max(1, (console.width - 10) // step)
    for row in chart(known, step, columns):
        console.print(row)
    shown = known[-columns:]
    say(console, f"         {strategies_of(shown, first + len(known) - len(shown))}", "quiet")


def strategies_of(calls: Sequence[Call], first: int) -> str:
    """`calls 1–4 none · 5–9 offload`: the strategy of each call; `first` is the number of the first one."""
    spans, number = [], first
    for strategy, run in groupby(calls, key=lambda call: call.strategy):
        last = number + len([*run]) - 1
        spans.append(f"{number}{f'–{last}' if last > number else ''} {line(strategy)}")
        number = last + 1
    return f"call{'s' if len(calls) > 1 else ''} " + " · ".join(spans)


def chart(
    calls: Sequence[Call], step: int, columns: int, *, high: int = CHART_ROWS, top: int = 0, lead: int = 0
) -> list[Text]:
    """One bar a call, of `step` columns; the budget of the last call is a line through the middle of a row.

    It is `high` rows high, for `top` tokens at least; `lead` calls are left blank before the first.
    """
    calls = calls[-columns:]
    limit = calls[-1].limit
    most = max(top, limit, *(call.prompt.tokens or 0 for call in calls))
    mark = max(0, int(limit * high / most - 0.5))
    scale = max(most, limit * high / (mark + 0.5))
    rows = []
    for row in reversed(range(high)):
        line_ = Text(f"{limit:>8,} " if row == mark else " " * 9, style="quiet")
        line_.append(" " * (lead * step))
        for call in calls:
            eighths = round((call.prompt.tokens or 0) / scale * high * 8) - row * 8
            bar = BLOCKS[max(0, min(8, eighths))]
            empty = "╌" if row == mark else " "
            style = level(call.prompt.tokens, call.limit)
            line_.append(*((empty, "quiet") if bar == " " else (bar, style)))
            line_.append(empty * (step - 1), style="quiet")
        rows.append(line_)
    return rows


@dataclass(frozen=True, slots=True)
class _Row:
    """Messages of one kind: how many, and their tokens in the history and in the view."""

    name: str
    messages: int
    history: int
    view: int


def _of_view(title: str, rows: Iterable[_Row], exact: bool, limit: int, summed: bool) -> Table:
    shown = [row for row in rows if row.messages or row.history or row.view]
    if summed:
        history, view = sum(row.history for row in shown), sum(row.view for row in shown)
        shown.append(_Row("together", sum(row.messages for row in shown), history, view))
    cells = [
        (
            row.name,
            str(row.messages or ""),
            figures.tokens(row.history, exact),
            figures.tokens(row.view, exact),
            figures.share(row.view, limit),
        )
        for row in shown
    ]
    columns = ("", ">messages", ">in history", ">in view", ">of budget")
    return Table(title, columns, cells, (len(cells) - 1,) if summed else ())


def _account(name: str, calls: Sequence[Call]) -> Sequence[str]:
    spent = totals(calls)
    amounts = map(figures.amount, (spent.prompt, spent.cached, spent.prefill, spent.output))
    return (name, str(spent.turns), *amounts, f"{spent.seconds:.1f}")


def _size(budget: Budget, messages: Iterable[Message]) -> int:
    return sum(map(budget.count, messages))


def _ratio(tokens: int | None, raw: int) -> str:
    """`1.4× less`: how the tokens stand to those without management."""
    if not tokens or not raw:
        return "?"
    more = tokens > raw
    factor = f"{tokens / raw if more else raw / tokens:.1f}"
    return "the same" if factor == "1.0" else f"{factor}× {'more' if more else 'less'}"
