"""Evidence: the searches for a question, and the passages in their results and in the view that answer it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations

from thimble.corpus.manual import COMMANDS_PAGE, MANUAL_SLUG
from thimble.corpus.markdown import split_sentences
from thimble.corpus.observations import FULL_SCORE, USER, Quote
from thimble.corpus.question_form import has_pronoun, needs_context
from thimble.corpus.words import content_terms
from thimble.models.reader.request import (
    ASKS_OF_THIMBLE,
    ASKS_WHAT_USER_SAID,
    FIRST_PERSON,
    IN_FILES,
    TO_DO,
    find_paths,
    topic_of,
)
from thimble.models.reader.view import Call, ReaderView, is_statement

MIN_ANSWER_SCORE = 0.4
"""Minimum score of an answer; passages below it are only shown. Tuned on the development questions."""
NEAR_SCORE = 0.27
"""Minimum score of a passage that is shown, except in a follow-up; for a question about thimble, that of an answer."""
FILE_LINE_BONUS = 0.15
"""Added to the score of a line of a file, if the question is about files."""
NAME = re.compile(r"(?:(?<=[\w,;)”] )[(“]?(?=[A-Z])|\b(?=\w[\w.+-]*[A-Z]))\w[\w.+-]*\w")
COMMON_NAMES = ("AI", "LLM", "LLMs", "API", "JSON", "GPU", "GPUs")
"""Names of the whole field, which need not be repeated."""


def find_evidence(part: str, view: ReaderView) -> list[Quote]:
    """The passages found for a question, the best first; if no search is in view, passages read or quoted before.

    A score of `MIN_ANSWER_SCORE` makes a passage an answer.
    """
    if (said := find_user_statements(part, view)) or ASKS_WHAT_USER_SAID.search(part):
        return said
    calls = [*list_searches(part, view)]
    if needs_no_search(part, view) or all(view.shows(call).form == "gone" for call in calls):
        return find_remembered(part, view) or _best_sharing(part, view.thoughts, NEAR_SCORE)
    each = [_found(part, call, view) for call in calls]
    best = max(each, key=best_score)
    if best_score(best) < MIN_ANSWER_SCORE:
        best = sorted(dict.fromkeys(chain.from_iterable(each)), key=lambda one: -one.score)
    return best if best_score(best) >= NEAR_SCORE or needs_context(view.question) else []


def best_score(found: Sequence[Quote]) -> float:
    """The score of the best passage."""
    return found[0].score if found else 0.0


def list_searches(part: str, view: ReaderView) -> Iterator[Call]:
    """The searches for a question, in the order in which they are made until one has a sure answer."""
    before = earlier_question(part, view)
    if named := find_paths(part, view):
        for query in filter(None, (topic_of(part, view), part)):
            yield from (("search_files", {"query": query, "folder": path}) for path in named)
    elif about_thimble(part, view):
        yield "search_articles", {"query": part, "earlier": before if MANUAL_SLUG in before else COMMANDS_PAGE}
    else:
        yield "search_articles", {"query": part, **({"earlier": before} if before else {})}
        yield from ((act.name, act.arguments) for act in view.acts if act.name == "read_file" and act.shows.more)
        yield "search_files", {"query": part}
        if TO_DO.search(part) and not before:
            yield "search_articles", {"query": part, "earlier": COMMANDS_PAGE}


def _found(part: str, call: Call, view: ReaderView) -> list[Quote]:
    """The passages that a search has found and that fit the question.

    Of files, the lines that share a word with it. Of articles, the passages that mention every name in it, headings
    included; or all of them, if they do so together.
    """
    said, hint = view.shows(call).said, 0.0
    if call[0] == "search_files":
        said = tuple(one for one in said if count_shared_words(one.text, topic_of(part, view)))
        hint = FILE_LINE_BONUS if "folder" in call[1] or IN_FILES.search(part) else 0.0
    else:
        asked = find_name_terms(part)
        spoken = {one: {*content_terms(f"{view.title(one.source)} {one.section} {one.text}")} for one in said}
        whole = tuple(one for one in said if asked <= spoken[one])
        said = whole or (said if asked <= set[str]().union(*spoken.values()) else ())
        hint = MIN_ANSWER_SCORE - NEAR_SCORE if about_thimble(part, view) else 0.0
    return [one if one.score == FULL_SCORE else replace(one, score=one.score + hint) for one in said]


def find_user_statements(part: str, view: ReaderView) -> list[Quote]:
    """The user's statements with enough words of a question to answer it; fewer, if it asks for the user's words."""
    least = NEAR_SCORE if ASKS_WHAT_USER_SAID.search(part) else MIN_ANSWER_SCORE
    return _best_sharing(part, view.statements, least) if FIRST_PERSON.search(part) else []


def find_remembered(part: str, view: ReaderView) -> list[Quote]:
    """Passages that were read or quoted, and have enough words of a question."""
    read = (one for act in view.acts if not act.name.startswith("search") for one in act.shows.said)
    named = find_paths(part, view)
    return _best_sharing(part, [one for one in (*read, *view.own) if not named or one.path in named], NEAR_SCORE)


def needs_no_search(part: str, view: ReaderView) -> bool:
    """Whether a question needs no search: the user said it, or a passage read or quoted has all its words."""
    if ASKS_WHAT_USER_SAID.search(part) or find_user_statements(part, view):
        return True
    vague = needs_context(view.question) or len(set(content_terms(part))) < 3
    return not vague and best_score(find_remembered(part, view)) == FULL_SCORE


def _best_sharing(part: str, said: Iterable[Quote], least: float) -> list[Quote]:
    """The two quotes with most words of a question, at least this share; each scores as an answer."""
    asked = set(content_terms(part))
    shares = {one: count_shared_words(f"{one.section} {one.text}", part) / len(asked or "x") for one in said}
    best = sorted(shares, key=lambda one: -shares[one])[:2]
    return [replace(one, score=max(shares[one], MIN_ANSWER_SCORE)) for one in best if shares[one] >= least]


def earlier_question(part: str, view: ReaderView) -> str:
    """The context for the search of a follow-up: the question and the articles of the exchange before.

    The articles are the one that it cites, and the first two that it found. For a pronoun in a whole question, the
    context is only the articles.
    """
    asked = (
        next((one for one in reversed(view.earlier) if not is_statement(one)), "")[:300]
        if needs_context(view.question)
        else ""
    )
    found = next(
        (act.shows.said[:2] for act in reversed(view.acts) if not act.current and act.shows.form == "hits"), ()
    )
    articles = dict.fromkeys(filter(None, [view.at_hand, *(one.source for one in found)]))
    return " ".join(filter(None, [asked, *(f"[{slug}]" for slug in articles if asked or has_pronoun(part))]))


def about_thimble(part: str, view: ReaderView) -> bool:
    """Whether a question is about thimble itself: by its form, or as a follow-up to an answer that was."""
    return bool(ASKS_OF_THIMBLE.search(view.question)) or f"[{MANUAL_SLUG}" in earlier_question(part, view)


def find_name_terms(part: str) -> set[str]:
    """The terms of the names in a question: words with a capital letter that does not only begin a sentence."""
    asked = " ".join([one for one in split_sentences(part) if one.endswith("?")] or [part])
    return {term for name in NAME.findall(asked) if name not in COMMON_NAMES for term in content_terms(name)}


def best_run(text: str, part: str, most: int) -> str:
    """The sentences in a row with most words of a question, of at most `most` words; one sentence in any case."""
    said = split_sentences(text)
    runs = (said[start:end] for start, end in combinations(range(len(said) + 1), 2))
    short = [" ".join(run) for run in runs if len(run) == 1 or len(" ".join(run).split()) <= most]
    return max(short, key=lambda run: (count_shared_words(run, part), len(run)), default=text)


def count_shared_words(text: str, part: str) -> int:
    """How many words of a question a text has."""
    return len(set(content_terms(part)) & set(content_terms(text)))


def cite_passages(said: Iterable[Quote], between: str = "\n\n") -> str:
    """The passages, a paragraph each, followed by its citation, or after `You said`."""
    return between.join(
        f"You said: “{one.text}”" if one.source == USER else f"{one.text} [{one.source}]".removesuffix(" []")
        for one in said
    )
