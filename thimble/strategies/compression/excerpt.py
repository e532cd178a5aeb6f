"""Excerpt: the most informative units of a text, in their order, with a marker in place of the others.

A unit is a record of JSON, a row of a table, or else a line; prose loses words. The information of a unit is counted in
bits: the surprise of its shape and of each of its cells above the mean. A unique value in a column of nearly equal ones
has log2 n bits; in a column of unique values it has none above the mean (the excess of -log2 p over the entropy;
Shannon, 1948). The density of information in its words is added, under a model of the text so far (`self_information`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice
from math import log2
from statistics import fmean, pstdev

from thimble.strategies.compression import json_records, prose, table_rows
from thimble.strategies.compression.self_information import AROUND_A_WORD, self_information
from thimble.strategies.compression.unit import Unit, line_unit, lines_of

DIGIT_RUN = re.compile("[0-9]+")
MARKER_LETTERS = 18
"""Characters of a marker, about."""


@dataclass(frozen=True, slots=True)
class RankedUnits:
    """The units of a text, the noun for them, and their indices, the most informative first."""

    noun: str
    units: Sequence[Unit]
    order: Sequence[int]


def make_excerpt(text: str, most: int, whole: str = "") -> str:
    """The text in at most about `most` characters; itself if it is no longer. `whole`: how to get all of it."""
    if len(text) <= most:
        return text
    its = rank_units(text)
    if not its:
        head = f"[{{:,}} of {len(text.split()):,} words{whole}]\n"
        words = prose.fewer_words(text, most - len(head.format(len(text))))
        return head.format(len(words.split())) + words
    head = f"[{{:,}} of {len(its.units):,} {its.noun}{whole}]\n"
    room = most - len(head.format(len(its.units)))
    chosen = choose_units(its, room)
    return head.format(len(chosen)) + (join_units(its.units, chosen, room) if chosen else "")


@lru_cache(maxsize=256)
def rank_units(text: str) -> RankedUnits | None:
    """The units of a text, ranked; None for prose, which has none."""
    if units := json_records.record_units(text):
        noun = "JSON records"
    elif units := table_rows.row_units(text):
        noun = "rows"
    elif prose.is_prose(text):
        return None
    else:
        noun, units = "lines", [*map(line_unit, lines_of(text))]
    bits, ends = measure_information(units), {0, len(units) - 1}
    return RankedUnits(noun, units, sorted(range(len(units)), key=lambda place: (place not in ends, -bits[place])))


def choose_units(its: RankedUnits, most: int) -> set[int]:
    """The indices of the best units that fit in about `most` characters, with markers."""
    longest = longest_unit(most, its.units)
    chosen, left = set[int](), most - MARKER_LETTERS
    for place in its.order:
        size = min(len(its.units[place].text), longest)
        cost = size + MARKER_LETTERS * ((place - 1 not in chosen) + (place + 1 not in chosen) - 1)
        if cost <= left:
            left -= cost
            chosen.add(place)
    return chosen


def join_units(units: Sequence[Unit], chosen: set[int], most: int) -> str:
    """The chosen units, in their order. A marker says how many are left out in each gap."""
    longest, parts = longest_unit(most, units), list[str]()
    for stays, run in groupby(range(len(units)), chosen.__contains__):
        places = list(run)
        if stays:
            parts += [cut_middle(units[place].text, longest) for place in places]
        else:
            before = "" if not parts or parts[-1].endswith("\n") else " "
            after = "\n" if units[places[-1]].text.endswith("\n") or not before else " "
            parts.append(f"{before}[{len(places):,} left out]{after}")
    return "".join(parts)


def cut_middle(text: str, most: int) -> str:
    """The text, or both ends of a longer one, in about `most` characters."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]} [{len(text) - 2 * half:,} more characters] {text[-half:]}"


def longest_unit(most: int, units: Sequence[Unit]) -> int:
    """The most characters of one unit in an excerpt of `most`: a quarter, or nearly all if it is the only unit."""
    return max(200, most // 4 if len(units) > 1 else most - 3 * MARKER_LETTERS)


def measure_information(units: Sequence[Unit]) -> list[float]:
    """The bits of each unit above the expected ones, less log2 of its rank among the units of its shape."""
    shapes: dict[str, list[int]] = defaultdict(list)
    for place, unit in enumerate(units):
        shapes[unit.shape].append(place)
    bits = [
        sum(all_of) for all_of in zip(value_bits([unit.shape for unit in units]), unit_densities(units), strict=True)
    ]
    for places in shapes.values():
        for cells in islice(zip(*(units[place].cells for place in places), strict=False), 64):
            for place, more in zip(places, cell_bits(cells), strict=True):
                bits[place] += more
        for rank, place in enumerate(sorted(places, key=bits.__getitem__, reverse=True)):
            bits[place] -= log2(1 + rank)
    return bits


def unit_densities(units: Sequence[Unit]) -> list[float]:
    """The self-information of each unit's words, per character: how far above the mean, in standard deviations."""
    words = [unit.text.casefold().split() for unit in units]
    bits = iter(self_information([word.strip(AROUND_A_WORD) for of_one in words for word in of_one]))
    dense = [sum(islice(bits, len(of_one))) / len(unit.text) for of_one, unit in zip(words, units, strict=True)]
    middle, spread = fmean(dense), pstdev(dense)
    return [(one - middle) / spread if spread else 0.0 for one in dense]


def cell_bits(cells: Sequence[str]) -> list[float]:
    """The bits of each cell of a column: the most of those of its value, the pattern of its digits and its length."""
    patterns = [DIGIT_RUN.sub("0", cell) for cell in cells]
    return list(map(max, value_bits(cells), value_bits(patterns), value_bits(list(map(len, cells)))))


def value_bits(values: Sequence[Hashable]) -> list[float]:
    """The bits of each value above the mean: -log2 p(value) - entropy, or 0."""
    counts = Counter(values)
    bits = {value: log2(len(values) / count) for value, count in counts.items()}
    entropy = sum(count * bits[value] for value, count in counts.items()) / len(values)
    return [max(0.0, bits[value] - entropy) for value in values]
