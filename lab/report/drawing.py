"""Lines, bars and heat maps as SVG. Colours and strokes are classes of page.css; dash, marker and label say the same.

What is not a finite number is not drawn: a line has a gap there, a cell a question mark.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from lab.report.cells import Value, cut, finite, safe, shown
from lab.report.scale import Scale, scale

WIDTH, HEIGHT = 720, 300
LINE, LETTER, MARGIN = 16, 6.6, 12
"""Height of a row of letters, width of a letter and the space around them, in pixels."""
KINDS = 8
"""Colours; there are seven markers and six dashes, so that the same three meet again after 168 lines."""
MARKS = ("M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "M-4-4h8v8h-8z", "M0-5L5 4H-5z", "M0-5L5 0L0 5L-5 0z",
         "M0 5L5-4H-5z", "M-4-4L4 4M-4 4L4-4", "M-5 0H5M0-5V5")  # fmt: skip
DASHES = 6
MOST_MARKS = 8

Interval = tuple[float | None, float | None] | None
Series = Mapping[str, Sequence[Value]]
Intervals = Mapping[str, Sequence[Interval]]
Looks = Mapping[str, int]
"""The number of the colour, dash and marker of each series."""
Point = tuple[float, float]


def lines(x: tuple[str, Sequence[Value]], series: Series, intervals: Intervals, unit: str, looks: Looks) -> str:
    """A line for each series, its name at the end, with a band for its intervals."""
    name, places = x
    across = [finite(place) for place in places]
    height = max(HEIGHT, LINE * (len(series) + 4))
    named = {called: called if _drawn(across, values) else f"{called} (no values)" for called, values in series.items()}
    right = WIDTH - MARGIN - _room([*named.values()])
    down = scale(_all(series, intervals), height - 3 * LINE, 2 * LINE)
    left = MARGIN + _room([shown(tick) for tick in down.ticks()])
    along = scale((place for place in across if place is not None), left, right, zero=False)
    pieces = [*_grid(down, left, right, unit), *_feet(along, height - 3 * LINE, name)]
    ends: list[tuple[str, str, Point | None]] = []
    for called, values in series.items():
        kind = _kind(looks[called])
        heights = [finite(value) for value in values]
        points = [None if a is None or b is None else (along(a), down(b)) for a, b in zip(across, heights, strict=True)]
        pieces += _band(across, intervals.get(called, ()), along, down, kind)
        pieces += _line(points, kind, looks[called])
        ends.append((named[called], kind, next((point for point in reversed(points) if point), None)))
    pieces += _names(ends, right, height)
    return _svg(height, pieces, f"Lines of {unit} by {name}. {_told(places, series)}")


def bars(x: tuple[str, Sequence[Value]], series: Series, intervals: Intervals, unit: str, looks: Looks) -> str:
    """A group for each label, in it a bar for each series with its value and its interval."""
    name, labels = x
    rows = [(at, label, called) for at, label in enumerate(labels) for called in series]
    values = [shown(series[called][at]) + _between(intervals, called, at) for at, _, called in rows]
    named = MARGIN + _room([shown(label) for label in labels])
    left = named + (_room(series) if len(series) > 1 else 0)
    right = WIDTH - MARGIN - _room(values)
    bottom = LINE + (LINE + 4) * len(rows) + 6 * len(labels)
    along = scale(_all(series, intervals), left, right)
    pieces = [*_feet(along, bottom, unit, 4)]
    for number, ((at, label, called), value) in enumerate(zip(rows, values, strict=True)):
        top, kind = 8 + (LINE + 4) * number + 6 * at, _kind(looks[called])
        if number % len(series) == 0:
            pieces.append(_text(named - 8, top + 12, cut(shown(label)), "end"))
        if len(series) > 1:
            pieces.append(_text(left - 8, top + 12, cut(called), "end quiet"))
        length = finite(series[called][at])
        if length is not None:
            start, end = sorted((along(0), along(length)))
            pieces.append(
                f'<rect class="bar {kind}" x="{start:.1f}" y="{top}" width="{end - start:.1f}" height="{LINE}"/>'
            )
        whisker = _finite(intervals, called, at)
        if whisker:
            low, high = map(along, whisker)
            pieces.append(f'<path class="whisker" d="M{low:.1f} {top + 3}v10m0-5H{high:.1f}m0-5v10"/>')
        pieces.append(_text(WIDTH - MARGIN, top + 12, cut(value), "end"))
    zero = along(0)
    pieces.append(f'<path class="axis" d="M{zero:.1f} 4V{bottom}"/>')
    return _svg(bottom + 2.5 * LINE, pieces, f"Bars of {unit} by {name}. {_told(labels, series)}")


def heat(rows: tuple[str, Sequence[Value]], columns: tuple[str, Sequence[Value]], values: Sequence[Sequence[Value]],
         unit: str) -> str:  # fmt: skip
    """A cell for each row and column, with its value where there is room; the stronger its colour, the farther from 0.

    If there are values on both sides of 0, those above have another colour.
    """
    beside = f"{rows[0]} ↓"
    left = MARGIN + _room([beside, *map(shown, rows[1])])
    wide = min(max(60.0, _room([*map(shown, columns[1])])), (WIDTH - MARGIN - left) / max(1, len(columns[1])))
    tall = LINE + 8
    numbers = [number for row in values for value in row if (number := finite(value)) is not None]
    both = bool(numbers) and min(numbers) < 0 < max(numbers)
    strength = scale(map(abs, numbers), 0.04, 0.5, zero=both)
    every = max(1, math.ceil(max((_width(shown(label)) for label in columns[1]), default=0) / wide))
    pieces = [_text(left, LINE, f"{columns[0]} →", "quiet"), _text(left - 8, 2 * LINE + 2, cut(beside), "end quiet")]
    for at, label in enumerate(columns[1][::every]):
        pieces.append(_text(left + wide * (at * every + 0.5), 2 * LINE + 2, cut(shown(label)), "middle"))
    top = 2.5 * LINE
    for down, (label, row) in enumerate(zip(rows[1], values, strict=True)):
        pieces.append(_text(left - 8, top + tall * down + LINE, cut(shown(label)), "end"))
        for at, value in enumerate(row):
            colour = "c1" if both and (finite(value) or 0) > 0 else "c0"
            pieces += _cell(left + wide * at, top + tall * down, (wide, tall), value, strength, colour)
    foot = top + tall * len(values) + LINE
    if numbers:
        said = f"{unit}, from {shown(min(numbers))} to {shown(max(numbers))}{', above 0 in orange' * both}"
        pieces.append(_text(MARGIN, foot + 4, said, "quiet"))
    told = "; ".join(f"{shown(label)}: {_most(columns[1], row)}" for label, row in zip(rows[1], values, strict=True))
    return _svg(foot + LINE, pieces, f"Heat map of {unit} by {rows[0]} and {columns[0]}. {told}")


# --- parts ------------------------------------------------------------------------------------------------------------


def _svg(height: float, pieces: Sequence[str], told: str) -> str:
    drawn = "\n".join(pieces)
    box = f'viewBox="0 0 {WIDTH} {height:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-label="{safe(told)}">\n{drawn}\n</svg>'


def _text(x: float, y: float, words: str, look: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{look}">{safe(words)}</text>'


def _kind(number: int) -> str:
    return f"c{number % KINDS} d{number % DASHES}"


def _width(words: str) -> float:
    return LETTER * len(cut(words)) + 12


def _room(words: Sequence[str] | Series) -> float:
    return max(map(_width, words), default=0)


def _grid(down: Scale, left: float, right: float, unit: str) -> Iterator[str]:
    for tick in down.ticks():
        y = down(tick)
        yield f'<path class="grid" d="M{left:.1f} {y:.1f}H{right:.1f}"/>'
        yield _text(left - 6, y + 4, shown(tick), "end quiet")
    yield _text(left - 6, LINE, unit, "quiet")


def _feet(along: Scale, bottom: float, name: str, top: float = 0) -> Iterator[str]:
    """The numbers below, each with a line up if a `top` is given."""
    for tick in along.ticks():
        x = along(tick)
        yield f'<path class="grid" d="M{x:.1f} {top or bottom:.1f}V{bottom + 4:.1f}"/>'
        yield _text(x, bottom + LINE, shown(tick), "middle quiet")
    yield _text((along.start + along.end) / 2, bottom + 1.9 * LINE, name, "middle quiet")


def _line(points: Sequence[Point | None], kind: str, number: int) -> Iterator[str]:
    """The line with its gaps, and some markers; a point without neighbours has one."""
    parts = [[point for point in part if point] for there, part in groupby(points, bool) if there]
    path = "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in part) for part in parts)
    if path:
        yield f'<path class="line {kind}" d="{path}"/>'
    every = max(1, len(points) // MOST_MARKS)
    marked = [point for at, point in enumerate(points) if point and (at - number * every // 4) % every == 0]
    marked += [part[0] for part in parts if len(part) == 1]
    for x, y in dict.fromkeys(marked):
        yield f'<path class="mark {kind}" transform="translate({x:.1f} {y:.1f})" d="{MARKS[number % len(MARKS)]}"/>'


def _band(
    across: Sequence[float | None], intervals: Sequence[Interval], along: Scale, down: Scale, kind: str
) -> Iterator[str]:
    ends = [
        None if place is None or (pair := _pair(interval)) is None else (along(place), *map(down, pair))
        for place, interval in zip(across, intervals, strict=False)
    ]
    for there, part in groupby(ends, bool):
        if there:
            found = [end for end in part if end]
            edge = [f"{x:.1f} {low:.1f}" for x, low, _ in found] + [f"{x:.1f} {high:.1f}" for x, _, high in found[::-1]]
            yield f'<path class="band {kind}" d="M{"L".join(edge)}z"/>'


def _names(ends: Sequence[tuple[str, str, Point | None]], right: float, height: float) -> Iterator[str]:
    """The names of the lines beside their ends, moved apart, with a stroke to the end."""
    bottom = height - 2 * LINE
    order = sorted(range(len(ends)), key=lambda at: ends[at][2][1] if ends[at][2] else bottom)  # type: ignore[index]
    heights: list[float] = []
    for at in order:
        point = ends[at][2]
        heights.append(max(point[1] if point else bottom, heights[-1] + LINE if heights else LINE))
    limit = bottom
    for place in reversed(range(len(heights))):
        heights[place] = min(heights[place], limit)
        limit = heights[place] - LINE
    for at, y in zip(order, heights, strict=True):
        name, kind, point = ends[at]
        if point:
            yield f'<path class="lead {kind}" d="M{point[0]:.1f} {point[1]:.1f}L{right + 8:.1f} {y:.1f}"/>'
        yield _text(right + 12, y + 4, cut(name))


def _cell(x: float, y: float, size: Point, value: Value, strength: Scale, colour: str) -> Iterator[str]:
    number = finite(value)
    look, opacity = ("none", 0.0) if number is None else (colour, strength(abs(number)))
    box = f'x="{x:.2f}" y="{y:.1f}" width="{size[0]:.2f}" height="{size[1]}"'
    yield f'<rect class="cell {look}" {box} fill-opacity="{opacity:.3f}"/>'
    if _width(shown(value)) - 6 <= size[0]:
        yield _text(x + size[0] / 2, y + LINE, shown(value), "middle")


# --- numbers ----------------------------------------------------------------------------------------------------------


def _all(series: Series, intervals: Intervals) -> list[float]:
    """Every number that is drawn."""
    values = [value for one in series.values() for value in one]
    ends = [end for one in intervals.values() for pair in map(_pair, one) if pair for end in pair]
    return [number for value in [*values, *ends] if (number := finite(value)) is not None]


def _pair(interval: Interval) -> Point | None:
    """The ends of an interval, if both are known."""
    low, high = (finite(end) for end in interval or (None, None))
    return None if low is None or high is None else (low, high)


def _finite(intervals: Intervals, called: str, at: int) -> Point | None:
    return _pair(intervals[called][at]) if called in intervals else None


def _between(intervals: Intervals, called: str, at: int) -> str:
    interval = intervals[called][at] if called in intervals else None
    return f" [{shown(interval[0])}, {shown(interval[1])}]" if interval else ""


def _drawn(across: Sequence[float | None], values: Sequence[Value]) -> bool:
    """Whether a line has a point."""
    return any(place is not None and finite(value) is not None for place, value in zip(across, values, strict=True))


def _told(places: Sequence[Value], series: Series) -> str:
    """The figure in words: the most and the last of each series."""
    return "; ".join(f"{name}: {_most(places, values)}" for name, values in series.items())


def _most(places: Sequence[Value], values: Sequence[Value]) -> str:
    found = [(number, at) for at, value in enumerate(values) if (number := finite(value)) is not None]
    if not found:
        return "no values"
    (low, first), (high, best) = min(found), max(found)
    return f"least {shown(low)} at {shown(places[first])}, most {shown(high)} at {shown(places[best])}"
