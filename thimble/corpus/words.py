"""Words: how names, topics and questions are folded before they are compared."""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from functools import lru_cache

_FUNCTION_WORDS = """
    a about all also am an and any are as at be because been being but by can could d did do does doing
    don else ever few for from had has have having how i if in into is it its ll m many may me might more
    most much must my no nor not of on or our out over own per re s same shall she should since so some
    such t tell than that the their them then there these they this those through to too under until up us
    ve very was we were what when where whether which while who whom whose why will with would you your
"""
SLUG_SOURCE = 1_000
"""Characters of a text from which a name is made."""
SEARCHED_LETTERS = 100
"""Letters by which a word is searched for; the rest of a longer one does not count."""
ISO_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
STOPWORDS = frozenset(_FUNCTION_WORDS.split())
TERMINAL_STYLE = re.compile(r"\x1b\[[0-?]*+[ -/]*+[@-~]")
"""A terminal's colour code, which is not part of a word."""


def slugify(text: str) -> str:
    """A name for `text` in lower-case words joined by hyphens, at most 80 characters; may be empty."""
    return "-".join(re.findall(r"[^\W_]+", unaccented(text[:SLUG_SOURCE])))[:80].strip("-")


def unaccented(text: str) -> str:
    """The text in lower case without accents: `Café` is `cafe`."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", re.sub(r"[\u0300-\u036f]", "", folded))


def split_words(text: str) -> list[str]:
    """The words of a text in lower case, in order."""
    return re.findall(r"[^\W_]+", text.casefold())


def content_words(text: str) -> list[str]:
    """The words that carry meaning, each once and in order; every word when all of them are stopwords."""
    every = list(dict.fromkeys(split_words(text)))
    return [word for word in every if word not in STOPWORDS] or every


def stem(word: str) -> str:
    """Fold the plain English endings, so that `cache`, `caches`, `cached` and `caching` are one."""
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-3] + "y" if word.endswith("ies") else word[:-1]
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) > 2 and re.search("[aeiouy]", root):
            doubled = root[-1] == root[-2] and root[-1] not in "aeioulsz"
            word = root[:-1] if doubled else root
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def stem_words(text: str) -> set[str]:
    """The words of a text, folded."""
    return {stem(word) for word in split_words(text)}


def spelled_dates(text: str) -> str:
    """The text with each date such as 2026-04-02 followed by `2 April 2026`."""

    def spell(match: re.Match[str]) -> str:
        try:
            day = date.fromisoformat(match[0])
        except ValueError:
            return match[0]
        return f"{match[0]} {day.day} {day:%B} {day.year}"

    return ISO_DATE.sub(spell, text)


NOUN_ENDINGS = ("enc", "anc", "ent", "ant", "ment", "ation", "ion", "er", "or")
# A writing without spaces is searched by character, since a whole clause would be one word.
UNSPACED = re.compile(r"([\u3040-\u30ff\u3400-\u9fff])")


LANGUAGE_MODEL = re.compile(r"\b(?:large )?language model(?=s?\b)")
"""Folded to LLM, the one abbreviation that is more common than its words."""


@lru_cache(maxsize=65_536)
def fold_word(word: str) -> str:
    """A word as it is searched for: British and American spellings and the forms of a word are one."""
    root = stem(re.sub(r"iz(e|es|ed|ing|er|ers|ation|ations)$", r"is\1", word))
    for ending in NOUN_ENDINGS:
        if root.endswith(ending) and len(root) - len(ending) >= 4:
            root = root.removesuffix(ending)
    return root


def content_terms(text: str) -> list[str]:
    """The folded words of a text that carry meaning, in order; every word when all of them are stopwords."""
    every = split_words(UNSPACED.sub(r" \1 ", LANGUAGE_MODEL.sub("llm", unaccented(text))))
    telling = [word for word in every if word not in STOPWORDS] or every
    return [fold_word(word[:SEARCHED_LETTERS]) for word in telling]
