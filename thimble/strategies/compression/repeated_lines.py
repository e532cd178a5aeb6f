"""Repeated lines: the runs of lines in a text that earlier texts have, found in linear time (LZ77 over lines)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from thimble.agent.messages import MAX_CONTENT_CHARACTERS
from thimble.strategies.compression.references import LEAD_AND_HEAD, LineLeads

MIN_RUN_CHARACTERS = 100
"""The least characters of a run that is worth a reference."""
MIN_HEAD_CHARACTERS = 8
"""The least characters of the head of a run's first line."""

Lines = list[tuple[int, str, str]]
"""Lines of a text: the offset of each in characters, its lead and its head."""
Places = dict[str, tuple[str, int, str]]
"""By the head of a line: the newest text with such a line, the offset of the first one there, and its lead."""


@dataclass(frozen=True, slots=True)
class Run:
    """Lines of a text, in characters; the newline after the last is not part of it.

    `moved`: whether their leads differ from above.
    """

    start: int
    end: int
    moved: bool


def run_start_lines(text: str) -> Lines:
    """The lines of a text at which a run may start; none if the text is too long."""
    if len(text) > MAX_CONTENT_CHARACTERS:
        return []
    found = ((line.start(), line["lead"], line["head"].rstrip()) for line in LEAD_AND_HEAD.finditer(text))
    return [line for line in found if len(line[2]) >= MIN_HEAD_CHARACTERS]


def line_places(text: str, lines: Lines) -> Places:
    """The places of the lines of a text."""
    return {head: (text, start, lead) for start, lead, head in reversed(lines)}


def find_runs(text: str, lines: Lines, own: Places, before: Places) -> Iterator[Run]:
    """The runs of lines that earlier texts have, or this one further up; `own` are the places of its lines.

    A run starts at a line whose head has a place, and lasts while the lines are equal except for their leads. It does
    not end with an empty line. Only a newline ends a line.
    """
    free = 0
    for start, lead, head in lines:
        earlier = own[head][1] < start
        place = own[head] if earlier else before.get(head)
        if start < free or not place:
            continue
        source, there, above = place
        limit = start - 1 if earlier else len(source)
        end = _find_run_end(text, start, source, there, limit, LineLeads.of(lead, above))
        end = start + len(text[start:end].rstrip("\n"))
        if end - start >= MIN_RUN_CHARACTERS:
            yield Run(start, end, lead != above)
            free = end


def _find_run_end(text: str, start: int, source: str, there: int, limit: int, leads: LineLeads) -> int:
    """The end of the longest run of lines that are equal except for their leads."""
    end = at = start
    number = 0
    while at <= len(text) and there <= limit:
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        now = leads.after(number)
        same = now.above + text[at + len(now.here) : stop]
        stops = there + len(same)
        whole = stops == limit or (stops < limit and source[stops] == "\n")
        if not (whole and text.startswith(now.here, at, stop) and source.startswith(same, there)):
            break
        end, at, there, number = stop, stop + 1, stops + 1, number + 1
    return end
