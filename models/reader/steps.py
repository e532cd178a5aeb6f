"""Steps: the calls to make next, if any, for each kind of request.

The reader is asked again after each result. Each time it looks at what the view still shows, and makes the first calls
that would help and whose results are not in view; none of them twice for one question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.messages import Schema
from corpus.article import OPENING
from corpus.leaning import leans
from corpus.markdown import sentences
from models.reader.evidence import SURE, article, earlier, found, in_view, looked_up, note_text, readable, searched
from models.reader.lines import FEW, FIRST, Lines
from models.reader.request import IN_FILES, NO_FILE, OURS, SAID, Request
from models.reader.results import CERTAIN, Said
from models.reader.view import View

MOST_CALLS = 8
"""Calls for one question, after which the reader answers with what it has."""
FEWEST = 2
"""Results that a search gives where there is no room for more."""


@dataclass(frozen=True, slots=True)
class Step:
    """Calls that help, and why."""

    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    why: str


Plan = Iterator[Step]


def next_step(wanted: Request, view: View, tools: Sequence[Schema]) -> Step | None:
    """The calls to make now; None when it is time to answer."""
    offered = {function.get("name"): function for tool in tools if (function := tool.get("function"))}
    for step in PLANS.get(wanted.kind, _none)(wanted, view):
        calls = [(name, _taken(arguments, offered[name])) for name, arguments in step.calls if name in offered]
        made = [(act.name, dict(act.arguments)) for act in view.acts if act.current]
        if "recall" in offered:
            calls = [_recall(view, *call) or call for call in calls]
        new = tuple(
            (name, given) for name, given in calls if (name, given) not in made and not _shown(view, name, given)
        )
        if new and len(made) < MOST_CALLS:
            return Step(new, step.why)
    return None


def _taken(arguments: Mapping[str, Any], function: Mapping[str, Any]) -> dict[str, Any]:
    """Only those arguments that the tool takes."""
    takes = (function.get("parameters") or {}).get("properties")
    return {name: value for name, value in arguments.items() if takes is None or name in takes}


def _shown(view: View, name: str, arguments: Mapping[str, Any]) -> bool:
    return name != "get_notes" and view.result(name, arguments) is not None


def _recall(view: View, name: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The recall of all that a call gave, if the view does not show all of it, and there has been room for recalls."""
    recall = ("recall", {"id": view.more(name, arguments)})
    made = [act for act in view.acts if act.current and act.name == "recall"]
    room = all(act.shows.whole and dict(act.arguments) != recall[1] for act in made)
    return recall if recall[1]["id"] and room else None


def _none(wanted: Request, view: View) -> Plan:
    yield from ()


def _question(wanted: Request, view: View) -> Plan:
    """Search the articles for each question; then, where they have no sure answer, the files."""
    open_parts = [part for part in wanted.parts if not (SAID.search(part) or in_view(part, view))]
    for part in open_parts:
        within = tuple(("search_files", one) for one in looked_up(part, view) if "folder" in one)
        yield Step(within, "I will search the file.")
        if not found(part, view):
            for path in readable(part, view):
                yield from _lines(path, FIRST, view)
    open_parts = [part for part in open_parts if not (readable(part, view) or _certain(found(part, view)))]
    unsearched = [part for part in open_parts if not any(not shows.more for shows in searched(part, view))]
    searches = tuple(("search_articles", _with_earlier(part, wanted, view)) for part in unsearched)
    yield Step(searches, f"I will search the articles for {_quoted(unsearched)}.")
    yield _smaller_search(open_parts, view)
    alone = [one for part in open_parts if not found(part, view) for one in sentences(part) if one != part]
    yield Step(tuple(("search_articles", {"query": one}) for one in alone), "I will search for each sentence alone.")
    if weak := [part for part in open_parts if _weak(found(part, view), part)]:
        files = [(act.name, act.arguments) for act in view.acts if act.name == "read_file" and act.shows.more]
        looks = [("search_files", one) for part in weak for one in looked_up(part, view)]
        yield Step((*files, *looks), "I will look into the files too.")


def _with_earlier(part: str, wanted: Request, view: View) -> dict[str, Any]:
    """The arguments of the search for a part: with the article that is meant, or what the question leans on."""
    before = f"[{wanted.slug}]" if wanted.slug else earlier(view) if leans(part) else ""
    return {"query": part, "earlier": before} if before else {"query": part}


def _quoted(parts: Sequence[str]) -> str:
    return " and ".join(f"“{part}”" for part in parts)


def _certain(said: Sequence[Said]) -> bool:
    return bool(said) and said[0].score >= CERTAIN


def _weak(said: Sequence[Said], part: str) -> bool:
    return not said or said[0].score < SURE or bool(IN_FILES.search(part) or OURS.search(part))


def _list(wanted: Request, view: View) -> Plan:
    about = f" about {wanted.topic}" if wanted.topic else ""
    arguments = {"topic": wanted.topic} if wanted.topic else {}
    yield Step((("list_articles", arguments),), f"I will list the articles{about}.")


def _read(wanted: Request, view: View) -> Plan:
    """The article that is meant: named by title or place, else the first that is listed for the topic; then read."""
    unknown = not wanted.slug and wanted.topic
    if unknown and not wanted.paths and wanted.kind == "read" and not NO_FILE.search(wanted.text):
        yield Step((("list_files", {}),), "I will look whether that is a file.")
    if wanted.paths:
        yield from _lines(wanted.paths[0], wanted.lines, view)
        return
    if unknown:
        yield from _list(wanted, view)
    if slug := article(wanted, view):
        yield Step((("read_article", {"slug": slug}),), f"I will read the article {slug}.")
        if not view.pages(slug):
            opening = {"slug": slug, "section": OPENING}
            yield Step((("read_article", opening),), f"{slug} has no room; I will read how it begins.")


def _lines(path: str, lines: Lines, view: View) -> Plan:
    """The page of a file where the lines that are meant begin."""
    if not (start := view.start(path, lines)):
        yield Step((("read_file", {"path": path, "lines": 1}),), f"I will look how long {path} is.")
        return
    where = {"path": path, "start": start} if start > 1 else {"path": path}
    page = view.page(path, start)
    arguments = page.arguments if page else {**where, "lines": lines.many} if lines.many else where
    yield Step((("read_file", arguments),), f"I will read {f'on in {path}' if start > 1 else f'the file {path}'}.")
    if not (view.page(path, start) or view.result("read_file", arguments)):
        few = ("read_file", {**where, "lines": FEW})
        yield Step((few,), f"{path} has no room; I will read {FEW} lines.")


def _more(wanted: Request, view: View) -> Plan:
    slug = next(iter(reversed(view.read)), "")
    pages = view.pages(slug)
    last = max((page.last for page in pages), default=0)
    if slug and pages and last < pages[-1].of:
        step = ("read_article", {"slug": slug, "page": last + 1})
        yield Step((step,), f"I will read on in {slug}: page {last + 1} of {pages[-1].of}.")
    elif slug:
        yield Step((("read_article", {"slug": slug}),), f"I will read the article {slug}.")


def _compare(wanted: Request, view: View) -> Plan:
    searches = tuple(("search_articles", {"query": side}) for side in wanted.parts)
    yield Step(searches, f"I will search the articles for {_quoted(wanted.parts)}.")
    yield _smaller_search(wanted.parts, view)


def _smaller_search(parts: Sequence[str], view: View) -> Step:
    """The searches that had no room, with fewer results."""
    lost = [part for part in parts if not searched(part, view)]
    calls = tuple(("search_articles", {"query": part, "limit": FEWEST}) for part in lost)
    return Step(calls, "The results have no room; I will ask for fewer.")


def _files(wanted: Request, view: View) -> Plan:
    yield Step((("list_files", {}),), "I will list the files.")


def _notes(wanted: Request, view: View) -> Plan:
    yield Step((("get_notes", {}),), "I will look at the notes.")


def _note(wanted: Request, view: View) -> Plan:
    if not note_text(wanted, view):
        yield from _read(wanted, view)
    if text := note_text(wanted, view):
        title = wanted.topic or " ".join(text.split()[:6]).rstrip(".,;:")
        yield Step((("save_note", {"title": title[:80], "text": text}),), "I will save that as a note.")


PLANS: Mapping[str, Callable[[Request, View], Plan]] = {
    "question": _question,
    "list": _list,
    "count": _list,
    "read": _read,
    "summary": _read,
    "more": _more,
    "compare": _compare,
    "files": _files,
    "notes": _notes,
    "note": _note,
}
