"""Steps: the calls to make next, if any, for each kind of request.

The reader is asked again after each result. Each time it looks at what the view still shows, and makes the first calls
that would help and whose results are not in view; none of them twice for one question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from thimble.agent.messages import Schema
from thimble.corpus.article import OPENING
from thimble.corpus.manual import COMMANDS_PAGE
from thimble.corpus.markdown import sentences
from thimble.corpus.observations import CERTAIN, Quote
from thimble.models.reader.evidence import SURE, earlier, evidence, in_view, looked_up, readable, searched
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
Call = tuple[str, dict[str, Any]]
Step = tuple[str, Sequence[Call]]
"""Why calls help, and these."""


def next_step(wanted: ReaderRequest, view: ReaderView, tools: Sequence[Schema]) -> Step | None:
    """The calls to make now; None when it is time to answer."""
    offered = {tool["function"].get("name") for tool in tools if "function" in tool}
    made = [(act.name, dict(act.arguments)) for act in view.acts if act.current]
    if wanted.kind not in PLANS or len(made) >= QUESTION_CALLS:
        return None
    for why, helpful in PLANS[wanted.kind](wanted, view):
        calls = [call for call in helpful if call[0] in offered]
        if "recall" in offered:
            calls = [_recall(view, *call) or call for call in calls]
        if new := [call for call in calls if call not in made and not view.result(*call)]:
            return why, new
    return None


def _recall(view: ReaderView, name: str, arguments: Mapping[str, Any]) -> Call | None:
    """The recall of all that a call gave, if the view does not show all of it, and there has been room for recalls."""
    recall = {"id": view.more(name, arguments)}
    room = all(act.shows.whole and dict(act.arguments) != recall for act in view.current("recall"))
    return ("recall", recall) if recall["id"] and room else None


def _question(wanted: ReaderRequest, view: ReaderView) -> Iterator[Step]:
    """Search the articles for each question; then, where they have no sure answer, the files."""
    parts = [part for part in wanted.parts if not (ASKS_WHAT_USER_SAID.search(part) or in_view(part, view))]
    pages: list[Call] = [("search_articles", {"query": part, "earlier": COMMANDS_PAGE}) for part in parts]
    if ASKS_OF_THIMBLE.search(view.question):
        articles: list[Call] = [("search_articles", {"query": part}) for part in parts]
        yield "I will look into thimble's own pages, and into the articles.", [*pages, *articles]
        return
    for part in parts:
        yield "I will search the file.", [("search_files", one) for one in looked_up(part, view) if "folder" in one]
        for path in readable(part, view) if not evidence(part, view).said else ():
            yield _lines(path, LineRange(), view)
    parts = [part for part in parts if not (readable(part, view) or evidence(part, view).score >= CERTAIN)]
    unsearched = [part for part in parts if all(shows.more for shows in searched(part, view))]
    why = f"I will search the articles for {' and '.join(f'“{part}”' for part in unsearched)}."
    yield why, [("search_articles", _with_earlier(part, wanted, view)) for part in unsearched]
    lost: list[Call] = [("search_articles", {"query": part, "limit": 2}) for part in parts if not searched(part, view)]
    yield "The results have no room; I will ask for fewer.", lost
    unsure = [part for part in parts if evidence(part, view).score < SURE]
    if any(TO_DO.search(part) and not earlier(part, view) for part in unsure):
        yield "I will look into thimble's own pages too.", pages
    ours = [part for part in parts if part in unsure or IN_FILES.search(part) or FIRST_PERSON.search(part)]
    looks = [("search_files", one) for part in ours for one in looked_up(part, view)]
    reads = (act for act in view.acts if ours and act.name == "read_file" and act.shows.more)
    yield "I will look into the files too.", [*((act.name, dict(act.arguments)) for act in reads), *looks]


def _with_earlier(part: str, wanted: ReaderRequest, view: ReaderView) -> dict[str, Any]:
    """The arguments of the search for a part: with the article that is meant, or what the question leans on."""
    before = f"[{wanted.slug}]" if wanted.slug else earlier(part, view)
    return {"query": part, **({"earlier": before} if before else {})}


def _list(wanted: ReaderRequest, view: ReaderView) -> Iterator[Step]:
    about = f" about {wanted.topic}" if wanted.topic else ""
    yield f"I will list the articles{about}.", [("list_articles", {"topic": wanted.topic} if wanted.topic else {})]


def _read(wanted: ReaderRequest, view: ReaderView) -> Iterator[Step]:
    """The article that is meant: named by its title, else the first that is listed for the topic; then read."""
    unknown = not wanted.slug and wanted.topic
    in_articles = re.search(rf"\b{ARTICLE_WORDS}\b", wanted.text, re.I) or WHAT.search(wanted.text)
    if unknown and not wanted.paths and not in_articles:
        yield "I will look whether that is a file.", [("list_files", {})]
    if wanted.paths:
        yield _lines(wanted.paths[0], wanted.lines, view)
        return
    if unknown:
        yield from _list(wanted, view)
    if slug := article(wanted, view):
        yield f"I will read the article {slug}.", [("read_article", {"slug": slug})]
        if not view.pages(slug):
            opening = {"slug": slug, "section": OPENING}
            yield f"{slug} has no room; I will read how it begins.", [("read_article", opening)]


def article(wanted: ReaderRequest, view: ReaderView) -> str:
    """The slug of the article that a request is about; "" if none is found."""
    if wanted.slug:
        return wanted.slug
    if not wanted.topic:
        return view.at_hand
    listed = view.result("list_articles", {"topic": wanted.topic})
    reading = [act.text("slug") for act in view.current("read_article")]  # the list may be hidden again
    return reading[0] if reading else listed.entries[0].slug if listed and listed.entries else ""


def _lines(path: str, lines: LineRange, view: ReaderView) -> Step:
    """The page of a file where the lines that are meant begin."""
    start = view.start(path, lines)
    where = {"path": path, "start": start} if start > 1 else {"path": path}
    page = view.page(path, start)
    arguments = dict(page.arguments) if page else {**where, "lines": lines.many} if lines.many else where
    return f"I will read {f'on in {path}' if start > 1 else f'the file {path}'}.", [("read_file", arguments)]


def _on(wanted: ReaderRequest, view: ReaderView) -> Iterator[Step]:
    """The article at hand; the page of it that comes next if all of this one was said."""
    slug, pages = view.at_hand, view.pages(view.at_hand)
    if pages and not untold(view) and pages[-1].last < pages[-1].of:
        yield f"I will read on in {slug}.", [("read_article", {"slug": slug, "page": pages[-1].last + 1})]
    elif slug:
        yield f"I will read the article {slug}.", [("read_article", {"slug": slug})]


def untold(view: ReaderView) -> list[Quote]:
    """The sentences of the article at hand that are in view and were not said yet."""
    pieces = [one for page in view.pages(view.at_hand) for one in page.said]
    every = dict.fromkeys(Quote(text, view.at_hand, one.section) for one in pieces for text in sentences(one.text))
    return [one for one in every if not any(one.text in told.text for told in view.own)]


def _files(wanted: ReaderRequest, view: ReaderView) -> Iterator[Step]:
    yield "I will list the files.", [("list_files", {})]


PLANS: Mapping[str, Callable[[ReaderRequest, ReaderView], Iterator[Step]]] = {
    "question": _question,
    "list": _list,
    "read": _read,
    "on": _on,
    "files": _files,
}
