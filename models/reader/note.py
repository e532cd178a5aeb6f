"""Notes: what a request to note something means by that something."""

from __future__ import annotations

import re
from collections.abc import Sequence

from models.reader.digest import key_sentences
from models.reader.match import article
from models.reader.observation import Sentence
from models.reader.question import Ask
from models.reader.ranking import FAIR, Evidence

SAID = re.compile(
    r"\b(?:note|remember|down|memori[sz]e|jot|save|notes?)\b[^:.]{0,40}?(?::\s*|\bthat (?!down\b))(?P<text>\S.*\S)",
    re.IGNORECASE | re.DOTALL,
)


def note_text(ask: Ask, evidence: Evidence) -> str:
    """What to save: the words that the user gave; or what was said last; or the key sentences on the topic."""
    if said := SAID.search(ask.text):
        return said["text"]
    sentences: Sequence[Sentence]
    part, view = ask.first or ask.part, evidence.view
    if not part.words and not ask.first:
        own = tuple(dict.fromkeys(view.own))
        sentences = [one for one in own if one.source in part.focus][-3:] or own[-3:]
    elif slug := article(part, evidence):
        sentences = key_sentences(evidence.of(slug), 3)
    else:
        sentences = [one.sentence for one in evidence.ranked(part)[:2] if one.cover >= FAIR and not ask.first]
    return " ".join(f"{sentence.text} [{sentence.source}]" for sentence in sentences)
