"""Known answers: whether a question is one of the set about thimble's own library, and whether it was answered."""

from __future__ import annotations

import re

from corpus.questions import Exchange, load
from corpus.score import score
from repl.settings import Settings


def known(question: str, settings: Settings) -> Exchange | None:
    """What is known of this question: it is compared by its words. None where the articles or files are others."""
    own = Settings()
    if (settings.corpus.resolve(), settings.files.resolve()) != (own.corpus.resolve(), own.files.resolve()):
        return None
    asked = _words(question)
    exchanges = (exchange for one in load().questions for exchange in one.exchanges if exchange.scored)
    return next((exchange for exchange in exchanges if _words(exchange.question) == asked), None)


def verdict(exchange: Exchange | None, answer: str) -> str:
    """`right`, `wrong: why`, or `–` where no answer is known."""
    if exchange is None:
        return "–"
    found = score(exchange, answer)
    return "right" if found.right else f"wrong: {found.why}"


def _words(text: str) -> list[str]:
    """Words and numbers without case and punctuation."""
    return re.findall(r"\w+", text.casefold())
