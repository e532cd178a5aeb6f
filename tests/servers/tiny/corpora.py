"""Made-up libraries of short articles, each about one thing, and questions with one known answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

from tests.servers.tiny import FOLDER
from tests.servers.tiny.words import Split, draw
from thimble.corpus.article import numbered, parse
from thimble.corpus.library import Library

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
KINDS = (
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
FACTS = (
    "The {attribute} of {subject} is {value}.",
    "The {attribute} is {value}.",
    "Its {attribute} is {value}.",
    "As measured twice, the {attribute} is {value}.",
)
FILLERS = (
    "This is one of the {group}.",
    "Little has been written about it.",
    "Much of what people say of {subject} is wrong.",
    "We visited the archive in spring and read every page.",
    "Among the {group} it is well known.",
    "The records are old but complete.",
)
QUESTIONS = (
    "Read the article about {subject} and tell me the {attribute} of {subject}.",
    "What is the {attribute} of {subject}?",
    "Read the article about {subject}: what is the {attribute} of {subject}?",
    "Please find the {attribute} of {subject}.",
    "Tell me the {attribute} of {subject}.",
    "Look up {subject} and say what its {attribute} is.",
    "Do you know the {attribute} of {subject}?",
    "I would like to know the {attribute} of {subject}.",
    "In the article about {subject}, what is said of the {attribute}?",
)
GROUP_QUESTIONS = (
    "Among the articles about {group}, what is the {attribute} of {subject}?",
    "List the articles about {group}, then tell me the {attribute} of {subject}.",
    "Which of the articles about {group} is about {subject}, and what is its {attribute}?",
    "Look at the {group}: what is the {attribute} of {subject}?",
)
SOUND = "sound-seeds.json"
FOLDER_QUESTION = QUESTIONS[0]


@dataclass(frozen=True, slots=True)
class Written:
    """An article as it is written, and what it says: values by attribute."""

    slug: str
    subject: str
    group: str
    text: str
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answer: the value, and the article that states it. `topic` is what to list for it."""

    text: str
    answer: str
    slug: str
    subject: str
    attribute: str
    topic: str
    group: str


def articles(
    random: Random, split: Split, number: int, most_facts: int = 1, forms: Sequence[str] = FACTS
) -> list[Written]:
    """So many articles, each about a thing of its own; all words that are made up belong to the split."""
    names, written = draw(random, split, 3 * number), []
    groups = random.sample(list(GROUPS), min(len(GROUPS), random.choice((1, 2, 2, 3))))
    for subject in names[:number]:
        other = random.choice(names[:number]) if number > 1 and random.random() < 0.3 else ""
        written.append(article(random, subject, random.choice(groups), names[number:], other, most_facts, forms))
    return written


def article(
    random: Random, subject: str, group: str, words: list[str], other: str, most_facts: int, forms: Sequence[str]
) -> Written:
    """An article about one thing, which states one or else two to `most_facts` facts; its summary may name another."""
    units = GROUPS[group]
    asked = random.sample(list(units), random.randint(min(2, most_facts), most_facts))
    facts = {attribute: _value(random, units[attribute], words) for attribute in asked}
    form = random.choice(forms)
    said = [form.format(attribute=attribute, subject=subject, value=value) for attribute, value in facts.items()]
    for _ in range(random.choice((0, 0, 1, 2))):
        said.insert(random.randint(0, len(said)), random.choice(FILLERS).format(group=group, subject=subject))
    kind = random.choice(KINDS)
    title = random.choice(TITLES).format(kind=kind, subject=subject)
    summary = random.choice(SUMMARIES).format(subject=subject, group=group)
    summary += random.choice(RELATED).format(other=other) if other not in ("", subject) else ""
    slug = f"{subject}-{kind}"
    head = f'---\nslug: {slug}\ntitle: "{title}"\ntags: [{group}]\nsummary: "{summary}"\n---\n\n'
    return Written(slug, subject, group, f"{head}{' '.join(said)}\n", facts)


def _value(random: Random, unit: str, words: list[str]) -> str:
    if unit == WORD:
        return random.choice(words)
    return f"{random.randint(2, 10 ** random.choice((2, 3, 3, 4)))} {unit}"


def question(random: Random, written: Written, kind: Literal["subject", "group", "folder"] = "subject") -> Question:
    """A question about an article: one by its subject, or one that needs the list of a whole group."""
    forms = {"subject": QUESTIONS, "group": GROUP_QUESTIONS, "folder": (FOLDER_QUESTION,)}[kind]
    attribute = random.choice(list(written.facts))
    text = random.choice(forms).format(subject=written.subject, attribute=attribute, group=written.group)
    topic = written.group if kind == "group" else written.subject
    return Question(text, written.facts[attribute], written.slug, written.subject, attribute, topic, written.group)


def library(written: list[Written]) -> Library:
    """The articles as thimble reads them, in the order of their names."""
    found = (parse(one.text, f"{one.slug}.md") for one in sorted(written, key=lambda one: one.slug))
    return Library(Path(), tuple(numbered(found)))


def corpus(folder: Path, seed: int, split: Split = "new", number: int = 6) -> list[Question]:
    """Write a library of one-fact articles to a folder, and return a question about each, in their order.

    The built-in reader answers these questions by the same calls: list_articles, then read_article.
    """
    random = Random(seed)
    written = articles(random, split, number, forms=FACTS[:1])
    folder.mkdir(parents=True, exist_ok=True)
    for one in written:
        (folder / f"{one.slug}.md").write_text(one.text, "utf-8")
    return [question(random, one, "folder") for one in written]


def sound_seeds(folder: Path = FOLDER) -> list[int]:
    """Seeds for `corpus` on which the model of a folder answers every question right."""
    return list(map(int, json.loads((folder / SOUND).read_text("utf-8"))))
