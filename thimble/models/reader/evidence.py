"""Evidence: what in the view answers a question, the best first, and whether that is sure enough to be an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from thimble.corpus.manual import MANUAL_SLUG
from thimble.corpus.markdown import sentences
from thimble.corpus.observations import CERTAIN, USER, Quote, Result
from thimble.corpus.question_form import leans, points
from thimble.corpus.words import terms
from thimble.models.reader.request import (
    ASKS_OF_THIMBLE,
    ASKS_WHAT_USER_SAID,
    FIRST_PERSON,
    IN_FILES,
    nameless,
    paths,
    telling,
)
from thimble.models.reader.view import NOTHING_SHOWN, ReaderView, states

SURE = 0.4
"""The score from which on a passage is an answer; what is below it is only shown. Set on development questions."""
NEAR_SCORE = 0.27
"""The score below which nothing is shown, but for a follow-up. A question about thimble has an answer from it on."""
STATED = 0.5
"""The share of a question's words that what the user said must have to answer it."""
KNOWN = 0.9
"""That share of what was read or quoted before, which need not be searched again."""
SAME_SUBJECT = 0.01
"""That share where the question says where to look: one word is enough."""
IN_FILE = 0.15
"""What a question about files adds to the score of a line of one."""
PLAIN = ("AI", "LLM", "LLMs", "API", "JSON", "GPU", "GPUs")
"""Names of the whole field, which need not be repeated."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Passages, the best first; `sure`: the first of them may be quoted as the answer."""

    said: tuple[Quote, ...] = ()
    sure: bool = False

    @property
    def score(self) -> float:
        """The score of the best passage."""
        return self.said[0].score if self.said else 0.0


def evidence(part: str, view: ReaderView) -> Evidence:
    """What answers a part of a question: what is known from before, or what the searches for it have found."""
    if known := in_view(part, view):
        return Evidence((replace(known[0], score=CERTAIN),), sure=True)
    pages = best(part, view, manual=True)
    files, articles = _in_files(part, view), () if readable(part, view) else _in_articles(part, view)
    nearest = max(articles, files, key=_score)
    if about_thimble(part, view) and _score(nearest) < max(SURE, _score(pages)):
        return Evidence(pages, _score(pages) >= NEAR_SCORE)
    if _score(pages) >= max(SURE, _score(nearest)):
        return Evidence(pages, sure=True)
    if not nearest:
        nearest = _last_resort(part, view)
        return Evidence(nearest, bool(nearest))
    if _score(nearest) < SURE:
        return Evidence(tuple(sorted((*files[:2], *articles), key=lambda one: -one.score)))
    return Evidence(nearest, sure=True)


def _score(said: Sequence[Quote]) -> float:
    return said[0].score if said else 0.0


def _last_resort(part: str, view: ReaderView) -> tuple[Quote, ...]:
    """Whatever is in view: what the reader found before its result was hidden, or what another tool gave."""
    if view.hidden("search_articles", "search_files"):
        return _sharing(nameless(part, view), view.thoughts, SAME_SUBJECT)
    if ASKS_WHAT_USER_SAID.search(part) or view.current("search_articles", "search_files"):
        return ()
    return _sharing(part, (*view.own, *view.told, *(one for act in view.acts for one in act.shows.said)), STATED)


def earlier(part: str, view: ReaderView) -> str:
    """What a question is searched with besides: what it leans on, and the article at hand if it has a pronoun."""
    asked = next((one for one in reversed(view.earlier) if not states(one)), "")[:300] if leans(part) else ""
    return f"{asked} [{view.at_hand}]".strip() if view.at_hand and (asked or points(part)) else asked


def about_thimble(part: str, view: ReaderView) -> bool:
    """Whether a question is about thimble itself: by its form, or since it leans on an answer that was."""
    return bool(ASKS_OF_THIMBLE.search(view.question)) or f"[{MANUAL_SLUG}" in earlier(part, view)


def names(part: str) -> set[str]:
    """The terms of the names in a question: words with a capital letter that does not only begin a sentence."""
    found = set[str]()
    part = " ".join([one for one in sentences(part) if one.endswith("?")] or [part])
    for word in re.finditer(r"\w[\w.+-]*\w", part):
        begins = re.search(r"(?:^|[.?!:]\s)\W*$", part[: word.start()])
        if re.search("[A-Z]", word[0][bool(begins) :]) and word[0] not in PLAIN:
            found |= set(terms(word[0]))
    return found


def searched(part: str, view: ReaderView, manual: bool = False) -> list[Result]:
    """What the searches of the articles for a part show, or those of thimble's own pages."""
    made = (act for act in view.acts if act.name == "search_articles" and act.text("query") == part)
    there = (act for act in made if act.shows.form != "gone")
    return [act.shows for act in there if (f"[{MANUAL_SLUG}" in act.text("earlier")) == manual]


def best(part: str, view: ReaderView, manual: bool = False) -> tuple[Quote, ...]:
    """The passages of the search that has found the best one."""
    return max((one.said for one in searched(part, view, manual)), key=_score, default=())


def _in_articles(part: str, view: ReaderView) -> tuple[Quote, ...]:
    """The passages that speak of every name in the question, headings included; or the best, if they do so together."""
    found, asked = best(part, view), names(part)
    if _score(found) < NEAR_SCORE and not leans(part):
        return ()
    spoken = {one: set(terms(f"{view.title(one.source)} {one.section} {one.text}")) for one in found}
    whole = tuple(one for one in found if asked <= spoken[one])
    return whole or (found if asked <= set[str]().union(*spoken.values()) else ())


def readable(part: str, view: ReaderView) -> list[str]:
    """The files that a part names, as far as no call has failed over them."""
    acts = view.current("read_file", "search_files")
    failed = {act.text("path") or act.text("folder") for act in acts if act.shows.form == "error"}
    return [path for path in paths(part, view) if path not in failed]


def looked_up(part: str, view: ReaderView) -> list[dict[str, str]]:
    """The arguments of the searches of the files for a part: in those that it names, or the one at hand and all."""
    words = telling(part, view) or part
    if named := readable(part, view):
        return [{"query": query, "folder": path} for path in named for query in dict.fromkeys((part, words))]
    at_hand = [{"query": words, "folder": view.file}] if view.file and leans(part) else []
    return [*at_hand, {"query": part}]


def _in_files(part: str, view: ReaderView) -> tuple[Quote, ...]:
    """The lines that the searches of the files have found, certain ones first."""
    hint = IN_FILE if IN_FILES.search(part) or readable(part, view) else 0
    asked, lines = nameless(part, view), list[Quote]()
    for arguments in looked_up(part, view):
        shows = view.result("search_files", arguments) or NOTHING_SHOWN
        lines += (one if one.score == CERTAIN else replace(one, score=one.score + hint) for one in shows.said)
    said = (one for one in dict.fromkeys(lines) if one.score >= NEAR_SCORE and shared(one.text, asked))
    return tuple(sorted(said, key=lambda one: one.score < CERTAIN))


def in_view(part: str, view: ReaderView) -> tuple[Quote, ...]:
    """What the user said, a file said that was read, or the reader quoted, if it has nearly all words of a question."""
    if ASKS_WHAT_USER_SAID.search(part):
        return _sharing(part, view.told, SAME_SUBJECT)
    if FIRST_PERSON.search(part) and (told := _sharing(part, view.told, STATED)):
        return told
    if points(part) or len(set(terms(part))) < 3:
        return ()
    pages = [act.shows for act in view.acts if act.shows.form == "lines" and act.shows.whole]
    lines = [one for shows in pages if shows.first == 1 and shows.last >= shows.of for one in shows.said]
    named = paths(part, view)
    said = (one for one in (*lines, *view.own) if not named or one.path in named)
    return _sharing(nameless(part, view), said, KNOWN)


def _sharing(part: str, said: Iterable[Quote], least: float) -> tuple[Quote, ...]:
    """What has at least this share of the words of a question, most first; at most two."""
    asked = set(terms(part))
    shares = {one: len(asked & set(terms(f"{one.section} {one.text}"))) / len(asked or "x") for one in said}
    return tuple(sorted((one for one in shares if shares[one] >= least), key=lambda one: -shares[one])[:2])


def best_run(text: str, part: str, most: int) -> str:
    """The sentences in a row with most words of a question, of at most `most` words; one sentence in any case."""
    said = sentences(text)
    runs = [" ".join(said[start:end]) for start in range(len(said)) for end in range(start + 1, len(said) + 1)]
    short = (run for run in runs if run in said or len(run.split()) <= most)
    return max(short, key=lambda run: (shared(run, part), len(run)), default=text)


def shared(text: str, part: str) -> int:
    """How many words of a question a text has."""
    return len(set(terms(part)) & set(terms(text)))


def cite(said: Iterable[Quote], between: str = "\n\n") -> str:
    """The passages, a paragraph each, with its citation behind it, or with `You said` before it."""
    return between.join(map(_cited, said))


def _cited(one: Quote) -> str:
    if one.source == USER:
        return f"You said: “{one.text}”"
    return f"{one.text} [{one.source}]" if one.source else one.text
