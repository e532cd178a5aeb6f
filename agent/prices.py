"""Prices: the card that a user gives, and the one that a server's own timings amount to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from agent.budget import Prices
from agent.errors import UsageError

if TYPE_CHECKING:
    from agent.ledger import Call

MOST = {"cached": 1.0, "output": 1000.0}
"""What a card may name, and the highest price of each."""
LEAST_CALLS = 4
"""Calls with timings below which there is no estimate."""
TOO_ALIKE = 0.001
"""Squared sine between the two columns of the fit below which one cannot be told from the other."""


def read_prices(text: str) -> Prices:
    """The price card that a text such as `cached=0.1,output=4` gives; what it leaves out has its usual price.

    Raises:
        UsageError: it names something else, or a price outside its legal range.
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
    """What these calls, all of one model, say that a token costs: seconds, where a computed prompt token takes 1.

    The seconds of a prefill are fitted as a * computed + b * cached, both at least 0 (least squares); then cached
    costs b / a. Cached is what the server reported, else what our own count expects. A written token costs its
    decode seconds / a. Where the calls are few or too much alike, the usual card stands.
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
    """Tokens computed and cached with the seconds of prefill, tokens written with those of decoding."""
    cached = call.shared if call.cached.tokens is None else call.cached.tokens
    if call.prompt.tokens is None or cached is None or not call.usage.prefill_seconds:
        return None
    known = call.output.tokens and call.usage.decode_seconds
    wrote = (call.output.tokens or 0, call.usage.decode_seconds or 0.0) if known else (0, 0.0)
    return max(0, call.prompt.tokens - cached), cached, call.usage.prefill_seconds, *wrote


def _fitted(rows: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """The a and b >= 0 with the least squares of a * x + b * y - t over rows of x, y, t; zeros where there are none."""
    xx, xy, yy = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    xt, yt = (sum(row[i] * row[2] for row in rows) for i in (0, 1))
    determinant = xx * yy - xy * xy
    if len(rows) < LEAST_CALLS or determinant <= TOO_ALIKE * xx * yy:
        return 0.0, 0.0
    a, b = (xt * yy - yt * xy) / determinant, (yt * xx - xt * xy) / determinant
    if b < 0:
        return xt / xx, 0.0
    return max(a, 0.0), b
