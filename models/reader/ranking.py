"""Ranking: how well a sentence in view answers a question. No language model, only words.

A word weighs as much as it is rare in what is in view (idf). A sentence is credited with the words that it holds, and
in part with those of its heading, title and neighbours. The share of the question's weight that it is credited with
is its `cover`: the measure by which the reader decides to answer, to read on or to say that there is no answer.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from models.reader import shape
from models.reader.language import phrases, stem, terms
from models.reader.observation import TOLD, Observation, Sentence
from models.reader.question import Part
from models.reader.view import View

SURE, CLEAR, GOOD, FAIR = 0.9, 0.86, 0.66, 0.45
"""Cover at which a sentence answers without a search, from a snippet, without more reading, and after it."""
TYPED, IN_FILE = 0.78, 0.25
"""What the least cover is multiplied with for the very names or kind of number asked for, and for a line of a file."""
NEARLY = 0.8
"""Cover at which a number need not be of the kind that is asked for."""
BEARING = 0.25
"""Cover of the words that are no names below which a sentence is about the same thing but not about the question."""
HEADING, TITLE, NEIGHBOUR, SECTION, ARTICLE = 0.8, 0.6, 0.45, 0.35, 0.15
"""Credit for a word that stands not in the sentence but near it."""
MINOR, HINT = 0.2, 0.7
"""Weight of a word that an answer may well do without, and of all implied words together, as a share of the others'."""
MISFIT = 0.4
"""What it costs a sentence not to hold what the question insists on."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A sentence and its marks.

    `cover` is the share of the question that it accounts for, from 0 to 1. `fits` says that it holds what the question
    insists on, `apt` that it also has the shape of an answer. `at` is its place among the sentences in view.
    """

    sentence: Sentence
    score: float
    cover: float
    fits: bool
    apt: bool
    at: int


class Evidence:
    """What is in view, ranked: the one thing that plans and answers go by."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._df = Counter(term for sentence in view.sentences for term in terms(sentence.text))
        self._of: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        for sentence in view.sentences:
            self._of[sentence.place,].update(terms(sentence.text))
            self._of[sentence.place, sentence.section].update(terms(sentence.text))
        self._phrases: dict[str, frozenset[tuple[str, ...]]] = {}
        self._known: dict[Part, list[Ranked]] = {}

    def weight(self, term: str) -> float:
        """How much a word counts: 1 for one that no sentence has, less the more have it."""
        total = max(len(self.view.sentences), 20)
        return math.log(1 + total / (0.5 + self._df[term])) / math.log(1 + 2 * total)

    def ranked(self, part: Part) -> list[Ranked]:
        """Every sentence in view that bears on the part, best first."""
        if part not in self._known:
            self._known[part] = self._rank(part)
        return self._known[part]

    def best(self, part: Part, least: float, apt: bool = False) -> Ranked | None:
        """The best sentence that covers at least this share of the part and holds what the question insists on."""
        ranked = [one for one in self.ranked(part)[:8] if one.fits and one.apt >= apt]
        good = [one for one in ranked if one.cover >= least * self._ease(part, one, least)]
        kind = [one for one in good if one.apt] if shape.typed(part) else []
        return next(iter(kind or good), None)

    def _ease(self, part: Part, one: Ranked, least: float) -> float:
        """What the least cover is multiplied with: less is enough for the very names, kind of number or file meant."""
        if least > GOOD:
            return 1.0
        in_file = one.sentence.in_file
        direct = part.entities > 1 - in_file and part.names <= terms(one.sentence.text)
        meant = least == FAIR and in_file and (part.of_files or direct)
        return (TYPED if direct or (one.apt and shape.typed(part)) else 1.0) * (IN_FILE if meant else 1.0)

    def answers(self, part: Part, least: float) -> bool:
        """Whether such a sentence, in the shape that answers have, is in view: then nothing more need be read."""
        return self.best(part, least, apt=True) is not None

    def near(self, part: Part) -> list[tuple[str, str]]:
        """The slugs and sections that this exchange's search for the part put first, best first."""
        for act in reversed(self.view.acts):
            if act.current and act.shows.form == "hits" and act.text("query") == part.query:
                return [(entry.slug, entry.section) for entry in act.shows.entries]
        return []

    def lists(self, part: Part) -> list[Observation]:
        """The lists of articles in view that were made of the part's topic, or for this question."""
        acts = (act for act in self.view.acts if act.shows.form in ("listing", "hits"))
        return [
            act.shows
            for act in acts
            if act.current
            or (act.name == "list_articles" and act.text("topic") in part.topics and not act.text("page"))
        ]

    def of(self, slug: str) -> list[Sentence]:
        """The sentences of an article that are in view, in its order."""
        return [sentence for sentence in self.view.sentences if sentence.source == slug]

    def _rank(self, part: Part) -> list[Ranked]:
        wanted = {term: MINOR if term in part.minor else self.weight(term) for term in part.terms}
        hints = {stem(word.lower()) for word in part.hints} - wanted.keys()
        share = HINT * (sum(wanted.values()) or 1.0) / (sum(map(self.weight, hints)) or 1.0)
        wanted |= {hint: min(1.0, share) * self.weight(hint) for hint in hints}
        near, found = self.near(part), []
        for at, sentence in enumerate(self.view.sentences):
            held = terms(sentence.text)
            if meant(part, sentence) and (held & wanted.keys() or part.focus or part.told):
                found.append(self._marked(part, at, wanted, held, near))
        return sorted(found, key=lambda one: (-one.score, one.at))

    def _marked(
        self, part: Part, at: int, wanted: Mapping[str, float], held: frozenset[str], near: Sequence[tuple[str, str]]
    ) -> Ranked:
        sentence = self.view.sentences[at]
        credit = self._credit(part, at, wanted, held)
        cover = sum(credit.values()) / (sum(wanted.values()) or 1)
        apt = shape.apt(part, sentence)
        # What is asked for is named, or at least spoken of in the section.
        spoken = any(credit[head] >= SECTION * wanted[head] for head in part.heads)
        asked = sentence.in_file or not part.heads or bool(part.heads & held) or (cover >= GOOD and spoken)
        counted = sentence.in_file or part.wanted != "number" or apt or cover >= (NEARLY if part.nouns else GOOD)
        fits = self._fits(part, sentence, wanted, credit, held) and asked and counted
        score = cover + shape.bonus(part, sentence) + _prior(sentence, near) - (0 if fits else MISFIT)
        score += 0.1 * (sentence.source in part.focus) + 0.4 * (sentence.in_file and part.perhaps_files)
        score += 0.15 * (sentence.in_file and bool(part.names) and part.names <= held)
        return Ranked(sentence, score, cover, fits, apt, at)

    def _fits(
        self,
        part: Part,
        sentence: Sentence,
        wanted: Mapping[str, float],
        credit: Mapping[str, float],
        held: frozenset[str],
    ) -> bool:
        """Whether a sentence is about what the question insists on, and has the form of an answer."""
        # A name must be in the same section at least, what is counted near by.
        named = all(credit[name] >= SECTION * wanted[name] for name in part.names)
        named = named or (sentence.in_file and part.of_files)
        named = named and all(credit[owner] >= ARTICLE * wanted[owner] for owner in part.owners)
        counted = not part.nouns or any(credit[noun] > ARTICLE * wanted[noun] for noun in part.nouns)
        # And something else than names: otherwise it is about the same thing, but not about the question.
        others = wanted.keys() - part.names - part.minor or wanted.keys()
        bears = sum(credit[term] for term in others) >= BEARING * sum(wanted[term] for term in others)
        bears = bears or (part.entities > 1 and part.names <= held)
        whole = part.runs <= self._runs(sentence.source, part)
        return named and counted and whole and (bears or sentence.in_file) and shape.fits(part, sentence)

    def _credit(self, part: Part, at: int, wanted: Mapping[str, float], held: frozenset[str]) -> dict[str, float]:
        """For each word its weight, or the share of it that the surroundings of the sentence earn."""
        sentence = self.view.sentences[at]
        heading, title = terms(sentence.section), terms(f"{sentence.title} {sentence.source}")
        beside, elsewhere = self._beside(at), self._of[sentence.place,]
        section = self._of[sentence.place, sentence.section]
        if held & _names(sentence.title) - part.terms:
            title -= part.names  # a title that names two things does not lend one name to a sentence about the other
        credit = {}
        for term, weight in wanted.items():
            near = (HEADING * (term in heading), TITLE * (term in title), NEIGHBOUR * (term in beside))
            far = (SECTION * (section[term] > 0), ARTICLE * (elsewhere[term] > 0))
            credit[term] = weight * (1 if term in held else max(*near, *far))
        return credit

    def _runs(self, source: str, part: Part) -> frozenset[tuple[str, ...]]:
        """The names of two words that the part asks about and the article has."""
        return part.runs & self._phrases_of(source) if part.runs else part.runs

    def _phrases_of(self, source: str) -> frozenset[tuple[str, ...]]:
        if source not in self._phrases:
            every = (phrases(f"{one.title} . {one.text}") for one in self.of(source))
            self._phrases[source] = frozenset[tuple[str, ...]]().union(*every)
        return self._phrases[source]

    def _beside(self, at: int) -> frozenset[str]:
        """The words of the sentences before and after it in its paragraph; of a row, those of its table's head."""
        here, sentences = self.view.sentences[at], self.view.sentences
        if here.context:
            return terms(here.context)
        around = (*sentences[max(0, at - 2) : at], *sentences[at + 1 : at + 2])
        same = (terms(one.text) for one in around if (one.place, one.block) == (here.place, here.block))
        return frozenset[str]().union(*same)


def meant(part: Part, sentence: Sentence) -> bool:
    """Whether a sentence is one of those a part is about: of its articles or files, or of what the user said."""
    if sentence.section == TOLD or part.told:
        return sentence.section == TOLD and part.ours
    if part.in_files and not sentence.in_file:
        return False
    if part.paths:
        return any(sentence.title == path or sentence.title.endswith(f"/{path}") for path in part.paths)
    return not (part.sure and part.focus) or sentence.source in part.focus


def _names(title: str) -> frozenset[str]:
    return frozenset(stem(word.lower()) for word in re.findall(r"(?<= )[A-Z]\w+|\w*[a-z][A-Z]\w*", title))


def _prior(sentence: Sentence, near: Sequence[tuple[str, str]]) -> float:
    """Marks for standing where search found most, and in the section first of all."""
    places = [place for place, (slug, _) in enumerate(near) if slug == sentence.source]
    same = [place for place in places if near[place][1] == sentence.section]
    return 0.12 / (1 + same[0]) if same else 0.05 / (1 + places[0]) if places else 0.0
