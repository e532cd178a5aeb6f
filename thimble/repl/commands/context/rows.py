"""Rows: every message of a history and of its view, in order, with its fate and its tokens."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

from thimble.agent.errors import UsageError
from thimble.agent.fates import Fate
from thimble.agent.ledger import Amount, Ledger
from thimble.agent.messages import Message
from thimble.agent.view import View
from thimble.commands.replay import AS_RECORDED, limit_name
from thimble.commands.why import list_overridden
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.trace import speaker_name
from thimble.session import figures
from thimble.session.session import Session
from thimble.session.story import turn_lines

ShownFate = Fate | Literal["inserted"]


@dataclass(frozen=True, slots=True)
class Row:
    """One message in the history (`before`) and in the view (`after`), or None; sizes are tokens.

    `name` is its name on the screen: its place in the history from 1, or `+1`, `+2`, … for an inserted message.
    `cached`: whether it is in the prefix that the server has cached; None if unknown. `by_you`: the user pinned,
    dropped or edited it.
    """

    name: str
    fate: ShownFate
    before: Message | None
    after: Message | None
    tokens_before: int
    tokens_after: int
    cached: bool | None
    by_you: bool = False

    @property
    def message(self) -> Message:
        """The original message, else the sent one."""
        found = self.before or self.after
        assert found is not None, "a row has a message"
        return found

    @property
    def who(self) -> str:
        """Who says it: system, you, model, the tool's name, a recorded agent, or thimble itself. Safe to print."""
        return speaker_name(self.message) if self.before or self.message.why else "thimble"


@dataclass(frozen=True, slots=True)
class Xray:
    """A view with its rows. `call` names its call; `exact`: the tokens are counted as the model does.

    `cached` and `prefill` are the ledger's; estimates before the reply. `tools`: tools were offered.
    """

    view: View
    rows: Sequence[Row]
    call: str
    strategy: str
    exact: bool
    cached: Amount
    prefill: Amount
    tools: bool = True

    @property
    def overhead(self) -> str:
        """The name of the tokens outside all messages."""
        if self.strategy == AS_RECORDED:
            return "not in the file"
        return "tool schemas" if self.tools else "template"

    def share(self, count: int) -> str:
        """Format tokens as a share of the budget."""
        return f"{figures.format_share(count, self.view.limit)} of the {limit_name(self.strategy)}"

    def tokens(self, count: int) -> str:
        """Format tokens, with `~` for an estimate; 0 is always exact."""
        return figures.format_tokens(count, self.exact or not count)

    def find(self, name: str) -> int:
        """The index of the row with this name. Raises UsageError."""
        wanted = f"{'+' * name.startswith('+')}{int(name)}"
        place = next((at for at, row in enumerate(self.rows) if row.name == wanted), None)
        if place is None:
            call, count = self.call.partition(":")[0], len(self.view.history)
            what = f"there is no message {name[:20]} in the {call}, which has {count:,}"
            raise UsageError(what, "/context lists them, and /context next lists later ones, too")
        return place


def last_call(session: Session) -> Xray:
    """The last call of the session, or the next one if there was none. Raises UsageError."""
    ledger = session.agent.ledger
    return _call_of(session, ledger, "last call") if ledger.prepared else next_call(session)


def call_at(session: Session, place: str) -> Xray:
    """The call of this place on the branch, EXCHANGE.TURN. Raises UsageError."""
    tree = session.journal.tree
    there = session.journal.state(until=turn_lines(tree.path(tree.current), place)[-1])
    return _call_of(session, there.ledger, "call")


def _call_of(session: Session, ledger: Ledger, called: str) -> Xray:
    last = ledger.prepared
    assert last is not None, "there is a call"
    call = f"{called}: turn {last.turn} of exchange {ledger.prepared_in}"
    replied = ledger.last
    found = (replied.cached, replied.prefill) if replied else estimate_cached(last.view)
    return _xray(session, last.view, call, last.strategy, last.exact, bool(last.tools), *found)


def next_call(session: Session) -> Xray:
    """The next call, as far as it can be known without a model and without the question.

    Raises:
        UsageError: the budget cannot hold it.
    """
    from thimble.commands.forecast import forecast_prompt

    found = forecast_prompt(session, "", foreign=True)
    if found.view is None:
        what = f"the next prompt needs {found.tokens:,} tokens and the budget holds {found.limit:,}"
        raise UsageError(what, "raise it with /budget N; /context shows the last call")
    call = "next call, if the summary fails" if found.asks else "next call"
    exact, amounts = session.agent.backend.counter.exact, estimate_cached(found.view)
    return _xray(session, found.view, call, session.spec, exact, found.tools > 0, *amounts)


def estimate_cached(view: View) -> tuple[Amount, Amount]:
    """The expected cached tokens and prefill of a view."""
    return Amount(view.cached, exact=False), Amount(view.prefill, exact=False)


def _xray(
    session: Session, view: View, call: str, strategy: str, exact: bool, tools: bool, cached: Amount, prefill: Amount
) -> Xray:
    count = session.agent.backend.counter.count
    rows = rows_of(view, count, cached)
    still = view.tokens == view.overhead + sum(map(count, view.messages))
    return Xray(view, rows, call, one_line(strategy), exact and still, cached, prefill, tools)


def rows_of(view: View, count: Callable[[Message], int], cached: Amount | None = None) -> list[Row]:
    """The rows of a view in order; inserted messages are at their place in the view.

    Their tokens add up to those of the view and of the history: if the counter has learnt since, or the model has
    changed, the total is shared in proportion to today's counts.
    """
    before = spread_shares(view.history_tokens - view.overhead, [count(message) for message in view.history])
    after = spread_shares(view.tokens - view.overhead, [count(message) for message in view.messages])
    known = _cached_messages(view, after, (cached or estimate_cached(view)[0]).tokens)
    places = {message.id: place for place, message in enumerate(view.history)}
    sent: dict[int, tuple[Message, int, bool | None]] = {}
    inserted: dict[int, list[Row]] = {}
    number, following = len(view.inserted), len(places)
    for position in reversed(range(len(view.messages))):
        message, is_known = view.messages[position], None if known is None else position < known
        if message.id in places:
            following = places[message.id]
            sent[following] = message, after[position], is_known
        else:
            row = Row(f"+{number}", "inserted", None, message, 0, after[position], is_known)
            inserted.setdefault(following, []).insert(0, row)
            number -= 1
    rows, mine = [], list_overridden(view)
    for place, (message, fate) in enumerate(view.fated):
        there, tokens, is_known = sent.get(place, (None, 0, False))
        own = f"{place + 1}", fate, message, there, before[place], tokens, is_known, message.id in mine
        rows += [*inserted.get(place, ()), Row(*own)]
    return [*rows, *inserted.get(len(places), ())]


def _cached_messages(view: View, sizes: Sequence[int], cached: int | None) -> int | None:
    """The number of messages in a cached prefix of `cached` tokens; None if unknown."""
    ends = [*accumulate(sizes, initial=view.overhead)]
    if not cached:
        return cached
    found = min(bisect_left(ends, cached), len(ends) - 1)
    return found - 1 if found and cached - ends[found - 1] < ends[found] - cached else found


def spread_shares(total: int, weights: Sequence[int]) -> list[int]:
    """Split a total into whole shares in proportion to the weights, by cumulative rounding.

    They add up to the total, and each is less than one from its exact share; weights that add up to the total are
    returned unchanged.
    """
    whole = sum(weights)
    if not whole:
        weights, whole = [1] * len(weights), len(weights)
    ends = [(2 * total * reached + whole) // (2 * whole) for reached in accumulate(weights)]
    return [end - start for start, end in pairwise([0, *ends])]
