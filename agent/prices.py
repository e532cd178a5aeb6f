"""Prices: the card that a user gives, or the one computed from a server's timings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from agent.budget import Prices
from agent.errors import UsageError

if TYPE_CHECKING:
    from agent.ledger import Call

MOST = {"cached": 1.0, "output": 1000.0}
"""The names on a card, and the highest price of each."""
LEAST_CALLS = 4
"""The fewest calls with timings for an estimate."""
TOO_ALIKE = 0.001
"""If the squared sine between the two columns of the fit is below this, they are too alike to separate."""


def read_prices(text: str) -> Prices:
    """The price card in a text such as `cached=0.1,output=4`; a price that it leaves out has its default.

    Raises:
        UsageError: the text has another name, or a price outside its legal range.
    """
    given: dict[str, float] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, number = (word.strip() for word in part.partition("="))
        if name not in MOST:
            near = get_close_matches(name, MOST, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UsageError(f"a price card has no {name[:40]!r}", f"{hint}written cached=0.1,output=4")
        try:
            given[name] = float(number)
        except ValueError:
            given[name] = -1
        if not 0 <= given[name] <= MOST[name]:
            legal = f"{name} takes 0 to {MOST[name]:g}, where a computed prompt token costs 1"
            raise UsageError(f"{part[:40]} is not a price", legal)
    return Prices(**given)


def estimated(calls: Iterable[Call]) -> Prices:
    """The price card of one model from the timings of its calls: seconds, where a computed prompt token costs 1.

    The seconds of a prefill are fitted as a * computed + b * cached, both at least 0 (least squares); then cached costs
    b / a. The cached tokens are those that the server reported, else our own count. A written token costs its decode
    seconds / a. If the calls are few or too much alike, the default card is used.
    """
    rows = [row for call in calls if (row := _timed(call))]
    a, b = _fitted([row[:3] for row in rows])
    if not a:
        return Prices()
    cached = min(b / a, MOST["cached"])
    written = sum(row[3] for row in rows)
    if not written:
        return Prices(cached)
    return Prices(cached, min(sum(row[4] for row in rows) / written / a, MOST["output"]))


def _timed(call: Call) -> tuple[float, float, float, int, float] | None:
    """Tokens computed, tokens cached and the seconds of prefill; tokens written and the seconds of decoding."""
    cached = call.shared if call.cached.tokens is None else call.cached.tokens
    if call.prompt.tokens is None or cached is None or not call.usage.prefill_seconds:
        return None
    known = call.output.tokens and call.usage.decode_seconds
    wrote = (call.output.tokens or 0, call.usage.decode_seconds or 0.0) if known else (0, 0.0)
    return max(0, call.prompt.tokens - cached), cached, call.usage.prefill_seconds, *wrote


def _fitted(rows: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """The a and b >= 0 with the least squares of a * x + b * y - t over rows of x, y, t; zeros if there are none."""
    xx, xy, yy = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    xt, yt = (sum(row[i] * row[2] for row in rows) for i in (0, 1))
    determinant = xx * yy - xy * xy
    if len(rows) < LEAST_CALLS or determinant <= TOO_ALIKE * xx * yy:
        return 0.0, 0.0
    a, b = (xt * yy - yt * xy) / determinant, (yt * xx - xt * xy) / determinant
    if b < 0:
        return xt / xx, 0.0
    return max(a, 0.0), b
