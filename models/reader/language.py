"""Plain English: words, stems and the ones that carry no meaning. Pure functions of their text, remembered."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

import corpus.words


def words_of(*lines: str) -> frozenset[str]:
    """The words of a few lines."""
    return frozenset(" ".join(lines).split())


WORD = re.compile(r"[^\W_]+(?:[.,]\d+|-\d[^\W_]*|_[^\W_]+|\.[a-z]{2,4}(?!\w))*")
"""A word, a number or a name such as GPT-4 or num_ctx."""
PIECE = re.compile(r"\s*\S+|\s+$")
MAY, MAY_MONTH = re.compile(r"(?<=\d )May\b|\bMay(?= \d)"), "Mayth"
BILLIONS = re.compile(r"\b(\d+(?:\.\d+)?)[- ]billion")
NUMBER = re.compile(r"\d[\d.,]*[km]?", re.IGNORECASE)
YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
NUMBER_WORDS = words_of(
    "zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen",
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half",
    "twice third quarter tenth double dozen none",
)
STOPWORDS = corpus.words.STOPWORDS | words_of(
    "above according actually after again already although another any anyone anything around away back",
    "became because become before below between both came cannot come coming down during each either enough",
    "even every everything exactly find further gave get gets give given gives go goes going got he hence her",
    "here him his how however instead just keep kept know known let like made make makes many mine much need",
    "needs neither never none nothing now off often once only onto other others perhaps please put quite",
    "rather really said say saying says see seen set shows someone something still take taken takes thing",
    "things though thus together told took toward towards under upon us use used uses using way well went",
    "whatever within without yet your yours",
)
# What a question is put with, as against what it is about.
SCAFFOLD = words_of(
    "answer article articles briefly call called corpus definition describe described detail details explain",
    "explained information learn learned learnt mean meant mention mentioned mentions read reading report",
    "reported show stand state stated suggest thank thanks understand write",
)
# Verbs that a question is often put with and its answer often without; they count half.
COMMON_VERBS = words_of(
    "advise affect allow apply ask become begin belong call cause change compute contain count deal decide",
    "define depend differ do end expect fail flag follow get give go handle happen have help hold hurt",
    "identify include involve keep lead leave let like list look make matter mean measure need occur offer",
    "perform prefer prevent provide reach react receive recommend refer require respond return run say see",
    "show solve start stop store suggest support take tell treat try turn use want work write",
)
ENDINGS = (
    ("isations", "iz"), ("izations", "iz"), ("isation", "iz"), ("ization", "iz"), ("isers", "iz"), ("iser", "iz"),
    ("izers", "iz"), ("izer", "iz"), ("ising", "iz"), ("izing", "iz"), ("ised", "iz"), ("ized", "iz"), ("ises", "iz"),
    ("izes", "iz"), ("ise", "iz"), ("ize", "iz"), ("ements", ""), ("ement", ""), ("ments", ""), ("ment", ""),
    ("ations", ""), ("ation", ""), ("ators", ""), ("ator", ""), ("ating", ""), ("ated", ""), ("ates", ""),
    ("ate", ""), ("ions", ""), ("ion", ""), ("ingly", ""), ("ings", ""), ("ing", ""), ("ness", ""), ("ities", ""),
    ("ity", ""), ("ies", ""), ("ied", ""), ("edly", ""), ("ed", ""), ("ers", ""), ("er", ""), ("ables", ""),
    ("able", ""), ("ible", ""), ("ives", ""), ("ive", ""), ("ally", ""), ("ly", ""), ("ss", "ss"), ("us", "us"),
    ("is", "is"), ("es", ""), ("s", ""), ("al", ""), ("e", ""), ("y", ""),
)  # fmt: skip


def _root(word: str) -> str:
    """The word without its ending; short words and what is not plain letters stay."""
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word.replace(",", "")
    endings = ((word[: -len(end)] + new, len(word) - len(end), end) for end, new in ENDINGS if word.endswith(end))
    root = next((root for root, left, end in endings if left > 2 + end.startswith("er")), word)
    doubled = len(root) > 3 and root[-1] == root[-2] and root[-1] not in "lsz" and root != word
    return root[:-1] if doubled else root


# Folded to one stem: the different words that a question and its answer commonly use for one thing.
ALIKE = {
    _root(word): _root(group.split()[0])
    for group in (
        "large big size larger largest bigger biggest",
        "long length longer longest",
        "fast quick speed rapid faster fastest",
        "cost price expensive dear cheap bill",
        "percent percentage share fraction proportion",
        "publish release appear post announce introduce invent devise present",
        "author wrote written writer maker creator inventor",
        "start begin began begun kick commence",
        "end finish conclude",
        "raise increase rise rose risen grow grew grown climb",
        "lower reduce decrease fall fell fallen drop shrink decline",
        "recommend advise advice propose",
        "benefit advantage gain strength",
        "weakness drawback disadvantage downside",
        "limit maximum max cap ceiling",
        "minimum least floor",
        "kind category type sort",
        "mistake error fault bug flaw hole vulnerability",
        "problem trouble difficulty",
        "discover found find detect spot",
        "flag mark",
        "score rate rated rating grade severity severe",
        "exceed surpass outperform beat win won",
        "remove delete discard evict",
        "shorten truncate clip trim cut",
        "insert put place",
        "try tries tried attempt attempts",
        "choose chose chosen pick select",
        "keep kept retain preserve",
        "give gave given hand supply",
        "get got obtain receive",
        "need require demand",
        "pause stop halt",
        "see sees saw seen",
        "test measure evaluate assess",
        "task job",
        "study paper research",
        "team group lab",
        "firm company vendor supplier",
        "common commonest frequent usual",
        "early soon",
        "recent new newest latest",
        "old previous earlier former",
        "whole full entire complete",
        "average mean",
        "answer reply response",
        "conversation dialogue chat",
        "collection set dataset",
        "method technique approach strategy",
        "doctor clinician physician",
        "forbid ban prohibit",
        "allow permit",
        "copy duplicate",
        "pass passing carry carries",
        "memory storage",
        "sum damages award awarded",
        "people person human",
        "config configuration setting settings",
    )
    for word in group.split()
}


def in_may(text: str) -> str:
    """The text with the month of May told from the verb."""
    return MAY.sub(MAY_MONTH, text)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Fold a lower-case word's endings and a few common synonyms: tests, tested and testing are one."""
    root = _root(word)
    return ALIKE.get(root, root)


@lru_cache(maxsize=16384)
def stems(text: str) -> tuple[str, ...]:
    """The stems of all words of a text, in order, stopwords included."""
    return tuple(stem(word) for word in WORD.findall(text.lower()))


@lru_cache(maxsize=16384)
def terms(text: str) -> frozenset[str]:
    """The stems of the words that carry meaning; of a name such as GPT-4 its parts as well."""
    words = [word for word in WORD.findall(in_may(text).lower()) if word not in STOPWORDS]
    parts = [part for word in words if not word.isalnum() for part in re.findall(r"[^\W_]+", word)]
    short = [f"{number}b" for number in BILLIONS.findall(text)]
    return frozenset(stem(word) for word in (*words, *parts, *short))


@lru_cache(maxsize=16384)
def phrases(text: str) -> frozenset[tuple[str, ...]]:
    """Runs of two words that carry meaning, with at most one between them that does not."""
    words = [(word, stem(word)) for word in WORD.findall(text.lower())]
    held = [at for at, (word, _) in enumerate(words) if word not in STOPWORDS]
    return frozenset(tuple(root for _, root in words[a : b + 1]) for a, b in pairwise(held) if b - a <= 2)


def numeric(word: str) -> bool:
    """Whether a word is a number, and not a year."""
    return word in NUMBER_WORDS or bool(NUMBER.fullmatch(word) and not YEAR.fullmatch(word))


def subject(text: str) -> list[str]:
    """The words that a question is about, as written, each once and in order."""
    words: dict[str, str] = {}
    for word in WORD.findall(in_may(text)):
        words.setdefault(word.lower(), word)
    return [word for low, word in words.items() if low not in STOPWORDS and low not in SCAFFOLD]
