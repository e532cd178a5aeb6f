"""Shapes: what the form of a sentence says about the kind of question it can answer."""

from __future__ import annotations

import re

from models.reader.language import WORD, numeric, phrases, stems, terms
from models.reader.observation import Sentence
from models.reader.question import Part

DANGLING = re.compile(
    r"^(?:(?:It|Its|This|That|These|Those|They|Their|He|She|His|Her|Such|Both|Here|There|The (?:same|latter|former))\b"
    r"|(?:But|And|So|Or|Yet|Therefore|However|Then|Instead|Otherwise|Also|Thus|Hence|Nor)\b)"
)
"""The beginning of a sentence that cannot be understood without the one before."""
MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
DATE = re.compile(rf"\b(?:1[5-9]|20)\d\d\b|\b{MONTH}\b|\b\d{{1,2}}:\d\d\b")
STAMP = re.compile(r"\b\d{4}-\d\d-\d\d\b|\b\d\d:\d\d(?::\d\d)?\b")
NAME = re.compile(
    r"(?<=[a-z,;:(] )[“\"]?[A-Z][\w'’-]+|^(?!The\b|A\b|In\b|An\b)[A-Z][a-z]+ (?:[A-Z]|and colleagues|et al)"
    r"|^[A-Z][a-z]+(?=:)|\bcolleagues\b|\bauthors?\b"
)
NAME_OR_START = re.compile(rf"{NAME.pattern}|(?<=[.?!] )(?!(?:The|A|An|In|It|We|That|This|They)\b)[A-Z][a-z]+")
"""In notes a short sentence may begin with a name."""
NAMED = re.compile(r"\b(?:called|named|known as|dubbed|names?|short for|spelt)\b|[\"“`]")
"""Words that give a thing its name."""
REASON = re.compile(
    r"\b(?:because|since|so that|therefore|reason|as a result|otherwise|which is why|thus|hence|due to)\b|, so\b",
    re.IGNORECASE,
)


MEASURES = tuple(
    (re.compile(asked, re.IGNORECASE), re.compile(said, re.IGNORECASE))
    for asked, said in (
        (
            r"\bhow much (?:[\w-]+ ){0,2}time\b|\bhow (?:long|quickly|soon)\b",
            r"\b(?:\w*seconds?|minutes?|hours?|days?|weeks?|months?|years?|ms|turns?)\b|\d ?s\b",
        ),
        (r"\b(?:memory|space|room|storage|bandwidth)\b", r"\b(?:[KMGT]i?B|\w*bytes?|\w*bits?)\b"),
        (
            r"\bhow much (?:money )?(?:do|does|did|is|was|were|will|would)\b.*\b(?:cost|pay|paid|spen[dt]|charged?)\b"
            r"|\bmoney\b|\b(?:what|which)\b.{0,40}\b(?:costs?|price|fees?|damages|bill|sum|fine)\b",
            r"[$€£]|\b(?:dollars?|euros?|cents?|pounds?)\b",
        ),
        (
            r"\bfactor\b|\bspeed-?up\b|\bhow many times\b|\bmultiplier\b",
            r"\btimes\b|\bfactor\b|×|\d ?x\b|fold\b|\bmultipl",
        ),
        (
            r"\b(?:share|part|percentage|percent|proportion|fraction|chance|rate)\b"
            r"|\bhow (?:often|likely|accurate|full)\b|\bhow much of\b",
            r"%|\bper ?cent\b|\bout of\b|\b(?:\d+|one) (?:\w+ )?(?:of|in) (?:\w+ ){0,2}\d"
            r"|\b(?:every|once|twice|never|always|half|third|quarter|tenth)\b",
        ),
    )
)
"""What a question measures, and what a value of that measure looks like."""


OFTEN = re.compile(r"\bhow (?:often|frequently|many times)\b", re.IGNORECASE)
EVERY = re.compile(r"\b(?:every|each|once|twice|never|always|hourly|daily|weekly|monthly)\b", re.IGNORECASE)
IDENTIFIER = re.compile(r"\b(?:number|identifier|id|code|version) of\b", re.IGNORECASE)
"""A question with this may ask for something like CVE-2021-44228 as well as for a number."""


def fits(part: Part, sentence: Sentence) -> bool:
    """Whether the sentence holds what the question insists on: a number, date or name that was not in the question."""
    asked = {word.lower() for word in WORD.findall(part.text)}
    if part.wanted == "number" and IDENTIFIER.search(part.text) and re.search(r"\w-?\d", sentence.text):
        return True
    if part.wanted == "number" and OFTEN.search(part.text) and EVERY.search(sentence.text):
        return True
    if part.wanted == "number":
        return any(word not in asked and numeric(word) for word in WORD.findall(STAMP.sub("", sentence.text.lower())))
    if part.wanted == "name":
        new = any(not set(WORD.findall(one[0].lower())) <= asked for one in NAME.finditer(sentence.text))
        return new or bool(NAMED.search(sentence.text))
    if part.wanted in ("year", "who"):
        name = NAME_OR_START if sentence.in_file else NAME
        found = (DATE if part.wanted == "year" else name).finditer(sentence.text)
        return any(not set(WORD.findall(one[0].lower())) <= asked for one in found)
    if part.wanted == "initials":
        names = [name.lower() for name in WORD.findall(part.text) if sum(map(str.isupper, name)) > 1]
        return any(_spelled(name, sentence.text) for name in names)
    return True


def apt(part: Part, sentence: Sentence) -> bool:
    """Whether the sentence has the shape that answers to such a question mostly have."""
    if part.wanted == "reason":
        return bool(REASON.search(sentence.text))
    if part.wanted == "definition":
        return _defines(part, sentence.text)
    if part.wanted == "name":
        return bool(NAMED.search(sentence.text))
    if part.wanted != "number":
        return True
    if part.nouns:
        return _counts(part, sentence)
    values = measures(part)
    return not values or any(value.search(sentence.text) for value in values)


def typed(part: Part) -> bool:
    """Whether the question says what kind of number it asks for."""
    return part.wanted == "number" and bool(part.nouns or measures(part))


def measures(part: Part) -> list[re.Pattern[str]]:
    """What values of the measures that a question names look like."""
    return [said for asked, said in MEASURES if asked.search(part.text)]


def bonus(part: Part, sentence: Sentence) -> float:
    """Small marks for a sentence that can stand alone and uses the question's own phrases."""
    length = len(sentence.text.split())
    mark = 0.25 * apt(part, sentence) + 0.05 * min(3, len(phrases(part.text) & phrases(sentence.text)))
    mark -= 0.1 * bool(DANGLING.match(sentence.text)) + 0.1 * (length < 5 or length > 60 or sentence.text.endswith("?"))
    return mark + 0.15 * (part.wanted == "definition" and _names(part, sentence.text))


def _spelled(initials: str, text: str) -> bool:
    """Whether words in a row begin with these letters, or the text says outright what they are short for."""
    words = re.findall(r"[A-Za-z]+", text.lower())
    if initials in words and re.search(r"\b(?:stands for|short for|for short)\b", text):
        return True
    return initials in "".join(word[0] for word in words) and any(
        "".join(word[0] for word in words[at : at + len(initials)]) == initials for at in range(len(words))
    )


def _counts(part: Part, sentence: Sentence) -> bool:
    """Whether a number stands just before what is counted, or in a table after it."""
    words = WORD.findall(sentence.text.lower())
    asked = {word.lower() for word in WORD.findall(part.text)}
    places = [at for at, root in enumerate(stems(sentence.text)) if root in part.nouns]
    after = 4 if sentence.context or sentence.in_file else 0
    around = [word for at in places for word in words[max(0, at - 4) : at + 1 + after]]
    return any((numeric(word) or word == "one") and word not in asked for word in around)


def _defines(part: Part, text: str) -> bool:
    """Whether the sentence begins with what is asked about and goes on to say something of it."""
    subject = part.terms - part.minor
    bare = re.sub(r"(?<=\w), [^,.]{1,40},", "", text, count=1)
    words = re.findall(r"\w[\w.'’-]*|[,(:]", bare)
    for end in range(1, min(len(subject) + 3, len(words))):
        if subject <= terms(" ".join(words[:end])):
            says = words[end + (words[end] in ",(:")] if end + 1 < len(words) else ""
            return bool(re.fullmatch(r"is|are|was|were|means?|an?|the|or|\w{3,}[^s\W]s", says))
    return False


def _names(part: Part, text: str) -> bool:
    """Whether the sentence gives a description the name that is asked about."""
    called = re.search(r"\bcall(?:s|ed)?\b (.{1,80})", text)
    return bool(called and part.terms - part.minor <= terms(called[1]))
