"""The part of a fact that a text does not state: words in any ending, figures and dates in any notation."""

from __future__ import annotations

import re
import unicodedata

from thimble.corpus.normalise import MONTHS, NUMBER_WORDS, SCALES, UNITS, Quantity, Token, mentions_token, tokenize
from thimble.corpus.words import STOPWORDS, content_words, stem, stem_words

_FIGURE_WORDS = frozenset([*UNITS, *SCALES, *NUMBER_WORDS, *MONTHS, *(month[:3] for month in MONTHS), "percent", "per"])
"""Words that may be part of a figure or date, and are then searched as part of it."""
SIGN_DIMENSIONS = ("%", "$", "€", "£")
"""Dimensions whose name is their symbol."""
_UNSPACED = "\u2e80-\U0003ffff"
"""Scripts without spaces between words, such as Chinese and Japanese."""
_BESIDE_FIGURE = re.compile(rf"(?<=[{_UNSPACED}])(?=\d)|(?<=\d)(?=[{_UNSPACED}])")
_NEGATION = re.compile(r"\b(?:not|never|cannot|neither|nor|no(?!\.))\b|n['’]t\b", re.IGNORECASE)


def missing_words(text: str, fact: str, known: str = "") -> list[str] | None:
    """The content words and figures of a fact that a text does not state, in the fact's order, words first.

    Words that `known` states, such as the question, do not count, since any answer may echo them. None if `known`
    states the whole fact: then an answer looks like an echo. A text that denies nothing does not state a fact that
    denies something. A fact of only symbols or function words is searched for verbatim.
    """
    text, fact, known = map(_fold_text, (text, fact, known))
    every = tokenize(fact)
    words = [word for word in content_words(fact) if not re.search(r"\d", word) and _is_outside_figures(word, every)]
    figures = dict.fromkeys(token for token in every if _is_figure(token))
    if STOPWORDS.issuperset(words) and not figures:
        return None if quotes_fact(known, fact) else [] if quotes_fact(text, fact) else [fact]
    new_words = [word for word in words if not _contains_word(known, word)]
    new_figures = [figure for figure in figures if not mentions_token(known, figure)]
    if not new_words and not new_figures:
        return None
    denied = ["not"] * bool(_NEGATION.search(fact) and not _NEGATION.search(f"{known}\n{text}"))
    lost = [word for word in new_words if not _contains_word(text, word)]
    return [*denied, *lost, *(_figure_text(figure) for figure in new_figures if not mentions_token(text, figure))]


def quotes_fact(text: str, fact: str) -> bool:
    """Whether a text has a fact word for word, not as part of a longer word; white space counts as one space."""
    text, fact = (" ".join(unicodedata.normalize("NFC", one).split()) for one in (text, fact))
    letter = rf"[^\W_{_UNSPACED}]"
    return fact in text and bool(not fact or re.search(rf"(?<!{letter}){re.escape(fact)}(?!{letter})", text))


def _fold_text(text: str) -> str:
    """The text with composed letters, and with spaces around figures in a script without spaces."""
    return _BESIDE_FIGURE.sub(" ", unicodedata.normalize("NFC", text))


def _contains_word(text: str, word: str) -> bool:
    return stem(word) in stem_words(text) or bool(re.match(f"[{_UNSPACED}]", word) and word in text.casefold())


def _is_outside_figures(word: str, fact: tuple[Token, ...]) -> bool:
    """Whether a word is not part of a figure of the fact, as the unit of a number is."""
    return word not in _FIGURE_WORDS or stem(word) in fact


def _is_figure(token: Token) -> bool:
    return isinstance(token, Quantity) or bool(re.search(r"\d", token))


def _figure_text(figure: Token) -> str:
    if isinstance(figure, str):
        return figure
    sign = f" {figure.dimension}" if figure.dimension in SIGN_DIMENSIONS else ""
    return f"{figure.written:.12g}{sign}"
