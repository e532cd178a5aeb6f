"""The Gantt chart: a row for each lane on one time axis; a span is its letter and a fill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from thimble.commands.timeline import Kind, Lane, Span, Timeline
from thimble.repl.screen import trace
from thimble.repl.screen.sanitise import one_line
from thimble.session import figures

SPAN_KINDS: dict[Kind, tuple[str, str, str, str]] = {
    "load": ("L", "·", "quiet", "load, queue"),
    "prefill": ("P", "▒", "warn", "prefill"),
    "decode": ("D", "█", "calm", "decode"),
    "call": ("C", "▓", "calm", "call"),
    "tool": ("T", "▓", "tool", "tool"),
    "wait": ("W", "░", "over", "the agent waits"),
}
"""The letter of each kind of span, its fill, its style, and its meaning."""
NAME_COLUMNS = 24
MIN_COLUMNS = 20
MIN_SECONDS = 0.001
"""The shortest axis."""
TICK_COLUMNS = 16
TICKS = [
    times * unit for unit in (0.001, 0.01, 0.1, 1, 10, *(60 * 10**power for power in range(8))) for times in (1, 2, 5)
]
"""Seconds between two ticks."""


@dataclass
class Chart:
    """The rows of a chart, and the spans too short for a cell."""

    rows: list[Text] = field(default_factory=list)
    hidden: list[Span] = field(default_factory=list)


def draw_chart(of: Timeline, columns: int) -> Chart:
    """Draw a chart of `columns` columns."""
    spans, lanes = of.spans, of.lanes()
    names = [name_of(lane) for lane in lanes]
    width = min(NAME_COLUMNS, max(map(cell_len, names), default=0)) + 2
    cells = max(MIN_COLUMNS, columns - width)
    scale = cells / max(of.seconds, MIN_SECONDS)
    made = Chart()
    for lane, name in zip(lanes, names, strict=True):
        bar, hidden = _draw_lane([span for span in spans if span.lane == lane], of.began, cells, scale)
        made.rows.append(_row(name, width, bar))
        made.hidden += hidden
    made.rows.append(_row("", width, Text(draw_axis(of.seconds, cells), style="quiet")))
    made.rows.append(legend(spans))
    return made


def name_of(lane: Lane) -> str:
    """`agent qwen3:8b`: the role and its model."""
    return trace.cut_line(one_line(f"{lane.role} {lane.model.called}".rstrip()), NAME_COLUMNS)


def legend(spans: Sequence[Span]) -> Text:
    """The meaning of the letters in the chart."""
    met = {span.kind for span in spans}
    signs = [
        Text.assemble((letter, style), f" {meaning}")
        for kind, (letter, _, style, meaning) in SPAN_KINDS.items()
        if kind in met
    ]
    return Text("   ").join(signs)


def draw_axis(seconds: float, cells: int) -> str:
    """The time axis below the chart, with as many ticks at round times as fit."""
    seconds = max(seconds, MIN_SECONDS)
    step = next(step for step in TICKS if step * cells >= TICK_COLUMNS * seconds)
    marks = "|0"
    for tick in count(1):
        at, told = round(tick * step * cells / seconds), f"|{figures.format_duration(tick * step)}"
        if at + len(told) > cells:
            break
        marks = f"{marks:{at}}{told}"
    return f"{marks:{cells}}"


def _draw_lane(spans: Sequence[Span], began: float, cells: int, scale: float) -> tuple[Text, list[Span]]:
    """The row of a lane, and its hidden spans. Short spans are drawn over long ones, each with at least one cell."""
    owners = [-1] * cells
    for place in sorted(range(len(spans)), key=lambda place: -spans[place].seconds):
        first = min(cells - 1, int((spans[place].began - began) * scale))
        last = max(first + 1, min(cells, round((spans[place].ended - began) * scale)))
        owners[first:last] = [place] * (last - first)
    shown = Text(no_wrap=True)
    for before, owner in pairwise([-1, *owners]):
        letter, fill, style, _ = SPAN_KINDS[spans[owner].kind] if owner >= 0 else (" ", " ", "", "")
        shown.append(fill if owner == before else letter, style)
    return shown, [span for place, span in enumerate(spans) if place not in owners]


def _row(name: str, width: int, bar: Text) -> Text:
    return Text.assemble((set_cell_size(name, width), "name"), bar, no_wrap=True)
