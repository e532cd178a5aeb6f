"""Does a text state this answer? Compares words, numbers with units and dates by their meaning.

`84 per cent` states `84 %`, `1.5 million` states `1,500,000`, `February 14, 2024` states `14 February 2024` and
`February 2024`, `90 seconds` states `1.5 minutes`; `840 %`, `84 turns` and `GPT-84` do not state `84 %`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import isclose

from thimble.corpus.words import stem

SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "bn": 1e9, "hundred": 1e2}
LETTERS_OF_SCALE = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
"""Scales of one letter: case matters, except for k."""
UNITS = {
    name: (dimension, size)
    for dimension, size, names in (
        ("%", 1, "% percent"),
        ("point", 1, "point points pp"),
        ("time", 1e-6, "μs microsecond microseconds"),
        ("time", 1e-3, "ms millisecond milliseconds"),
        ("time", 1, "s sec secs second seconds"),
        ("time", 60, "min mins minute minutes"),
        ("time", 3600, "h hr hrs hour hours"),
        ("time", 86400, "day days"),
        ("bit", 1, "bit bits"),
        ("byte", 1, "byte bytes"),
        ("byte", 1e3, "kb kilobyte kilobytes"),
        ("byte", 1e6, "mb megabyte megabytes"),
        ("byte", 1e9, "gb gigabyte gigabytes"),
        ("byte", 1e12, "tb terabyte terabytes"),
        ("byte", 2**10, "kib"),
        ("byte", 2**20, "mib"),
        ("byte", 2**30, "gib"),
        ("byte", 2**40, "tib"),
        ("times", 1, "x × times fold"),
        ("$", 1, "$ dollar dollars usd"),
        ("$", 0.01, "cent cents"),
        ("€", 1, "€ euro euros"),
        ("£", 1, "£ pound pounds"),
    )
    for name in names.split()
}
SMALL = re.findall(r"\w+", "zero one two three four five six seven eight nine ten eleven twelve")
TENS = re.findall(r"\w+", "twenty thirty forty fifty sixty seventy eighty ninety")
NUMBER_WORDS = dict(zip(SMALL, range(13), strict=True)) | dict(zip(TENS, range(20, 100, 10), strict=True))
MONTHS = re.findall(r"\w+", "january february march april may june july august september october november december")
_MONTH = "|".join(rf"{name[:3]}(?:{name[3:]}|t)?" for name in MONTHS)
DATES = (
    re.compile(
        rf"(?<![\w.,])(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{_MONTH})\.?,? (?P<year>\d{{4}})\b", re.I
    ),
    re.compile(rf"\b(?P<month>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})\b", re.I),
    re.compile(rf"\b(?P<month>{_MONTH})\.?,? (?P<year>\d{{4}})\b", re.I),
    re.compile(r"(?<![\d-])(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})(?![\d-])"),
)
TOKEN = re.compile(
    r"(?P<name>\d{4}-\d\d(?:-\d\d)?⁑|\d+(?:\.\d+){2,})"
    r"|(?:(?P<money>[$€£])\s?)?(?P<number>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?)(?-i:(?P<letter>[kKMBT]\b))?"
    r"|(?P<word>[^\W\d_]+(?:['’][a-z]+)?(?:[-.]?\d[\w.]*\w|[-.]?\d)*)"
    r"|(?P<unit>[%×$€£])",
    re.IGNORECASE,
)
GRAMMAR_ARTICLES = frozenset(("the", "a", "an"))


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as written and, if its unit is known, its dimension and its size in that dimension."""

    written: float
    dimension: str = ""
    size: float = 0.0


Token = str | Quantity


def states_answer(text: str, answer: str) -> bool:
    """Whether the text has the answer's words and numbers in a row; articles do not count.

    A number of the answer that has no unit matches one with any unit.
    """
    said, wanted = tokenize(text), tokenize(answer)
    if not wanted or (isinstance(wanted[0], str) and not wanted[0][:1].isdigit() and wanted[0] not in said):
        return False
    rows = (said[at : at + len(wanted)] for at in range(len(said) - len(wanted) + 1))
    return any(all(_same_meaning(one, other) for one, other in zip(row, wanted, strict=True)) for row in rows)


def has_words(sentence: str, way: str) -> bool:
    """Whether a sentence has a word for each place of a way: `loop|cycle tool|tools` has two places.

    `_` in a word means itself or a blank: `84_%` is one place.
    """
    places = (place.split("|") for place in way.split())
    return all(
        any(states_answer(sentence, word) or states_answer(sentence, word.replace("_", " ")) for word in one)
        for one in places
    )


def mentions_token(text: str, wanted: Token) -> bool:
    """Whether a token of the text has the meaning of this one."""
    return any(_same_meaning(said, wanted) for said in tokenize(text))


def _same_meaning(said: Token, wanted: Token) -> bool:
    if isinstance(wanted, str):
        return isinstance(said, str) and (said == wanted or (said[:1].isdigit() and said.startswith(f"{wanted}-")))
    if isinstance(said, str):
        return not wanted.dimension and said[:1].isdigit() and said.startswith(f"{wanted.written:g}-")
    if not wanted.dimension:
        return isclose(said.written, wanted.written)
    return said.dimension == wanted.dimension and isclose(said.size, wanted.size)


@lru_cache(maxsize=4096)
def tokenize(text: str) -> tuple[Token, ...]:
    """The tokens of a text: words folded, numbers as quantities, dates as `2024-02-14` or `2024-02`."""
    text = re.sub(r"\bper[ -]cent\b", "%", re.sub(r"[*`_]", "", text), flags=re.IGNORECASE)
    text = re.sub(r"\bpercentage points?\b", "points", text, flags=re.IGNORECASE)
    for pattern in DATES:
        text = pattern.sub(_iso_date, text)
    found: list[Token] = []
    for match in TOKEN.finditer(text):
        _add(found, match)
    return tuple(found)


def _iso_date(found: re.Match[str]) -> str:
    parts = found.groupdict()
    name = parts["month"].lower()
    month = name if name.isdigit() else next(f"{at:02}" for at, m in enumerate(MONTHS, 1) if m[:3] == name[:3])
    day = f"-{int(parts['day']):02}" if parts.get("day") else ""
    return f"{parts['year']}-{month}{day}⁑"


def _add(found: list[Token], match: re.Match[str]) -> None:
    """Append the match; a scale or a unit becomes part of the number before it."""
    last, word = found[-1] if found else "", match["unit"] or (match["word"] or "").casefold()
    if match["name"]:
        found.append(match["name"].rstrip("⁑"))
    elif match["number"]:
        value = float(match["number"].replace(",", "")) * LETTERS_OF_SCALE.get(match["letter"] or "", 1)
        found.append(_with_unit(Quantity(value), match["money"] or ""))
    elif isinstance(last, Quantity) and word in SCALES:
        found[-1] = _with_unit(Quantity(last.written * SCALES[word]), last.dimension)
    elif isinstance(last, Quantity) and not last.dimension and word in UNITS:
        found[-1] = _with_unit(last, word)
    elif word in NUMBER_WORDS:
        found.append(Quantity(NUMBER_WORDS[word]))
    elif word not in GRAMMAR_ARTICLES:
        found.append(stem(word))


def _with_unit(number: Quantity, unit: str) -> Quantity:
    if unit not in UNITS:
        return number
    dimension, size = UNITS[unit]
    return Quantity(number.written, dimension, number.written * size)
