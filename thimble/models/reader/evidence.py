"""Evidence: what in the view answers a question, the best first, and whether that is sure enough to be an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from thimble.corpus.manual import MANUAL_SLUG
from thimble.corpus.markdown import sentences
from thimble.corpus.observations import CERTAIN, USER, Quote, Result
from thimble.corpus.question_form import leans, points
from thimble.corpus.words import terms
from thimble.models.reader.request import (
    ASKS_OF_THIMBLE,
    ASKS_WHAT_USER_SAID,
    CALCULATES,
    FIRST_PERSON,
    IN_FILES,
    WE,
    nameless,
    paths,
    telling,
)
from thimble.models.reader.view import NOTHING_SHOWN, ReaderView, states

SURE = 0.4
"""The score from which on a passage is an answer; what is below it is only shown. Set on development questions."""
WEAK = 0.45
"""The score of a passage that leaves no reason to look into the files too."""
KNOWN, READ, STATED = 0.9, 0.75, 0.5
"""The share of a question's words that what was quoted, read in a file, or said by the user must have to answer it."""
STRONG = 0.55
"""The score of a passage that leaves no reason to look into thimble's own pages."""
MANUAL_SCORE = 0.28
"""The score from which on a page of thimble answers a question that is about thimble by its form."""
NEAR_SCORE = 0.27
"""The score of the best passage below which none is shown, but for a follow-up. Set on development questions."""
ALSO = 0.7
"""The share of the best score that more on the same has."""
LEAST, IN_FILE, OUR_FILE = 0.3, 0.15, 0.08
"""The least score of a line of a file, and what a question adds to it that names files, or is about "us"."""
ROW_FILES = (".csv", ".tsv", ".json", ".jsonl", ".log")
"""Files of rows, over which a question may ask for a sum."""
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

    @property
    def rows(self) -> bool:
        """Whether it is rows of a file."""
        return len(self.said) > 1 and all(one.path.endswith(ROW_FILES) for one in self.said[:2])


def evidence(part: str, view: ReaderView) -> Evidence:
    """What answers a part of a question: what was said before, or what the searches for it have found."""
    if known := in_view(part, view):
        return Evidence((replace(known[0], score=CERTAIN),), sure=True)
    pages = best(searched(part, view, manual=True))
    files, articles = _in_files(part, view), [] if readable(part, view) else _in_articles(part, view)
    if about_thimble(part, view) and (not articles or articles[0].score < max([STRONG, *(one.score for one in pages)])):
        return Evidence(pages, bool(pages) and pages[0].score >= MANUAL_SCORE)
    nearest = files if files and (not articles or files[0].score >= articles[0].score) else articles
    if pages and pages[0].score >= max([SURE, *(one.score for one in nearest[:1])]):
        return Evidence(pages, sure=True)
    if not nearest:
        said = tuple(_last_resort(part, view))
        return Evidence(said, bool(said))
    if nearest[0].score < SURE and nearest[0].source:
        near = sorted([*files[:2], *articles], key=lambda one: -one.score)
        return Evidence(tuple(near))
    found = Evidence(tuple(nearest), sure=True)
    return replace(found, sure=not (found.rows and CALCULATES.search(part)))


def _last_resort(part: str, view: ReaderView) -> list[Quote]:
    """Whatever is in view: what the reader found before its result was hidden, or what another tool gave."""
    if view.hidden("search_articles", "search_files"):
        return list(view.thoughts[:1])
    if ASKS_WHAT_USER_SAID.search(part) or view.current("search_articles", "search_files"):
        return []
    return _sharing(part, (*view.own, *view.told, *(one for act in view.acts for one in act.shows.said)), STATED)


def earlier(part: str, view: ReaderView) -> str:
    """What a question is searched with besides: the one before if it leans on that, and the article at hand."""
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


def best(results: Iterable[Result]) -> tuple[Quote, ...]:
    """The passages of the search that has found the best one."""
    return max(results, key=lambda one: one.said[0].score if one.said else 0, default=NOTHING_SHOWN).said


def unsaid(said: Sequence[Quote], view: ReaderView) -> Iterator[Quote]:
    """What is nearly as good as the best, and has no sentence that was quoted before."""
    told = "\n".join(one.text for one in view.own)
    for one in said:
        if one.score >= ALSO * said[0].score and not any(sentence in told for sentence in sentences(one.text)):
            yield one


def _in_articles(part: str, view: ReaderView) -> list[Quote]:
    """The passages that speak of every name in the question, headings included; or the best, if they do so together."""
    found = searched(part, view)
    fits = best(found) if not view.wants_more else tuple(unsaid(best(found[-1:]), view))
    if not leans(part):
        fits = fits if fits and fits[0].score >= NEAR_SCORE else ()
    else:
        new = (one for one in unsaid(fits, view) if one.score >= SURE)
        fits = tuple(dict.fromkeys((*new, *fits)))
    asked = names(part)
    whole = [one for one in fits if asked <= _spoken(one, view)]
    together = set[str]().union(*(_spoken(one, view) for one in fits))
    return whole or (list(fits) if asked <= together else [])


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


def _in_files(part: str, view: ReaderView) -> list[Quote]:
    """The lines that the searches of the files have found, certain ones first; or what was said of one that is gone."""
    hint = IN_FILE if IN_FILES.search(part) or readable(part, view) else OUR_FILE if WE.search(part) else 0
    asked, lines = nameless(part, view), list[Quote]()
    for arguments in looked_up(part, view):
        if shows := view.result("search_files", arguments):
            lines += (one if one.score == CERTAIN else replace(one, score=one.score + hint) for one in shows.said)
        elif folder := arguments.get("folder"):
            lines += (replace(one, score=CERTAIN) for one in view.thoughts if one.path == folder)
    said = (one for one in dict.fromkeys(lines) if one.score >= LEAST and shared(one.text, asked))
    return sorted(said, key=lambda one: one.score < CERTAIN)


def _spoken(said: Quote, view: ReaderView) -> set[str]:
    """The terms of a passage and of the titles above it."""
    return set(terms(f"{view.title(said.source)} {said.section} {said.text}"))


def in_view(part: str, view: ReaderView) -> list[Quote]:
    """What the user said, the reader said before or a file said that was read, if it has most words of the question."""
    if view.wants_more:
        return []
    if ASKS_WHAT_USER_SAID.search(part):
        return _sharing(part, view.told, 0.01)
    if FIRST_PERSON.search(part) and (told := _sharing(part, view.told, STATED)):
        return told
    named, asked = paths(part, view), nameless(part, view)
    pages = (act.shows for act in view.acts if act.shows.form == "lines")
    whole = (shows for shows in pages if shows.whole and shows.first == 1 and shows.last >= shows.of)
    lines = (one for shows in whole for one in shows.said if not named or one.path in named)
    if (read := _sharing(asked, lines, READ)) or points(part) or len(set(terms(part))) < 3:
        return read
    return _sharing(asked, (one for one in view.own if not named or one.path in named), KNOWN)


def _sharing(part: str, said: Iterable[Quote], least: float) -> list[Quote]:
    """What has at least this share of the words of a question, most first; at most two."""
    asked = set(terms(part))
    shares = {one: len(asked & set(terms(f"{one.section} {one.text}"))) / len(asked or "x") for one in said}
    return sorted((one for one in shares if shares[one] >= least), key=lambda one: -shares[one])[:2]


def best_run(text: str, part: str, most: int) -> str:
    """The sentences in a row with most words of a question, of at most `most` words; one sentence in any case."""
    said = sentences(text)
    runs = [" ".join(said[start:end]) for start in range(len(said)) for end in range(start + 1, len(said) + 1)]
    short = (run for run in runs if run in said or len(run.split()) <= most)
    return max(short, key=lambda run: (shared(run, part), len(run)), default=text)


def shared(text: str, part: str) -> int:
    """How many words of a question a text has."""
    return len(set(terms(part)) & set(terms(text)))


def cite(said: Iterable[Quote]) -> str:
    """The passages, a paragraph each, with its citation behind it, or with `You said` before it."""
    return "\n\n".join(map(_cited, said))


def _cited(one: Quote) -> str:
    if one.source == USER:
        return f"You said: “{one.text}”"
    return f"{one.text} [{one.source}]" if one.source else one.text
