"""Made-up libraries with files, and questions about them in many words; all is drawn from `words.toml` by a seed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal

from thimble.corpus.article import numbered, parse
from thimble.corpus.library import Library

SHARE_OF_SYNONYMS, SHARE_OF_TYPOS, SHARE_OF_LOWER_CASE, SHARE_OF_FILLERS = 0.3, 0.25, 0.4, 0.4
MOST_SUBJECTS, MOST_ASPECTS = 7, 3
Kind = Literal["fact", "difference", "file", "summary", "articles", "files", "article", "path", "near", "far"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question, where its answer stands (a slug, or a path with its line), and the sentence that answers it."""

    kind: Kind
    question: str
    sources: Sequence[str] = ()
    sentence: str = ""
    subject: str = ""


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
        self.folder = folder
        self._random = Random(seed)
        self._slots = words()["slots"] | words()["files"] | words()["questions"]
        groups = self._random.sample([*words()["subjects"].values()], 2)
        subjects = [subject for group in groups for subject in group]
        self._random.shuffle(subjects)
        number = self._random.randint(MOST_SUBJECTS - 3, MOST_SUBJECTS)
        self._here, self._absent = subjects[:number], subjects[number:]
        self._facts: list[tuple[Sequence[str], str, str, str]] = []
        texts = sorted(self._article(subject) for subject in self._here)
        self.library = Library(Path(), tuple(numbered(parse(text, f"{slug}.md") for slug, text in texts)))
        self._lines = [*self._files()]

    def questions(self, kinds: Sequence[Kind]) -> Iterator[Wanted]:
        """A question of each of these kinds."""
        for kind in kinds:
            wanted: Wanted = getattr(self, f"_ask_{kind}")()
            yield Wanted(kind, self._asked(wanted.question), wanted.sources, wanted.sentence, wanted.subject)

    def _article(self, subject: Sequence[str]) -> tuple[str, str]:
        name, _, gloss = subject
        given = {"s": name, "S": name.capitalize(), "gloss": gloss}
        forms = words()["library"]
        slug = self._filled(forms["slugs"], given).replace(" ", "-")
        sections = []
        for aspect in self._random.sample([*words()["aspects"]], self._random.randint(2, MOST_ASPECTS)):
            wordings = words()["aspects"][aspect]
            fact = self._filled(wordings["facts"], given)
            self._facts.append((subject, aspect, slug, fact))
            said = [
                fact,
                *([self._filled(forms["fillers"], given)] if self._random.random() < SHARE_OF_FILLERS else []),
            ]
            self._random.shuffle(said)
            sections.append(f"## {self._filled(wordings['titles'], given)}\n\n{' '.join(said)}\n")
        head = f'title: "{self._filled(forms["titles"], given)}"\nsummary: "{self._filled(forms["summaries"], given)}"'
        return slug, f"---\nslug: {slug}\n{head}\n---\n\n{self._filled(forms['fillers'], given)}\n\n" + "\n".join(
            sections
        )

    def _files(self) -> Iterator[tuple[str, str, Sequence[str]]]:
        """Write the files; each line's place, its text, and how it is asked for."""
        forms = words()["files"]
        for path in {self._filled(forms["paths"], {}) for _ in range(4)}:
            lines = []
            for form, asks in self._random.sample(forms["lines"], self._random.randint(1, 3)):
                slots = {"tool": self._random.choice(forms["tool"])}
                lines.append(self._filled([form], slots))
                yield f"{path}:{len(lines)}", lines[-1], [self._filled([ask], slots) for ask in asks]
            (self.folder / path).parent.mkdir(exist_ok=True)
            (self.folder / path).write_text("\n".join(lines), "utf-8")

    def _ask_fact(self) -> Wanted:
        subject, aspect, slug, fact = self._random.choice(self._facts)
        said = self._filled(words()["aspects"][aspect]["asks"], {"s": self._called(subject)})
        return Wanted("fact", said, [slug], fact, subject[0])

    def _ask_difference(self) -> Wanted:
        one, other = self._random.sample(self._here, 2)
        said = self._filled(words()["questions"]["difference"], {"s": one[0], "o": other[0]})
        slugs = [slug for name in (one, other) for subject, _, slug, _ in self._facts if subject is name]
        sentence = f"{one[0].capitalize()} are {one[2]}; {other[0]} are {other[2]}."
        return Wanted("difference", said, [*dict.fromkeys(slugs)], sentence, one[0])

    def _ask_file(self) -> Wanted:
        place, line, asks = self._random.choice(self._lines)
        return Wanted("file", self._random.choice(asks), [place], line)

    def _ask_summary(self) -> Wanted:
        return self._about("summary", self._random.choice(self._here))

    def _ask_articles(self) -> Wanted:
        return self._about("list_articles", self._random.choice(self._here))

    def _about(self, forms: str, subject: Sequence[str]) -> Wanted:
        said = self._filled(words()["questions"][forms], {"s": self._called(subject)})
        slug = next(slug for known, _, slug, _ in self._facts if known is subject)
        summary = self.library.find(slug).summary
        return Wanted("summary", said, [slug], summary, subject[0])

    def _ask_article(self) -> Wanted:
        article = self._random.choice(self.library.articles)
        said = self._filled(words()["questions"]["read_article"], {"slug": article.slug})
        return Wanted("article", said, [article.slug], article.summary)

    def _ask_path(self) -> Wanted:
        place, line, _ = self._random.choice(self._lines)
        path = place.partition(":")[0]
        return Wanted("path", self._filled(words()["questions"]["read_file"], {"path": path}), [path], line)

    def _ask_files(self) -> Wanted:
        return Wanted("files", self._filled(words()["questions"]["list_files"], {}))

    def _ask_near(self) -> Wanted:
        subject = self._random.choice(self._absent)
        aspect = words()["aspects"][self._random.choice([*words()["aspects"]])]
        return Wanted("near", self._filled(aspect["asks"], {"s": self._called(subject)}), subject=subject[0])

    def _ask_far(self) -> Wanted:
        return Wanted("far", self._filled(words()["questions"]["far"], {}))

    def _called(self, subject: Sequence[str]) -> str:
        return subject[self._random.random() < SHARE_OF_SYNONYMS]

    def _filled(self, forms: Sequence[str], given: Mapping[str, str]) -> str:
        """One of the forms, its places filled with what is given, else with something drawn."""

        def drawn(place: re.Match[str]) -> str:
            if place[1] == "number":
                return str(self._random.randint(2, 10 ** self._random.randint(1, 3)))
            if place[1] == "year":
                return str(self._random.randint(1400, 2020))
            return given.get(place[1]) or str(self._random.choice(self._slots[place[1]]))

        text = self._random.choice(forms)
        while "{" in text:
            text = re.sub(r"\{(\w+)\}", drawn, text)
        return text

    def _asked(self, said: str) -> str:
        """The words of a question as somebody types them."""
        forms = words()["questions"]
        text = self._random.choice(forms["before"]) + said + self._random.choice(forms["after"])
        text = text.lower() if self._random.random() < SHARE_OF_LOWER_CASE else text[0].upper() + text[1:]
        if self._random.random() < SHARE_OF_TYPOS:
            at = self._random.randrange(len(text) - 1)
            text = (
                text[:at] + self._random.choice((text[at + 1] + text[at], text[at + 1], text[at] * 2)) + text[at + 2 :]
            )
        return text
