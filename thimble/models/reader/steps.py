"""Steps: the calls to make next, if any, for each kind of request.

The reader is asked again after each result. Each time it looks at what the view still shows, and makes the first calls
that would help and whose results are not in view; none of them twice for one question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thimble.agent.messages import Schema
from thimble.corpus.article import OPENING
from thimble.corpus.manual import COMMANDS_PAGE
from thimble.corpus.markdown import sentences
from thimble.corpus.observations import CERTAIN, Quote
from thimble.models.reader.evidence import STRONG, WEAK, earlier, evidence, in_view, looked_up, readable, searched
from thimble.models.reader.request import (
    ARTICLE_WORDS,
    ASKS_OF_THIMBLE,
    ASKS_WHAT_USER_SAID,
    FIRST_PERSON,
    IN_FILES,
    TO_DO,
    WHAT,
    ReaderRequest,
)
from thimble.models.reader.view import LineRange, ReaderView

QUESTION_CALLS = 8
"""Calls for one question, after which the reader answers with what it has."""


@dataclass(frozen=True, slots=True)
class ReaderStep:
    """Calls that help, and why."""

    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    why: str


MORE_HITS = 12
"""The passages that are searched for more on the same."""
Plan = Iterator[ReaderStep]


def next_step(wanted: ReaderRequest, view: ReaderView, tools: Sequence[Schema]) -> ReaderStep | None:
    """The calls to make now; None when it is time to answer."""
    offered = {tool["function"].get("name") for tool in tools if "function" in tool}
    for step in PLANS[wanted.kind](wanted, view) if wanted.kind in PLANS else ():
        calls = [(name, dict(arguments)) for name, arguments in step.calls if name in offered]
        made = [(act.name, dict(act.arguments)) for act in view.acts if act.current]
        if "recall" in offered:
            calls = [_recall(view, *call) or call for call in calls]
        new = tuple(
            (name, given) for name, given in calls if (name, given) not in made and not view.result(name, given)
        )
        if new and len(made) < QUESTION_CALLS:
            return ReaderStep(new, step.why)
    return None


def _recall(view: ReaderView, name: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The recall of all that a call gave, if the view does not show all of it, and there has been room for recalls."""
    recall = ("recall", {"id": view.more(name, arguments)})
    made = [act for act in view.acts if act.current and act.name == "recall"]
    room = all(act.shows.whole and dict(act.arguments) != recall[1] for act in made)
    return recall if recall[1]["id"] and room else None


def _question(wanted: ReaderRequest, view: ReaderView) -> Plan:
    """Search the articles for each question; then, where they have no sure answer, the files."""
    parts = [part for part in wanted.parts if not (ASKS_WHAT_USER_SAID.search(part) or in_view(part, view))]
    pages = tuple(("search_articles", {"query": part, "earlier": COMMANDS_PAGE}) for part in parts)
    if ASKS_OF_THIMBLE.search(view.question):
        articles = tuple(("search_articles", {"query": part}) for part in parts)
        yield ReaderStep((*pages, *articles), "I will look into thimble's own pages, and into the articles.")
        return
    for part in parts:
        within = tuple(("search_files", one) for one in looked_up(part, view) if "folder" in one)
        yield ReaderStep(within, "I will search the file.")
        for path in readable(part, view) if not evidence(part, view).said else ():
            yield from _lines(path, LineRange(), view)
    parts = [part for part in parts if not (readable(part, view) or evidence(part, view).score >= CERTAIN)]
    unsearched = [
        part for part in parts if view.wants_more or not any(not shows.more for shows in searched(part, view))
    ]
    searches = tuple(("search_articles", _with_earlier(part, wanted, view)) for part in unsearched)
    yield ReaderStep(searches, f"I will search the articles for {' and '.join(f'“{part}”' for part in unsearched)}.")
    lost = tuple(("search_articles", {"query": part, "limit": 2}) for part in parts if not searched(part, view))
    yield ReaderStep(lost, "The results have no room; I will ask for fewer.")
    if (
        any(TO_DO.search(part) and not earlier(part, view) and evidence(part, view).score < STRONG for part in parts)
        and not view.wants_more
    ):
        yield ReaderStep(pages, "I will look into thimble's own pages too.")
    weak = [
        part
        for part in parts
        if evidence(part, view).score < WEAK or IN_FILES.search(part) or FIRST_PERSON.search(part)
    ]
    hidden = [(act.name, act.arguments) for act in view.acts if weak and act.name == "read_file" and act.shows.more]
    looks = [("search_files", one) for part in weak for one in looked_up(part, view)]
    yield ReaderStep((*hidden, *looks), "I will look into the files too.")


def _with_earlier(part: str, wanted: ReaderRequest, view: ReaderView) -> dict[str, Any]:
    """The arguments of the search for a part: with the article that is meant, or what the question leans on."""
    before = f"[{wanted.slug}]" if wanted.slug else earlier(part, view)
    most = {"limit": MORE_HITS} if view.wants_more else {}
    return {"query": part, **most, **({"earlier": before} if before else {})}


def _list(wanted: ReaderRequest, view: ReaderView) -> Plan:
    about = f" about {wanted.topic}" if wanted.topic else ""
    arguments = {"topic": wanted.topic} if wanted.topic else {}
    yield ReaderStep((("list_articles", arguments),), f"I will list the articles{about}.")


def _read(wanted: ReaderRequest, view: ReaderView) -> Plan:
    """The article that is meant: named by its title, else the first that is listed for the topic; then read."""
    unknown = not wanted.slug and wanted.topic
    if (
        unknown
        and not wanted.paths
        and not (re.search(rf"\b{ARTICLE_WORDS}\b", wanted.text, re.I) or WHAT.search(wanted.text))
    ):
        yield ReaderStep((("list_files", {}),), "I will look whether that is a file.")
    if wanted.paths:
        yield from _lines(wanted.paths[0], wanted.lines, view)
        return
    if unknown:
        yield from _list(wanted, view)
    if slug := article(wanted, view):
        yield ReaderStep((("read_article", {"slug": slug}),), f"I will read the article {slug}.")
        if not view.pages(slug):
            opening = {"slug": slug, "section": OPENING}
            yield ReaderStep((("read_article", opening),), f"{slug} has no room; I will read how it begins.")


def article(wanted: ReaderRequest, view: ReaderView) -> str:
    """The slug of the article that a request is about; "" if none is found."""
    reading = [act.text("slug") for act in view.current("read_article")]
    if wanted.slug:
        return wanted.slug
    if reading or not wanted.topic:
        return next(iter([*reading, *reversed(view.read)]), "")
    listed = view.result("list_articles", {"topic": wanted.topic})
    return listed.entries[0].slug if listed and listed.entries else ""


def _lines(path: str, lines: LineRange, view: ReaderView) -> Plan:
    """The page of a file where the lines that are meant begin."""
    start = view.start(path, lines)
    where = {"path": path, "start": start} if start > 1 else {"path": path}
    page = view.page(path, start)
    arguments = page.arguments if page else {**where, "lines": lines.many} if lines.many else where
    yield ReaderStep(
        (("read_file", arguments),), f"I will read {f'on in {path}' if start > 1 else f'the file {path}'}."
    )


def _on(wanted: ReaderRequest, view: ReaderView) -> Plan:
    """The next page of an article of which all was said; all of one that was quoted."""
    slug = view.at_hand or next(iter(reversed(view.read)), "")
    pages = view.pages(slug)
    last = max((page.last for page in pages), default=0)
    if slug and pages and last < pages[-1].of and not untold(view, slug):
        step = ("read_article", {"slug": slug, "page": last + 1})
        yield ReaderStep((step,), f"I will read on in {slug}: page {last + 1} of {pages[-1].of}.")
    elif slug:
        yield ReaderStep((("read_article", {"slug": slug}),), f"I will read the article {slug}.")


def _files(wanted: ReaderRequest, view: ReaderView) -> Plan:
    yield ReaderStep((("list_files", {}),), "I will list the files.")


def untold(view: ReaderView, slug: str) -> list[Quote]:
    """The sentences of an article that are in view and were not said yet."""
    pieces = dict.fromkeys(one for page in view.pages(slug) for one in page.said)
    every = dict.fromkeys(Quote(text, slug, one.section) for one in pieces for text in sentences(one.text))
    return [one for one in every if not any(one.text in told.text for told in view.own)]


PLANS: Mapping[str, Callable[[ReaderRequest, ReaderView], Plan]] = {
    "question": _question,
    "list": _list,
    "read": _read,
    "on": _on,
    "files": _files,
}
