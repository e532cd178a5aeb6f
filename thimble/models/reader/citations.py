"""Citations: what an answer cites, and what earlier answers still quote."""

from __future__ import annotations

import re
from functools import lru_cache

from thimble.corpus.markdown import sentences
from thimble.corpus.observations import SLUG, Quote

CITATION = re.compile(rf"(?<!\w)\[({SLUG}|[^\[\]\s:]+:\d{{1,9}})\]")
"""What stands after a word without a blank is no citation: `web[2]`."""
NAMED_ARTICLE = re.compile(rf"“(?P<title>[^“”]+)” \[(?P<slug>{SLUG})\]")
"""An article as the reader names it."""
LED_IN = re.compile(r"^(?:(?:[-*•]|\d+[.)])\s+|Found: |Perhaps: )?(?:“[^“”]+”(?: — [^\[\]:]{0,200})?(?:: |$))?")
"""What stands before a quotation: the sign of a list, or its title."""


@lru_cache(maxsize=512)
def own(text: str) -> tuple[Quote, ...]:
    """What earlier words of the assistant, or a summary of them, still say: each run of sentences with its citation."""
    said: list[Quote] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        start = 0
        for cite in CITATION.finditer(line):
            run = LED_IN.sub("", line[start : cite.start()].lstrip(" .;,").rstrip(" ;,"))
            start = cite.end()
            said += [Quote(run, cite[1])] if run else []
    return tuple(said)


def first_sentences(text: str, most: int) -> str:
    """Whole sentences from the start of a text, of at most `most` words; the first one in any case."""
    chosen: list[str] = []
    for sentence in sentences(text):
        if chosen and len(" ".join((*chosen, sentence)).split()) > most:
            break
        chosen.append(sentence)
    return " ".join(chosen)
