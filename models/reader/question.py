"""Questions: what kind of thing is asked for, about what, and what an answer to it must hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from corpus.markdown import sentences
from models.reader import wording
from models.reader.language import COMMON_VERBS, MAY_MONTH, WORD, in_may, phrases, stem, stems, subject
from models.reader.reference import Reference, named, referent, without
from models.reader.view import View

PLAIN = frozenset(map(stem, COMMON_VERBS))
MOST_PARTS = 3
SHORT = 3
"""Words below which a second question is taken to say only what is different in it."""
LONGEST = 2_000
"""Characters of a question that are looked at."""


@dataclass(frozen=True, slots=True)
class Part:
    """One thing to find out.

    `words` say what it is about; `minor` are stems of those that an answer may well do without, `names` of those that
    it may not, numbers and proper names, of so many `entities`, and `runs` are names of two words; `owners` own what
    is asked for, where nothing else is named. `nouns` are stems of what is counted, `heads` of what is asked for.
    `hints` are words of the question before, which a pronoun stands for. `focus` are the articles that are meant,
    beyond doubt when `sure`; `lost` says that they are no longer in view. `ours` says that it may be about what the
    user said, `told` that it is.
    """

    text: str
    words: tuple[str, ...] = ()
    minor: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    owners: frozenset[str] = frozenset()
    entities: int = 0
    runs: frozenset[tuple[str, ...]] = frozenset()
    hints: tuple[str, ...] = ()
    wanted: str = ""
    nouns: frozenset[str] = frozenset()
    heads: frozenset[str] = frozenset()
    focus: tuple[str, ...] = ()
    sure: bool = False
    lost: bool = False
    ours: bool = False
    told: bool = False
    paths: tuple[str, ...] = ()
    in_files: bool = False
    perhaps_files: bool = False

    @property
    def of_files(self) -> bool:
        """Whether it is, or may be, about the files."""
        return self.in_files or self.perhaps_files

    @property
    def terms(self) -> frozenset[str]:
        """The stems of its words."""
        return frozenset(stem(word.lower()) for word in self.words)

    @property
    def topic(self) -> str:
        """Its words in a row."""
        return " ".join(self.words)

    @property
    def topics(self) -> tuple[str, ...]:
        """What to list: where the whole topic is the subject of next to none, its last word: agents, for AI agents."""
        return tuple(dict.fromkeys((self.topic, *self.words[-1:])))

    @property
    def query(self) -> str:
        """What to search for."""
        common = {word for word in COMMON_VERBS if stem(word) not in self.names}
        telling = [word for word in (*self.words, *self.hints) if word.lower() not in common]
        query = " ".join(dict.fromkeys(telling)) or self.topic or self.text[:100]
        return query.replace(MAY_MONTH, "May")


@dataclass(frozen=True, slots=True)
class Ask:
    """What the user asks for: its kind, its parts, and perhaps an article to be read first."""

    kind: str
    text: str
    parts: tuple[Part, ...]
    first: Part | None = None

    @property
    def part(self) -> Part:
        """The first part; most kinds have no other."""
        return self.parts[0]

    @property
    def whole(self) -> Part:
        """All parts as one thing to search for."""
        words = (word for part in self.parts for word in part.words)
        return Part(self.text, tuple(dict.fromkeys(words)))


def understand(view: View) -> Ask:
    """What the current question asks for."""
    text = _without_statements(" ".join(view.question[:LONGEST].split()))
    before = wording.READ_FIRST.match(text)
    if before and kind_of(before["rest"]) != "read":
        first = _part(before["what"], view, "read")
        return replace(_ask(before["rest"], view, first), first=first)
    return _ask(text, view)


def _without_statements(text: str) -> str:
    """The text without what the user states before a question or request."""
    told = sentences(text)
    asks = next((at for at, one in enumerate(told) if not wording.STATEMENT.match(one)), 0)
    return text if wording.STATEMENT.match(text) else " ".join(told[asks:])


def kind_of(text: str) -> str:
    """The kind of a question, by its wording alone."""
    kind = next((kind for kind, pattern in wording.KINDS.items() if pattern.search(text)), "fact")
    return "fact" if kind == "compare" and len(_sides(text)[0]) < 2 and not _refers(text) else kind


def _refers(text: str) -> bool:
    return without(text) != " ".join(text.split())


def _ask(text: str, view: View, first: Part | None = None) -> Ask:
    kind = kind_of(text)
    if kind == "compare":
        sides, aspects = _sides(text)
        if subject(aspects) and len(sides) > 1:
            return Ask("fact", text, tuple(_part(f"{side} {aspects}", view, "fact") for side in sides))
        return Ask(kind, text, _compared(sides, view))
    if kind != "fact":
        return Ask(kind, text, (_part(text, view, kind),))
    parts = _questions(text, view, first)
    # "And the second one?" after something that was no question: what does it say?
    bare = parts[0].focus and not parts[0].words and not parts[0].hints
    return Ask("summarise" if bare else kind, text, parts)


def _questions(text: str, view: View, first: Part | None) -> tuple[Part, ...]:
    """The questions in a text; a later one may refer to the one before it."""
    before = first.words if first else _subject(view.earlier[-1]) if view.earlier else ()
    earlier = view.earlier[-1] if view.earlier else ""
    parts: list[Part] = []
    for one, leans in _each(text):
        part = _part(one, view, "fact", before, earlier, leans)
        before, earlier = part.words or before, one
        parts.append(part)
    told = [part for part in parts if part.words or part.focus or part.hints]
    return tuple(told[:MOST_PARTS] or parts[:1]) or (Part(text),)


def _each(text: str) -> Iterator[tuple[str, bool]]:
    """The questions in a text one by one, and whether each says only what is different from the one before."""
    if found := wording.CHOICE.match(text):
        yield from ((f"{found['ask']}, {one}", False) for one in (found["one"], found["other"]))
        return
    aside, first = "", True
    for one in wording.NEXT_QUESTION.split(text):
        if not (wording.ASKING.search(one) or aside or "?" in one or one == text):
            aside = "" if wording.STATEMENT.match(one) else f"{one}, "
            continue
        one, aside = f"{aside}{one}", ""
        if listed := wording.EACH.match(one):
            lead = wording.THESE.sub("", listed["lead"])
            yield from ((f"{lead} {item}", False) for item in wording.JOINTS[0].split(listed["items"]) if item)
        elif two := wording.AGAINST.match(one):
            yield two["one"], False
            yield two["other"], True
        elif one.strip() and not wording.STATEMENT.match(one):
            yield one, not first and one.lower().startswith("how ") and len(subject(one)) <= SHORT
        first = False


def _subject(text: str) -> tuple[str, ...]:
    """What an earlier question was about."""
    aside = wording.ASIDE.get(kind_of(text), frozenset())
    return tuple(word for word in subject(wording.OBJECT.sub(" ", without(text))) if word.lower() not in aside)


def _part(
    text: str, view: View, kind: str, before: tuple[str, ...] = (), earlier: str = "", leans: bool = False
) -> Part:
    """One part; a follow-up that says too little alone takes over the words of the question before."""
    paths = tuple(wording.PATH.findall(text))
    outright = named(text, view)
    reference = outright or referent(text, view, listing_first=kind in ("read", "summarise", "note"))
    words = _words(text, kind)
    if kind == "summarise" and not words and not reference:
        reference = Reference(tuple(view.read[-1:]))
    elliptic = leans or (bool(wording.ELLIPTIC.match(text)) and bool(earlier))
    follows = bool(reference and not outright) or elliptic or not words
    asks = f"{text} {earlier}" if elliptic else text
    noun = wording.NOUN.search(asks)
    low = {stem(word.lower()): word.lower() for word in words}
    names, owners = _names(text)
    names, owners = names & low.keys(), owners & low.keys()
    counted = set(noun["nouns"].lower().split() if noun else ()) - wording.GENERIC
    head = wording.HEAD.search(asks)
    asked = set((head["head"] or head["named"]).lower().split() if head else ()) - wording.GENERIC
    asides = COMMON_VERBS | wording.ATTRIBUTES | wording.FILE_WORDS | wording.WRITINGS
    told = {stem(word) for word in counted | asked}
    minor = {root for root, word in low.items() if (word in asides or root in PLAIN) and root not in told}
    return Part(
        text=text,
        words=words,
        minor=frozenset(minor - names if len(minor) < len(low) else ()),
        names=frozenset(names),
        owners=frozenset(() if names else owners),
        entities=_entities(text, names),
        runs=frozenset[tuple[str, ...]]().union(
            *(phrases(run) for run in wording.NAME_RUN.findall(text) if not re.search(r" \d+(?:\.\d+)?[BKM]$", run))
        ),
        hints=tuple(before) if follows else (),
        wanted=next((wanted for wanted, pattern in wording.WANTED.items() if pattern.search(asks)), ""),
        nouns=frozenset(set(map(stem, counted)) & low.keys() - names),
        heads=frozenset(
            set(map(stem, asked - wording.ATTRIBUTES - wording.MEASURED - wording.ROLES)) & low.keys() - names
        ),
        focus=reference.slugs if reference else (),
        sure=bool(reference and (reference.sure or kind != "fact")),
        lost=bool(reference and reference.sure and not reference.slugs),
        ours=bool(wording.OURS.search(text)),
        told=bool(wording.SAID_BEFORE.search(text) and not wording.IN_FILES.search(text)),
        paths=paths,
        in_files=bool(paths or wording.IN_FILES.search(text)),
        perhaps_files=bool(wording.PERHAPS_IN_FILES.search(without(text))),
    )


def _words(text: str, kind: str) -> tuple[str, ...]:
    """What a question is about, without what it is put with."""
    rest = wording.HOW.sub("how ", wording.PATH.sub(" ", without(text)))
    if kind in ("read", "summarise"):
        rest = wording.ABOUT.sub("", rest) or rest
    rest = rest if kind == "fact" else wording.OBJECT.sub(" ", rest)
    return tuple(word for word in subject(rest) if word.lower() not in wording.ASIDE.get(kind, ()))


def _names(text: str) -> tuple[set[str], set[str]]:
    """The stems of proper names, numbers and code in a question, and of owners, as in "Google's Dapper".

    The first word is capital anyway.
    """
    quoted = re.findall(r"[`\"“]([^`\"”]+)[`\"”]", text)
    text = in_may(text)
    places = (word for word in WORD.finditer(text) if not re.search(r"(?:^|[.?!]\s)\W*$", text[: word.start()]))
    proper = {word[0] for word in places if re.search(r"\d|[A-Z]", word[0])} - wording.NO_NAMES
    owners = set(re.findall(r"(\b[A-Z][a-zA-Z]*)['’]s\b", text))
    names = {root for part in (*quoted, *(proper - owners)) for root in stems(part)}
    return names, {root for owner in owners for root in stems(owner)} - names


def _entities(text: str, names: set[str]) -> int:
    """How many things the names name: those that stand together are one."""
    marks = "".join("x" if root in names else " " for root in stems(text))
    return len(marks.split())


def _sides(text: str) -> tuple[list[str], str]:
    """The things that are compared, and the aspect in which."""
    body, *aspects = wording.SCOPE.split(wording.UNLIKE.sub(" versus ", text.rstrip(" ?.!")), maxsplit=1)
    found = next(filter(None, (pattern.search(body) for pattern in wording.SIDES)), None)
    sides: list[str] = []
    for joint in wording.JOINTS if found else ():
        if len(sides) < 2:
            sides = [side.strip() for side in joint.split(found["sides"] if found else "") if side.strip()]
    told = found.groupdict().get("aspect") if found else ""
    return sides[:MOST_PARTS], " ".join(filter(None, [told, *aspects]))


def _compared(sides: list[str], view: View) -> tuple[Part, ...]:
    """The sides of a comparison, a part each; where only one is named, the two articles that were read last."""
    parts = [replace(_part(side, view, "compare"), wanted="definition") for side in sides]
    split = [_about(slug) if slug else part for part in parts for slug in part.focus or ("",)]
    if len(split) < 2:
        split = [_about(slug) for slug in reversed([*dict.fromkeys(reversed(view.read))][:2])] or split
    return tuple(split[:MOST_PARTS]) or (Part(view.question),)


def _about(slug: str) -> Part:
    return Part(slug.replace("-", " "), focus=(slug,), sure=True)
