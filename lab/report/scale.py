"""An axis: where a number stands between two pixels, and the round numbers on it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps `low` … `high` to the pixels `start` … `end`. `low` is less than `high`, and both are finite."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        width = self.high - self.low
        if math.isfinite(width):
            part = (value - self.low) / width
        else:
            part = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return self.start + part * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """At most about so many multiples of 1, 2 or 5 times a power of ten; the ends where none are to be had."""
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough)) if 0 < rough < math.inf else 0.0
        step = next((times * power for times in (1, 2, 5, 10) if times * power >= rough), 0.0)
        if not 0 < step < math.inf:
            return [self.low, self.high]
        return [number * step for number in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]


def scale(values: Iterable[float], start: float, end: float, zero: bool = True) -> Scale:
    """An axis for these values; with 0 on it if asked, or if there are not two different values."""
    found = set(values)
    if zero or len(found) < 2:
        found.add(0.0)
    low, high = min(found), max(found)
    return Scale(low, high if low < high else low + 1, start, end)
