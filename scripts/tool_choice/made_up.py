"""Make up a library with files, and varied questions about it, from `words.toml` and a seed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from thimble.corpus.article import number_slugs, parse_article
from thimble.corpus.library import Library

SYNONYM, FILLER, LOWER_CASE, TYPO = 0.3, 0.4, 0.4, 0.25
"""Probabilities of a subject's other name, a sentence beside a fact, a question in lower case, and one with a typo."""


class Fact(NamedTuple):
    """A sentence, the slug or path of its source, the question for it, and the name of its subject."""

    source: str
    sentence: str
    asks: Sequence[str]
    slots: Mapping[str, str]


class Wanted(NamedTuple):
    """A question, its name for the subject, the tool to call first, and the answer, if there is one."""

    question: str
    subject: str
    tool: str
    fact: Fact
    answerable: bool


@cache
def words() -> Mapping[str, Any]:
    """The words of `words.toml`."""
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))


class MadeUp:
    """A library and a folder of files, the same for the same seed.

    Args:
        seed: The seed.
        folder: The folder to write the files to.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        self._random = Random(seed)
        groups = self._random.sample([*words()["subjects"].values()], 2)
        subjects = self._random.sample(groups[0] + groups[1], 12)
        number = self._random.randint(4, 7)
        drawn = [self._article(*subject) for subject in subjects]
        texts = sorted((facts[0].source, text) for text, facts in drawn[:number])
        self.library = Library(Path(), tuple(number_slugs(parse_article(text, f"{slug}.md") for slug, text in texts)))
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
        """One of the forms, with its placeholders filled from `slots` or else at random."""
        ours = words()["slots"]
        numbers = {"number": 10 ** self._random.randint(1, 3), "year": 2020}

        def drawn(place: re.Match[str]) -> str:
            name = place[1]
            if name in numbers:
                return str(self._random.randint(numbers[name] // 2, numbers[name]))
            return slots[name] if name in slots else str(self._random.choice(ours[name]))

        return re.sub(r"\{(\w+)\}", drawn, self._random.choice(forms))

    def _typed(self, said: str) -> str:
        """A question as a person might type it."""
        text = self._filled(words()["wrappers"]["before"], {}) + said + self._filled(words()["wrappers"]["after"], {})
        text = text.lower() if self._random.random() < LOWER_CASE else text[0].upper() + text[1:]
        if self._random.random() < TYPO:
            at = self._random.randrange(len(text) - 1)
            one, two = text[at], text[at + 1]
            text = text[:at] + self._random.choice((two + one, two, one + one + two)) + text[at + 2 :]
        return text
