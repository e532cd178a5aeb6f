"""What of a fact a text does not say: its words however they end, its figures and dates however they are written."""

from __future__ import annotations

import re

from corpus.normalise import MONTHS, NUMBER_WORDS, SCALES, UNITS, Quantity, Token, mentions, tokens
from corpus.words import content_words, stem, stems

_IN_FIGURES = frozenset([*UNITS, *SCALES, *NUMBER_WORDS, *MONTHS, *(month[:3] for month in MONTHS), "percent", "per"])
"""Words that may be a part of a figure or date, and are then looked for as that."""
SIGNS = ("%", "$", "€", "£")
"""Dimensions that are written as they are named."""


def missing(text: str, fact: str, known: str = "") -> list[str] | None:
    """The content words and figures of a fact that the text does not state, in the fact's order, words first.

    What `known` states counts for nothing, such as the question that the text answers: any answer may echo it. None
    where it states all of the fact, so that no answer could be told from an echo. A fact of signs alone is looked for
    as it is.
    """
    every = tokens(fact)
    words = [word for word in content_words(fact) if not re.search(r"\d", word) and _stands_alone(word, every)]
    figures = dict.fromkeys(token for token in every if _is_figure(token))
    if not words and not figures:
        return None if fact in known else [] if fact in text else [fact]
    new_words = [word for word in words if stem(word) not in stems(known)]
    new_figures = [figure for figure in figures if not mentions(known, figure)]
    if not new_words and not new_figures:
        return None
    lost = [word for word in new_words if stem(word) not in stems(text)]
    return [*lost, *(_written(figure) for figure in new_figures if not mentions(text, figure))]


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
