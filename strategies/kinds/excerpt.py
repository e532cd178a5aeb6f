"""Excerpt: the units of a text that tell most, in their order, with a marker in the place of the others.

What a unit tells is counted in bits: how much more its shape and each of its cells tell than one expects there.
A value that comes once in a column where nearly all are equal tells log2 n bits; in a column where each value comes
once, it tells nothing more than the others (the excess of -log2 p over its mean, the entropy; Shannon, 1948). To this
comes how densely its words tell, as a model of the text so far expects them (`self_information`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence, Set
from dataclasses import replace
from functools import lru_cache
from itertools import groupby, islice
from math import log2, sqrt
from statistics import fmean, median

from strategies.kinds.kind import Unit
from strategies.kinds.registry import recognised
from strategies.self_information import AROUND, fewer_words, self_information

TROUBLE = (
    *("error", "exception", "traceback", "fail", "fatal", "panic", "critical", "severe", "warn", "abort", "crash"),
    *("denied", "refused", "timeout", "timed out", "not found", "cannot", "unable", "killed", "corrupt", "missing"),
    *("invalid", "conflict", "unexpected", "✗", "✕", "×"),
)
NUMBER = re.compile(r"[-+]?\d[\d,]*+(?:\.\d+)?")
DIGITS = re.compile(r"\d+")
TROUBLED, EXAMPLE, EDGE = 4.0, 4.0, 4.0
"""Bits of a unit that tells of trouble, of the first one of each shape, of one near the beginning or the end."""
FAR = 3.0
"""Robust standard deviations from the median at which a number begins to stand out (Iglewicz and Hoaglin, 1993)."""
CHANCE = 1.0
"""Bits above the mean that a value may have by chance."""
MARK = 18
"""Characters of a marker, about."""
LONGEST, SHORTEST = 1 / 4, 200
"""Share of the excerpt that one unit may have, but so many characters at least; a longer one is an excerpt itself."""
WORD = re.compile(r"[^\s,;]{1,200}+[\s,;]*+|[\s,;]++")
DEEPEST = 8
"""Units that a unit may bring with it, itself too."""
MOST_TRIES = 4
"""How often words of prose go, until the text fits."""
HUGE = 50
"""Times that a unit may be longer than its excerpt; of a longer one only the beginning and the end are looked at."""
COLUMNS = 64
"""Cells of a unit that are compared."""
READ = 2_000
"""Characters of a unit in which trouble is looked for."""


def excerpt(text: str, most: int, whole: str = "") -> str:
    """The text in at most about `most` characters; itself if it is no longer. `whole`: where to get all of it."""
    if len(text) <= most:
        return text
    noun, units, _ = judged(text)
    prose = any(unit.prose for unit in units)
    of, noun = (len(text.split()), "words") if prose else (len(units), noun)
    head = f"[{{:,}} of {of:,} {noun}{whole}]\n"
    count, shorter = shortened(text, most - len(head.format(of)))
    return head.format(len(shorter.split()) if prose else count) + shorter * (count > 0)


def shortened(text: str, most: int) -> tuple[int, str]:
    """How many units of a text stay, and these; prose loses words instead."""
    _, units, order = judged(text)
    if not any(unit.prose for unit in units):
        chosen = choose(units, order, most)
        return len(chosen), written(units, chosen, most)
    share = most / len(text)
    for _ in range(MOST_TRIES):
        said = with_fewer_words(units, share)
        stay = {place for place, unit in enumerate(said) if unit.prose and unit.shown}
        chosen = choose(said, order, most, stay)
        shorter = written(said, chosen, most)
        if len(shorter) <= max(0, most):
            break
        share *= most / len(shorter)
    return len(chosen), shorter


@lru_cache(maxsize=256)
def judged(text: str) -> tuple[str, Sequence[Unit], Sequence[int]]:
    """What the units of a text are called, the units, and their places, ranked: the same for excerpts of any size."""
    kind, units = recognised(text)
    if len(units) == 1 and not units[0].prose:
        words = [Unit(word, "0" if any(map(str.isdigit, word)) else word) for word in WORD.findall(text)]
        return "words", words, ranked(words)
    return kind.noun, units, ranked(units)


def with_fewer_words(units: Sequence[Unit], share: float) -> list[Unit]:
    """The units; those of prose are shown with this share of their words, which tell most."""
    shorter = iter(fewer_words([unit.text for unit in units if unit.prose], share))
    return [replace(unit, shown=next(shorter)) if unit.prose else unit for unit in units]


def written(units: Sequence[Unit], chosen: set[int], most: int) -> str:
    """The chosen units in their order. A marker says how many are left out in each gap."""
    parts = []
    for stays, places in groupby(range(len(units)), chosen.__contains__):
        if stays:
            parts += [shown(units[place], most) for place in places]
        elif gap := [place for place in places if not units[place].prose]:
            before = "" if not parts or parts[-1].endswith("\n") else " "
            after = "\n" if units[gap[-1]].text.endswith("\n") or not before else " "
            parts.append(f"{before}[{len(gap):,} left out]{after}")
    return "".join(parts)


def shown(unit: Unit, most: int) -> str:
    """A unit as it is written in an excerpt of so many characters; a long one as an excerpt itself."""
    text = unit.text if unit.shown is None else unit.shown
    longest = longest_unit(most)
    if unit.prose or len(text) <= longest:
        return text
    if len(text) > HUGE * longest:
        half = longest // 2
        return f"{text[:half]} [{len(text) - 2 * half:,} more characters] {text[-half:]}"
    return shortened(text, longest)[1].rstrip("\n") + "\n" * text.endswith("\n")


def longest_unit(most: int) -> int:
    """The characters that one unit may have in an excerpt of so many characters."""
    return max(SHORTEST, int(LONGEST * most))


def choose(units: Sequence[Unit], order: Sequence[int], most: int, stay: Set[int] = frozenset()) -> set[int]:
    """The places of the units that stay anyway, and of others in this order while they fit in about `most` characters.

    A unit comes with those that it stands under. Markers count.
    """
    longest = longest_unit(most)
    sizes = [len(unit.text if unit.shown is None else unit.shown) for unit in units]
    sizes = [size if unit.prose else min(size, longest) for unit, size in zip(units, sizes, strict=True)]
    above = parents(units)
    chosen, left = set[int](), most - MARK
    for place in (*stay, *order):
        new: list[int] = []
        at: int | None = place
        while at is not None and at not in chosen and len(new) < DEEPEST:
            new.append(at)
            at = above[at]
        cost = 0
        for at in new:
            cost += sizes[at] + MARK * ((at - 1 not in chosen) + (at + 1 not in chosen) - 1)
            chosen.add(at)
        if cost <= left or place in stay:
            left -= cost
        else:
            chosen.difference_update(new)
    return chosen


def parents(units: Sequence[Unit]) -> list[int | None]:
    """The place of the unit that each one stands under, if any."""
    found: list[int | None] = []
    open_: list[tuple[int, int]] = []
    for place, unit in enumerate(units):
        if unit.level is None:
            found.append(None)
            continue
        while open_ and open_[-1][0] >= unit.level:
            open_.pop()
        found.append(open_[-1][1] if open_ else None)
        open_.append((unit.level, place))
    return found


def ranked(units: Sequence[Unit]) -> list[int]:
    """The places of the units that are no prose: the first one, the last one, then those that tell most."""
    places = [place for place, unit in enumerate(units) if not unit.prose]
    bits = dict(zip(places, told([units[place] for place in places]), strict=True))
    ends = {0, len(units) - 1}
    return sorted(places, key=lambda place: (place not in ends, -bits[place]))


def told(units: Sequence[Unit]) -> list[float]:
    """The bits that each unit tells beyond what one expects; fewer, the more units of its shape tell more."""
    if not units:
        return []
    shapes: dict[str, list[int]] = defaultdict(list)
    for place, unit in enumerate(units):
        shapes[unit.shape].append(place)
    bits = surprises([unit.shape for unit in units])
    for places in shapes.values():
        if len(places) > 1:
            for cells in islice(zip(*(units[place].cells for place in places), strict=False), COLUMNS):
                for place, more in zip(places, surprising(cells), strict=True):
                    bits[place] += more
    for place, (unit, dense) in enumerate(zip(units, densities(units), strict=True)):
        edge = min(place, len(units) - 1 - place)
        bits[place] += unit.weight + dense + EDGE / (1 + edge) * (edge < 3)
    for place in troubled(units):
        bits[place] += TROUBLED
    for places in shapes.values():
        bits[places[0]] += EXAMPLE
        for rank, place in enumerate(sorted(places, key=lambda place: -bits[place]), 1):
            bits[place] -= log2(rank)
    return bits


def troubled(units: Sequence[Unit]) -> list[int]:
    """The places of the units that tell of trouble."""
    texts = [unit.text[:READ].lower() for unit in units]
    whole = "\n".join(texts)
    words = [word for word in TROUBLE if word in whole]
    return [place for place, text in enumerate(texts) if any(word in text for word in words)]


def densities(units: Sequence[Unit]) -> list[float]:
    """The self-information of each unit's words, per character: how far above the mean, in standard deviations."""
    words = [unit.text.split() for unit in units]
    bits = iter(self_information([word.strip(AROUND).casefold() for of_one in words for word in of_one]))
    dense = [sum(islice(bits, len(of_one))) / len(unit.text) for of_one, unit in zip(words, units, strict=True)]
    middle = fmean(dense)
    spread = sqrt(fmean((one - middle) ** 2 for one in dense))
    return [(one - middle) / spread if spread else 0.0 for one in dense]


def surprising(cells: Sequence[str]) -> list[float]:
    """The bits of each cell of a column: by its value, by the pattern of its digits, by its length, as a number."""
    values = set(cells)
    if len(values) == 1:
        return [0.0] * len(cells)
    patterns = {value: DIGITS.sub("0", value) for value in values}
    alike = surprises([patterns[cell] for cell in cells])
    return list(map(max, surprises(cells), alike, surprises(list(map(len, cells))), outlying(cells)))


def surprises(values: Sequence[Hashable]) -> list[float]:
    """How many bits each value tells more than the mean value and chance: -log2 p(value) - entropy - CHANCE, or 0."""
    total, counts = len(values), Counter(values)
    if len(counts) in (1, total):
        return [0.0] * total
    bits = {value: log2(total / count) for value, count in counts.items()}
    expected = CHANCE + sum(counts[value] * told for value, told in bits.items()) / total
    more = {value: max(0.0, told - expected) for value, told in bits.items()}
    return [more[value] for value in values]


def outlying(cells: Sequence[str]) -> list[float]:
    """The bits of each cell as a number far from the median of its column, on a linear and on a logarithmic scale."""
    found = [NUMBER.match(cell) for cell in cells] if len(cells) >= 5 and NUMBER.match(cells[0]) else [None]
    if not all(found):
        return [0.0] * len(cells)
    numbers = [float(one[0].replace(",", "")) for one in found if one]
    far = _distances(numbers)
    if min(numbers) >= 0 < max(numbers):
        least = min(filter(None, numbers)) / 2
        logs = [log2(max(number, least)) for number in numbers]
        far = [max(pair) for pair in zip(far, _distances(logs), strict=True)]
    most = log2(len(cells))
    return [min(most, 2 * log2(one / FAR)) if one > FAR else 0.0 for one in far]


def _distances(numbers: Sequence[float]) -> list[float]:
    """The distance of each number from the median, in robust standard deviations; 0 where most numbers are equal."""
    middle = median(numbers)
    spread = 1.4826 * median(abs(number - middle) for number in numbers)
    return [abs(number - middle) / spread if spread else 0.0 for number in numbers]
