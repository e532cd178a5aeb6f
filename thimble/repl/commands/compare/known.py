"""Known answers: whether a question is one of the set about thimble's own library, and whether it was answered."""

from __future__ import annotations

import re
from functools import cache

from thimble.corpus.questions import Exchange, load
from thimble.corpus.score import score, shows
from thimble.models.reader.view import CLOSEST_PASSAGES
from thimble.session.settings import Settings


def known(question: str, settings: Settings) -> Exchange | None:
    """The known exchange with the same words. None if the articles or files are not the built-in ones."""
    own = Settings()
    if (settings.corpus.resolve(), settings.files.resolve()) != (own.corpus.resolve(), own.files.resolve()):
        return None
    return _answered().get(_words(question))


def verdict(exchange: Exchange, answer: str) -> str:
    """`right`, or `wrong: why`; of passages that are no answer, `shown` or `not shown`."""
    if answer.startswith(CLOSEST_PASSAGES):
        return "shown" if shows(exchange, answer, "") else "not shown"
    found = score(exchange, answer)
    return "right" if found.right else f"wrong: {found.why}"


@cache
def _answered() -> dict[tuple[str, ...], Exchange]:
    """The questions with known answers by their words; of two with the same words the first."""
    exchanges = [exchange for one in load().questions for exchange in one.exchanges if exchange.scored]
    return {_words(exchange.question): exchange for exchange in reversed(exchanges)}


def _words(text: str) -> tuple[str, ...]:
    """Words and numbers without case and punctuation."""
    return tuple(re.findall(r"\w+", text.casefold()))
