"""Made-up libraries of short articles, each about one thing, and questions with one known answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.servers.tiny import FOLDER
from tests.servers.tiny.words import Split, draw

WORD = "a made-up word"
Units = Mapping[str, str]
"""By attribute the unit that its numbers have, or `WORD` where its value is a word."""

GROUPS: Mapping[str, Units] = {
    "minerals": {"melting point": "degrees", "boiling point": "degrees", "hardness": "points", "finder": WORD},
    "rivers": {"length": "kilometres", "depth": "metres", "source": WORD, "longest bridge": WORD},
    "cities": {"population": "people", "age": "years", "mayor": WORD, "oldest street": WORD},
    "plants": {"height": "metres", "growing time": "days", "home island": WORD, "common name": WORD},
    "engines": {"power": "watts", "weight": "kilograms", "inventor": WORD, "main fuel": WORD},
    "birds": {"wing span": "centimetres", "top speed": "metres a second", "nesting place": WORD, "main food": WORD},
    "planets": {"radius": "kilometres", "day length": "hours", "largest moon": WORD, "star": WORD},
    "dishes": {"cooking time": "minutes", "price": "coins", "main spice": WORD, "first cook": WORD},
}
KINDS = tuple(
    [
        "notes",
        "report",
        "guide",
        "survey",
        "history",
        "profile",
        "study",
        "review",
        "sketch",
        "primer",
        "digest",
        "record",
    ]
)
TITLES = ("About {subject}", "A {kind} of {subject}", "{subject}: a {kind}", "The {subject} {kind}")
SUMMARIES = (
    "What is known of {subject}.",
    "A short text about {subject}.",
    "One of the {group}, described in a few words.",
    "What travellers tell of {subject}.",
    "A look at {subject}, one of the {group}.",
)
RELATED = (" Compared with {other}.", " Often mistaken for {other}.", " See also {other}.")
FACT = "The {attribute} of {subject} is {value}."
FILLERS = (
    "This is one of the {group}.",
    "Little has been written about it.",
    "Much of what people say of {subject} is wrong.",
    "We visited the archive in spring and read every page.",
    "Among the {group} it is well known.",
    "The records are old but complete.",
)
QUESTION = "Read the article about {subject} and tell me the {attribute} of {subject}."
SOUND = "sound-seeds.json"


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answer: the value, and the article that states it, of which `article` is the text."""

    text: str
    answer: str
    slug: str
    subject: str
    attribute: str
    article: str


def corpus(folder: Path, seed: int, split: Split = "new", number: int = 6) -> list[Question]:
    """Write a library of one-fact articles to a folder, and return a question about each, in their order.

    All words that are made up belong to the split. The built-in reader answers these questions by the same calls:
    list_articles, then read_article.
    """
    random = Random(seed)
    names = draw(random, split, 3 * number)
    groups = random.sample(list(GROUPS), min(len(GROUPS), random.choice((1, 2, 2, 3))))
    asked = []
    for subject in names[:number]:
        other = random.choice(names[:number]) if number > 1 and random.random() < 0.3 else ""
        asked.append(_question(random, subject, random.choice(groups), names[number:], other))
    folder.mkdir(parents=True, exist_ok=True)
    for one in asked:
        (folder / f"{one.slug}.md").write_text(one.article, "utf-8")
    return asked


def _question(random: Random, subject: str, group: str, words: list[str], other: str) -> Question:
    """A question about an article that states one fact; its summary may name another thing."""
    attribute = random.sample(list(GROUPS[group]), random.randint(1, 1))[0]
    value = _value(random, GROUPS[group][attribute], words)
    said = [random.choice([FACT]).format(attribute=attribute, subject=subject, value=value)]
    for _ in range(random.choice((0, 0, 1, 2))):
        said.insert(random.randint(0, len(said)), random.choice(FILLERS).format(group=group, subject=subject))
    kind = random.choice(KINDS)
    title = random.choice(TITLES).format(kind=kind, subject=subject)
    summary = random.choice(SUMMARIES).format(subject=subject, group=group)
    summary += random.choice(RELATED).format(other=other) if other not in ("", subject) else ""
    head = f'---\nslug: {subject}-{kind}\ntitle: "{title}"\ntags: [{group}]\nsummary: "{summary}"\n---\n\n'
    text = QUESTION.format(subject=subject, attribute=attribute)
    return Question(text, value, f"{subject}-{kind}", subject, attribute, f"{head}{' '.join(said)}\n")


def _value(random: Random, unit: str, words: list[str]) -> str:
    if unit == WORD:
        return random.choice(words)
    return f"{random.randint(2, 10 ** random.choice((2, 3, 3, 4)))} {unit}"


def sound_seeds(folder: Path = FOLDER) -> list[int]:
    """Seeds for `corpus` on which the model of a folder answers every question right."""
    return list(map(int, json.loads((folder / SOUND).read_text("utf-8"))))
