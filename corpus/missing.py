"""What of a fact a text does not say: its words however they end, its figures and dates however they are written."""

from __future__ import annotations

import re
import unicodedata

from corpus.normalise import MONTHS, NUMBER_WORDS, SCALES, UNITS, Quantity, Token, mentions, tokens
from corpus.words import STOPWORDS, content_words, stem, stems

_IN_FIGURES = frozenset([*UNITS, *SCALES, *NUMBER_WORDS, *MONTHS, *(month[:3] for month in MONTHS), "percent", "per"])
"""Words that may be a part of a figure or date, and are then looked for as that."""
SIGNS = ("%", "$", "€", "£")
"""Dimensions that are written as they are named."""
_UNSPACED = "\u2e80-\U0003ffff"
"""Scripts without spaces between words, such as Chinese and Japanese."""
_BESIDE_FIGURE = re.compile(rf"(?<=[{_UNSPACED}])(?=\d)|(?<=\d)(?=[{_UNSPACED}])")
_NEGATION = re.compile(r"\b(?:not|never|cannot|neither|nor|no(?!\.))\b|n['’]t\b", re.IGNORECASE)


def missing(text: str, fact: str, known: str = "") -> list[str] | None:
    """The content words and figures of a fact that the text does not state, in the fact's order, words first.

    What `known` states counts for nothing, such as the question that the text answers: any answer may echo it. None
    where it states all of the fact, so that no answer could be told from an echo. A fact that denies something is not
    stated by a text that denies nothing. One of signs or function words alone is looked for as it is.
    """
    text, fact, known = map(_folded, (text, fact, known))
    every = tokens(fact)
    words = [word for word in content_words(fact) if not re.search(r"\d", word) and _stands_alone(word, every)]
    figures = dict.fromkeys(token for token in every if _is_figure(token))
    if STOPWORDS.issuperset(words) and not figures:
        return None if quotes(known, fact) else [] if quotes(text, fact) else [fact]
    new_words = [word for word in words if not _says(known, word)]
    new_figures = [figure for figure in figures if not mentions(known, figure)]
    if not new_words and not new_figures:
        return None
    denied = ["not"] * bool(_NEGATION.search(fact) and not _NEGATION.search(f"{known}\n{text}"))
    lost = [word for word in new_words if not _says(text, word)]
    return [*denied, *lost, *(_written(figure) for figure in new_figures if not mentions(text, figure))]


def quotes(text: str, fact: str) -> bool:
    """Whether a text holds a fact as it is, and not as a part of a longer word; white space counts as one space."""
    text, fact = (" ".join(unicodedata.normalize("NFC", one).split()) for one in (text, fact))
    letter = rf"[^\W_{_UNSPACED}]"
    return fact in text and bool(not fact or re.search(rf"(?<!{letter}){re.escape(fact)}(?!{letter})", text))


def _folded(text: str) -> str:
    """Letters composed, and figures apart from the words of a script without spaces."""
    return _BESIDE_FIGURE.sub(" ", unicodedata.normalize("NFC", text))


def _says(text: str, word: str) -> bool:
    return stem(word) in stems(text) or bool(re.match(f"[{_UNSPACED}]", word) and word in text.casefold())


def _stands_alone(word: str, fact: tuple[Token, ...]) -> bool:
    """Whether a word is not folded into a figure of the fact, as the unit of a number is."""
    return word not in _IN_FIGURES or stem(word) in fact


def _is_figure(token: Token) -> bool:
    return isinstance(token, Quantity) or bool(re.search(r"\d", token))


def _written(figure: Token) -> str:
    if isinstance(figure, str):
        return figure
    sign = f" {figure.dimension}" if figure.dimension in SIGNS else ""
    return f"{figure.written:.12g}{sign}"
