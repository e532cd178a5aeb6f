"""Excerpt: the units of a text that tell most, in their order, with a marker in the place of the others.

What a unit tells is counted in bits: how much more its shape and each of its cells tell than one expects there.
A value that comes once in a column where nearly all are equal tells log2 n bits; in a column where each value comes
once, it tells nothing more than the others (the excess of -log2 p over its mean, the entropy; Shannon, 1948). To this
comes how densely its words tell, as a model of the text so far expects them (`self_information`). Prose loses words.
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

from thimble.strategies.kinds.recognised import recognised
from thimble.strategies.kinds.unit import Unit
from thimble.strategies.self_information import AROUND, fewer_words, self_information

TROUBLE = re.compile(
    "error|exception|traceback|fail|fatal|panic|critical|severe|warn|abort|crash|denied|refused|timeout|timed out"
    "|not found|cannot|unable|killed|corrupt|missing|invalid|conflict|unexpected|[✗✕×]",
    re.IGNORECASE,
)
ROUTINE = re.compile(r"=== RUN|\bPASS(?:ED)?\b|\.\.\. ok$", re.MULTILINE)
TROUBLED, ALL_WELL, EXAMPLE = 4.0, -4.0, 4.0
"""Bits of a unit that tells of trouble, of one that says that all is well, and of the first one of each shape."""
CHANCE = 1.0
"""Bits above the mean that a value may have by chance."""
DIGIT_RUN = re.compile("[0-9]+")
MARKER_LETTERS = 18
"""Characters of a marker, about."""
LONG_UNIT_WORD = re.compile(r"[^\s,;]{1,200}+[\s,;]*+|[\s,;]++")


@dataclass(frozen=True, slots=True)
class Judged:
    """The units of a text, what they are called, and their places, those first that tell most."""

    noun: str
    units: Sequence[Unit]
    order: Sequence[int]


def excerpt(text: str, most: int, whole: str = "") -> str:
    """The text in at most about `most` characters; itself if it is no longer. `whole`: where to get all of it."""
    if len(text) <= most:
        return text
    name, _, units = recognised(text)
    if name == "prose":
        head = f"[{{:,}} of {len(text.split()):,} words{whole}]\n"
        words = fewer_words([unit.text for unit in units], most - len(head.format(len(text))))
        return head.format(len(words.split())) + words
    its = judged(text)
    head = f"[{{:,}} of {len(its.units):,} {its.noun}{whole}]\n"
    room = most - len(head.format(len(its.units)))
    chosen = choose(its, room)
    return head.format(len(chosen)) + (written(its.units, chosen, room) if chosen else "")


@lru_cache(maxsize=256)
def judged(text: str) -> Judged:
    """The units of a text that is no prose, judged; a unit that is all of a text is cut into its words."""
    _, noun, units = recognised(text)
    if len(units) == 1:
        noun = "words"
        units = [Unit(word, "0" if any(map(str.isdigit, word)) else word) for word in LONG_UNIT_WORD.findall(text)]
    bits = told(units)
    ends = {0, len(units) - 1}
    return Judged(noun, units, sorted(range(len(units)), key=lambda place: (place not in ends, -bits[place])))


def choose(its: Judged, most: int) -> set[int]:
    """The places of the units by rank, while they fit in about `most` characters, with markers."""
    longest = longest_unit(most)
    chosen, left = set[int](), most - MARKER_LETTERS
    for place in its.order:
        size = min(len(its.units[place].says), longest)
        cost = size + MARKER_LETTERS * ((place - 1 not in chosen) + (place + 1 not in chosen) - 1)
        if cost <= left:
            left -= cost
            chosen.add(place)
    return chosen


def written(units: Sequence[Unit], chosen: set[int], most: int) -> str:
    """What the chosen units say, in their order. A marker says how many are left out in each gap."""
    longest, parts = longest_unit(most), list[str]()
    for stays, run in groupby(range(len(units)), chosen.__contains__):
        places = list(run)
        if stays:
            parts += [cut(units[place].says, longest) for place in places]
        else:
            before = "" if not parts or parts[-1].endswith("\n") else " "
            after = "\n" if units[places[-1]].text.endswith("\n") or not before else " "
            parts.append(f"{before}[{len(places):,} left out]{after}")
    return "".join(parts)


def cut(text: str, most: int) -> str:
    """Both ends of a longer unit, in about so many characters."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]} [{len(text) - 2 * half:,} more characters] {text[-half:]}"


def longest_unit(most: int) -> int:
    """The characters that one unit may have in an excerpt of so many characters."""
    return max(200, most // 4)


def told(units: Sequence[Unit]) -> list[float]:
    """The bits that each unit tells beyond what one expects; fewer, the more units of its shape tell more."""
    shapes: dict[str, list[int]] = defaultdict(list)
    for place, unit in enumerate(units):
        shapes[unit.shape].append(place)
    bits = [sum(all_of) for all_of in zip(surprises([unit.shape for unit in units]), densities(units), strict=True)]
    for place, unit in enumerate(units):
        said = unit.text[:2_000]
        bits[place] += unit.weight + TROUBLED * bool(TROUBLE.search(said)) + ALL_WELL * bool(ROUTINE.search(said))
    for places in shapes.values():
        for cells in islice(zip(*(units[place].cells for place in places), strict=False), 64):
            for place, more in zip(places, surprising(cells), strict=True):
                bits[place] += more
        bits[places[0]] += EXAMPLE
        for rank, place in enumerate(sorted(places, key=bits.__getitem__, reverse=True)):
            bits[place] -= log2(1 + rank)
    return bits


def densities(units: Sequence[Unit]) -> list[float]:
    """The self-information of each unit's words, per character: how far above the mean, in standard deviations."""
    words = [unit.text.casefold().split() for unit in units]
    bits = iter(self_information([word.strip(AROUND) for of_one in words for word in of_one]))
    dense = [sum(islice(bits, len(of_one))) / len(unit.text) for of_one, unit in zip(words, units, strict=True)]
    middle, spread = fmean(dense), pstdev(dense)
    return [(one - middle) / spread if spread else 0.0 for one in dense]


def surprising(cells: Sequence[str]) -> list[float]:
    """The bits of each cell of a column: by its value, by the pattern of its digits or by its length: the most."""
    patterns = [DIGIT_RUN.sub("0", cell) for cell in cells]
    return list(map(max, surprises(cells), surprises(patterns), surprises(list(map(len, cells)))))


def surprises(values: Sequence[Hashable]) -> list[float]:
    """How many bits each value tells more than the mean value and chance: -log2 p(value) - entropy - CHANCE, or 0."""
    counts = Counter(values)
    bits = {value: log2(len(values) / count) for value, count in counts.items()}
    expected = CHANCE + sum(count * bits[value] for value, count in counts.items()) / len(values)
    return [max(0.0, bits[value] - expected) for value in values]
