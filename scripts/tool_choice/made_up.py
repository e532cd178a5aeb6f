"""A made-up library with files, and questions about it in many words: all is drawn from `words.toml` by a seed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from thimble.corpus.article import numbered, parse
from thimble.corpus.library import Library

SYNONYM, FILLER, LOWER_CASE, TYPO = 0.3, 0.4, 0.4, 0.25
"""How often a subject has its other name, a fact has a sentence beside it, and a question is typed so."""


class Fact(NamedTuple):
    """A sentence, the slug or path where it stands, how it is asked for, and what its subject is called."""

    source: str
    sentence: str
    asks: Sequence[str]
    slots: Mapping[str, str]


class Wanted(NamedTuple):
    """A question, what it calls its subject, the tool that it wants first, and the answer, if it is there."""

    question: str
    subject: str
    tool: str
    fact: Fact
    answerable: bool


@cache
def words() -> Mapping[str, Any]:
    """What all is made of."""
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))


class MadeUp:
    """A library and a folder of files. The same seed draws the same.

    Args:
        seed: Draws all.
        folder: The files are written there.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        self._random = Random(seed)
        groups = self._random.sample([*words()["subjects"].values()], 2)
        subjects = self._random.sample(groups[0] + groups[1], 12)
        number = self._random.randint(4, 7)
        drawn = [self._article(*subject) for subject in subjects]
        texts = sorted((facts[0].source, text) for text, facts in drawn[:number])
        self.library = Library(Path(), tuple(numbered(parse(text, f"{slug}.md") for slug, text in texts)))
        self._pools = {
            "articles": [fact for _, facts in drawn[:number] for fact in facts],
            "absent": [fact for _, facts in drawn[number:] for fact in facts],
            "files": [*self._files(folder)],
        }

    def wanted(self) -> Wanted:
        """A question of any kind."""
        kinds = [*words()["kinds"].values()]
        kind = self._random.choices(kinds, [each["share"] for each in kinds])[0]
        pool = self._pools[kind["pool"]]
        fact = self._random.choice(pool)
        other = self._random.choice([each for each in pool if each.slots is not fact.slots])
        subject = fact.slots.get("other" if self._random.random() < SYNONYM else "s", "")
        slots = {**fact.slots, "s": subject, "o": other.slots.get("s", ""), "source": fact.source.partition(":")[0]}
        question = self._typed(self._filled(kind.get("asks", fact.asks), slots))
        return Wanted(question, subject, kind["tool"], fact, kind["pool"] != "absent")

    def _article(self, name: str, other: str, gloss: str) -> tuple[str, list[Fact]]:
        slots = {"s": name, "S": name.capitalize(), "other": other, "gloss": gloss}
        forms = words()["library"]
        slug, title, summary, opening = (
            self._filled(forms[part], slots) for part in ("slugs", "titles", "summaries", "fillers")
        )
        slug = slug.replace(" ", "-")
        text, facts = f'---\nslug: {slug}\ntitle: "{title}"\nsummary: "{summary}"\n---\n\n{opening}\n', []
        for aspect in self._random.sample([*words()["aspects"].values()], self._random.randint(2, 3)):
            said = [self._filled(aspect["facts"], slots)]
            facts.append(Fact(slug, said[0], aspect["asks"], slots))
            if self._random.random() < FILLER:
                said.insert(self._random.randrange(2), self._filled(forms["fillers"], slots))
            text += f"\n## {self._filled(aspect['titles'], slots)}\n\n{' '.join(said)}\n"
        return text, facts

    def _files(self, folder: Path) -> Iterator[Fact]:
        forms = words()["files"]
        for path in sorted({self._filled(forms["paths"], {}) for _ in range(4)}):
            lines = list[str]()
            for form, asks in self._random.sample(forms["lines"], 2):
                slots = {"tool": self._random.choice(words()["slots"]["tool"])}
                lines.append(self._filled([form], slots))
                yield Fact(f"{path}:{len(lines)}", lines[-1], asks, slots)
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text("\n".join(lines), "utf-8")

    def _filled(self, forms: Sequence[str], slots: Mapping[str, str]) -> str:
        """One of the forms, its places filled with what is given, else with something drawn."""
        ours = words()["slots"]
        numbers = {"number": 10 ** self._random.randint(1, 3), "year": 2020}

        def drawn(place: re.Match[str]) -> str:
            name = place[1]
            if name in numbers:
                return str(self._random.randint(numbers[name] // 2, numbers[name]))
            return slots[name] if name in slots else str(self._random.choice(ours[name]))

        return re.sub(r"\{(\w+)\}", drawn, self._random.choice(forms))

    def _typed(self, said: str) -> str:
        """The words of a question as somebody types them."""
        text = self._filled(words()["wrappers"]["before"], {}) + said + self._filled(words()["wrappers"]["after"], {})
        text = text.lower() if self._random.random() < LOWER_CASE else text[0].upper() + text[1:]
        if self._random.random() < TYPO:
            at = self._random.randrange(len(text) - 1)
            one, two = text[at], text[at + 1]
            text = text[:at] + self._random.choice((two + one, two, one + one + two)) + text[at + 2 :]
        return text
