"""Price cards: the user's, and one estimated from a server's own timings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from thimble.agent.budget import Prices
from thimble.agent.errors import UsageError, did_you_mean
from thimble.agent.ledger import Call
from thimble.agent.protocols import ModelId

HIGHEST_PRICES = {"cached": 1.0, "output": 1000.0, "dollars": 1000.0}
"""The names on a card, and the highest price of each."""
MIN_CALLS = 4
"""The fewest calls with timings for an estimate."""
MIN_SQUARED_SINE = 0.001
"""If the squared sine between the two columns of the fit is below this, they cannot be separated."""


def read_prices(text: str) -> Prices:
    """The price card in a text such as `cached=0.1,output=4`; a price that is left out has its default.

    `dollars` are for a million computed prompt tokens.

    Raises:
        UsageError: a name is unknown, or a price is outside its range.
    """
    given: dict[str, float] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, number = (word.strip() for word in part.partition("="))
        if name not in HIGHEST_PRICES:
            fix = did_you_mean(name, HIGHEST_PRICES, "written cached=0.1,output=4")
            raise UsageError(f"{name[:40]!r} is not the name of a price", fix)
        try:
            given[name] = float(number)
        except ValueError:
            given[name] = -1
        if not 0 <= given[name] <= HIGHEST_PRICES[name]:
            unit = (
                "for a million computed prompt tokens" if name == "dollars" else "in units of a computed prompt token"
            )
            legal = f"{name} takes 0 to {HIGHEST_PRICES[name]:g}, {unit}"
            raise UsageError(f"{part[:40]} is not a price", legal)
    return Prices(**given)


def fixed_card(card: Prices) -> Callable[[Sequence[Call], ModelId], Prices]:
    """The same card for all calls and models."""
    return lambda calls, model: card


def by_timings(calls: Sequence[Call], model: ModelId) -> Prices:
    """The price card of this model, from the seconds of its calls, in units of a computed prompt token.

    The seconds of a prefill are fitted as a * computed + b * cached, both at least 0 (least squares); then cached
    costs b / a. A call whose cached tokens are unknown is left out. An output token costs its decode seconds / a.
    If the calls are too few or too similar, the default card is used.
    """
    sums = _Fit()
    for call in calls:
        if call.model == model:
            sums.add(call)
    return sums.prices()


@dataclass(slots=True)
class _Fit:
    """Sums over calls of x tokens computed and y tokens cached in t seconds of prefill, and over output tokens."""

    rows: int = 0
    xx: float = 0
    xy: float = 0
    yy: float = 0
    xt: float = 0
    yt: float = 0
    written: int = 0
    written_seconds: float = 0

    def add(self, call: Call) -> None:
        """Add a call, if its times are known."""
        cached, t = call.cached.tokens, call.usage.prefill_seconds
        if call.prompt.tokens is None or cached is None or not t:
            return
        x, y = max(0, call.prompt.tokens - cached), cached
        self.rows += 1
        self.xx, self.xy, self.yy = self.xx + x * x, self.xy + x * y, self.yy + y * y
        self.xt, self.yt = self.xt + x * t, self.yt + y * t
        if call.output.tokens and call.usage.decode_seconds:
            self.written += call.output.tokens
            self.written_seconds += call.usage.decode_seconds

    def prices(self) -> Prices:
        """The card of these calls."""
        a, b = self._seconds()
        if not a:
            return Prices()
        cached = min(b / a, HIGHEST_PRICES["cached"])
        if not self.written:
            return Prices(cached)
        return Prices(cached, min(self.written_seconds / self.written / a, HIGHEST_PRICES["output"]))

    def _seconds(self) -> tuple[float, float]:
        """Seconds per computed token and per cached token; zeros if the calls cannot separate them."""
        determinant = self.xx * self.yy - self.xy * self.xy
        if self.rows < MIN_CALLS or determinant <= MIN_SQUARED_SINE * self.xx * self.yy:
            return 0.0, 0.0
        a = (self.xt * self.yy - self.yt * self.xy) / determinant
        b = (self.yt * self.xx - self.xt * self.xy) / determinant
        return (self.xt / self.xx, 0.0) if b < 0 else (max(a, 0.0), b)
