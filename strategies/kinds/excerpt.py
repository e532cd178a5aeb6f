"""Excerpt: the units of a text that tell most, in their order, with a marker in the place of the others.

What a unit tells is counted in bits: how much more its shape and each of its cells tell than one expects there.
A value that comes once in a column where nearly all are equal tells log2 n bits; in a column where each value comes
once, it tells nothing more than the others (the excess of -log2 p over its mean, the entropy; Shannon, 1948). To this
comes how densely its words tell, as a model of the text so far expects them (`self_information`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
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
NUMBERS = frozenset("0123456789+-")
NUMBER = re.compile(r"^([-+]?\d[\d,]*+(?:\.\d+)?|).*", re.MULTILINE)
"""A line, and the number with which it begins, if any."""
ZEROS = str.maketrans("123456789", "000000000")
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
COLUMNS, LEAST = 64, 4
"""Cells of a unit that are compared; cells of a column, at least: of three, none is above the mean and chance."""
READ = 2_000
"""Characters of a unit in which trouble is looked for."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The units of a text, and which of them tell most: the same for excerpts of any size.

    `prose`: the places of those that lose words. `order`: the places of the others, ranked. `above`: the place of the
    unit that each one stands under, if any.
    """

    noun: str
    units: Sequence[Unit]
    prose: Sequence[int]
    order: Sequence[int]
    above: Sequence[int | None]


def excerpt(text: str, most: int, whole: str = "") -> str:
    """The text in at most about `most` characters; itself if it is no longer. `whole`: where to get all of it."""
    if len(text) <= most:
        return text
    its = judged(text)
    of, noun = (len(text.split()), "words") if its.prose else (len(its.units), its.noun)
    head = f"[{{:,}} of {of:,} {noun}{whole}]\n"
    count, shorter = shortened(text, most - len(head.format(of)))
    return head.format(len(shorter.split()) if its.prose else count) + shorter * (count > 0)


def shortened(text: str, most: int) -> tuple[int, str]:
    """How many units of a text stay, and these; prose loses words instead."""
    its = judged(text)
    said = [unit.text if unit.shown is None else unit.shown for unit in its.units]
    share = most / len(text)
    for _ in range(MOST_TRIES):
        for place, words in zip(its.prose, fewer_words([its.units[at].text for at in its.prose], share), strict=True):
            said[place] = words
        chosen = choose(its, said, most)
        shorter = written(its.units, said, chosen, most)
        if not its.prose or len(shorter) <= max(0, most):
            break
        share *= most / len(shorter)
    return len(chosen), shorter


@lru_cache(maxsize=256)
def judged(text: str) -> Judged:
    """The units of a text, judged; a unit that is all of a text is cut into its words."""
    kind, units = recognised(text)
    noun = kind.noun
    if len(units) == 1 and not units[0].prose:
        noun = "words"
        units = [Unit(word, "0" if any(map(str.isdigit, word)) else word) for word in WORD.findall(text)]
    prose = [place for place, unit in enumerate(units) if unit.prose]
    return Judged(noun, units, prose, ranked(units), parents(units))


def written(units: Sequence[Unit], said: Sequence[str], chosen: set[int], most: int) -> str:
    """What the chosen units say, in their order. A marker says how many are left out in each gap."""
    longest, parts = longest_unit(most), list[str]()
    for stays, places in groupby(range(len(units)), chosen.__contains__):
        if stays:
            parts += [
                said[place] if units[place].prose or len(said[place]) <= longest else cut(said[place], longest)
                for place in places
            ]
        elif gap := [place for place in places if not units[place].prose]:
            before = "" if not parts or parts[-1].endswith("\n") else " "
            after = "\n" if units[gap[-1]].text.endswith("\n") or not before else " "
            parts.append(f"{before}[{len(gap):,} left out]{after}")
    return "".join(parts)


def cut(text: str, most: int) -> str:
    """A long unit in about so many characters: an excerpt of its own, or both ends where that would lack words."""
    if len(text) > HUGE * most or judged(text).prose:
        half = most // 2
        return f"{text[:half]} [{len(text) - 2 * half:,} more characters] {text[-half:]}"
    return shortened(text, most)[1].rstrip("\n") + "\n" * text.endswith("\n")


def longest_unit(most: int) -> int:
    """The characters that one unit may have in an excerpt of so many characters."""
    return max(SHORTEST, int(LONGEST * most))


def choose(its: Judged, said: Sequence[str], most: int) -> set[int]:
    """The places of the prose that says something, and of others by rank while they fit in about `most` characters.

    A unit comes with those that it stands under. Markers count.
    """
    longest = longest_unit(most)
    prose = dict.fromkeys(place for place in its.prose if said[place])
    sizes = [len(one) if place in prose else min(len(one), longest) for place, one in enumerate(said)]
    chosen, left = set[int](), most - MARK
    for place in (*prose, *its.order):
        new: list[int] = []
        at: int | None = place
        while at is not None and at not in chosen and len(new) < DEEPEST:
            new.append(at)
            at = its.above[at]
        cost = 0
        for at in new:
            cost += sizes[at] + MARK * ((at - 1 not in chosen) + (at + 1 not in chosen) - 1)
            chosen.add(at)
        if cost <= left or place in prose:
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
    bits = told([units[place] for place in places])
    order = sorted(range(len(places)), key=bits.__getitem__, reverse=True)
    ends = {0, len(units) - 1}
    return sorted((places[at] for at in order), key=lambda place: place not in ends)


def told(units: Sequence[Unit]) -> list[float]:
    """The bits that each unit tells beyond what one expects; fewer, the more units of its shape tell more."""
    if not units:
        return []
    shapes: dict[str, list[int]] = defaultdict(list)
    for place, unit in enumerate(units):
        shapes[unit.shape].append(place)
    bits = surprises([unit.shape for unit in units])
    for places in shapes.values():
        if len(places) >= LEAST:
            for cells in islice(zip(*(units[place].cells for place in places), strict=False), COLUMNS):
                for place, more in zip(places, surprising(cells), strict=False):
                    bits[place] += more
    bits = [one + unit.weight + dense for one, unit, dense in zip(bits, units, densities(units), strict=True)]
    for place in {*range(len(units))[:3], *range(len(units))[-3:]}:
        bits[place] += EDGE / (1 + min(place, len(units) - 1 - place))
    for place in troubled(units):
        bits[place] += TROUBLED
    for places in shapes.values():
        bits[places[0]] += EXAMPLE
        if len(places) > 1:
            for rank, place in enumerate(sorted(places, key=bits.__getitem__, reverse=True), 1):
                bits[place] -= log2(rank)
    return bits


def troubled(units: Sequence[Unit]) -> set[int]:
    """The places of the units that tell of trouble."""
    texts = [unit.text[:READ].lower() for unit in units]
    whole = "\n".join(texts)
    words = [word for word in TROUBLE if word in whole]
    return {place for word in words for place, text in enumerate(texts) if word in text}


def densities(units: Sequence[Unit]) -> list[float]:
    """The self-information of each unit's words, per character: how far above the mean, in standard deviations."""
    words = [unit.text.casefold().split() for unit in units]
    bits = iter(self_information([word.strip(AROUND) for of_one in words for word in of_one]))
    dense = [sum(islice(bits, len(of_one))) / len(unit.text) for of_one, unit in zip(words, units, strict=True)]
    middle = fmean(dense)
    spread = sqrt(fmean([(one - middle) ** 2 for one in dense]))
    return [(one - middle) / spread if spread else 0.0 for one in dense]


def surprising(cells: Sequence[str]) -> list[float]:
    """The bits of each cell of a column: by its value, by the pattern of its digits, by its length, as a number.

    There are none where no cell surprises.
    """
    counts = Counter(cells)
    values, many = list(counts), list(counts.values())
    if len(values) == 1:
        return []
    lines = "\n".join([value.replace("\n", " ") for value in values])
    ways = [surprises(traits, many) for traits in (values, without_digits(lines).split("\n"), list(map(len, values)))]
    told = [bits for bits in (*ways, outlying(values, lines, cells)) if any(bits)]
    most = dict(zip(values, map(max, zip(*told, strict=True)), strict=True)) if told else {}
    return [most[cell] for cell in cells] if told else []


def surprises(values: Sequence[Hashable], many: Sequence[int] = ()) -> list[float]:
    """How many bits each value tells more than the mean value and chance: -log2 p(value) - entropy - CHANCE, or 0.

    `many`: how often each one comes, if not once.
    """
    counts, total = Counter(values), sum(many) or len(values)
    if total > len(values):
        counts.clear()
        for value, times in zip(values, many, strict=True):
            counts[value] += times
    if len(counts) in (1, total):
        return [0.0] * len(values)
    bits = {value: log2(total / count) for value, count in counts.items()}
    expected = CHANCE + sum(counts[value] * told for value, told in bits.items()) / total
    more = {value: max(0.0, told - expected) for value, told in bits.items()}
    return [more[value] for value in values]


def without_digits(text: str) -> str:
    """The text with a zero in the place of each number."""
    text = text.translate(ZEROS)
    while "00" in text:
        text = text.replace("00", "0")
    return text


def outlying(values: Sequence[str], lines: str, cells: Sequence[str]) -> list[float]:
    """The bits of each value as a number far from the median of its column, in robust standard deviations.

    Numbers are compared on a logarithmic scale if none is negative. `lines`: the values, one a line. There are no bits
    if a value does not begin with a number, or most numbers are equal.
    """
    found = NUMBER.findall(lines) if len(cells) >= 5 and lines[:1] in NUMBERS else [""]
    if not all(found):
        return []
    numbers = dict(zip(values, [float(number.replace(",", "")) for number in found], strict=True))
    column = scaled = sorted([numbers[cell] for cell in cells])
    if column[0] >= 0 < column[-1]:
        least = next(filter(None, column)) / 2
        scaled = [log2(number or least) for number in column]
    middle = median(scaled)
    away = [abs(one - middle) for one in scaled]
    near = FAR * 1.4826 * median(away)
    if not 0 < near < max(away):
        return []
    most = log2(len(cells))
    bits = {number: min(most, 2 * log2(one / near)) for number, one in zip(column, away, strict=True) if one > near}
    return [bits.get(number, 0.0) for number in numbers.values()]
