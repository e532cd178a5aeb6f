"""An axis: where a number stands between two pixels, and the round numbers on it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

TICKS = 6
ROUNDING = 1e-9
"""Of a step: 29 * 0.01 / 0.01 is a little less than 29 in a computer."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps `low` … `high` to the pixels `start` … `end`. `low` is less than `high`, and both are finite.

    `step` is what lies between two round numbers; 0 where there are none.
    """

    low: float
    high: float
    start: float
    end: float
    step: float

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        width = self.high - self.low
        if math.isfinite(width):
            part = (value - self.low) / width
        else:
            part = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return self.start + part * (self.end - self.start)

    def ticks(self) -> list[float]:
        """The round numbers on it; the ends where there are none."""
        if not self.step:
            return [self.low, self.high]
        first, last = math.ceil(self.low / self.step - ROUNDING), math.floor(self.high / self.step + ROUNDING)
        return [number * self.step for number in range(first, last + 1)]


def scale(values: Iterable[float], start: float, end: float, zero: bool = True) -> Scale:
    """An axis for these values. With `zero`, 0 is on it and its ends are round numbers."""
    found = set(values)
    if zero or len(found) < 2:
        found.add(0.0)
    low, high = min(found), max(found)
    high = high if low < high else low + 1
    step = _step(high - low)
    if zero and step:
        outer = math.floor(low / step) * step, math.ceil(high / step) * step
        low, high = outer if all(map(math.isfinite, outer)) else (low, high)
    return Scale(low, high, start, end, step)


def _step(width: float) -> float:
    """1, 2 or 5 times a power of ten, at most `TICKS` of them on an axis; 0 if the width is beyond a float."""
    rough = width / TICKS
    power = 10.0 ** math.floor(math.log10(rough)) if 0 < rough < math.inf else 0.0
    step = next((times * power for times in (1, 2, 5, 10) if times * power >= rough), 0.0)
    return step if math.isfinite(step) else 0.0
