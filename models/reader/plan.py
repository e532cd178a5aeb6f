"""Plans: what to read next, if anything, for each kind of question.

A plan is a generator of the calls that would help, the most useful first, which ends where enough is in view. Each
time the reader is asked it runs its plan from the start and makes the first call that it may: one that is offered,
that was not made for this question already, and whose result is not in view from before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent.messages import Schema
from corpus.words import ISO_DATE, spelled_dates
from models.reader.language import terms
from models.reader.match import article, side
from models.reader.note import note_text
from models.reader.question import Ask, Part
from models.reader.ranking import CLEAR, GOOD, SURE, Evidence
from models.reader.view import View

MOST_CALLS = (6, 9, 11)
"""Calls for a question of one, two and three parts, after which the reader answers with what it has."""
CHANGING = ("get_notes",)
"""Tools whose result from before the question may be out of date."""
AROUND = 12
"""Lines read before and after a line of a file."""
FEW = 3
"""Articles below which a list is made of a wider topic too."""


@dataclass(frozen=True, slots=True)
class Step:
    """A call that would help, why, and the part of the question that it serves."""

    name: str
    arguments: Mapping[str, Any]
    why: str
    part: Part


Plan = Iterator[Step]


def next_step(ask: Ask, evidence: Evidence, tools: Sequence[Schema]) -> Step | None:
    """The call to make now; None when it is time to answer."""
    offered = {function.get("name"): function for tool in tools if (function := tool.get("function"))}
    if sum(act.current for act in evidence.view.acts) >= MOST_CALLS[len(ask.parts) - 1]:
        return None
    steps = (_fitted(step, offered[step.name]) for step in _plan(ask, evidence) if step.name in offered)
    return next((step for step in steps if may_call(step, evidence.view)), None)


def may_call(step: Step, view: View) -> bool:
    """Whether the call is worth making: neither made for this question already nor its result in view from before."""
    slug = str(step.arguments.get("slug", ""))
    if step.arguments.get("section") and any(not page.section and page.pages == 1 for page in view.page(slug)):
        return False
    made = view.asked_for(step.name, step.arguments)
    return not any(act.current or step.name not in CHANGING for act in made)


def _fitted(step: Step, function: Mapping[str, Any]) -> Step:
    """The step with only those arguments that the tool takes."""
    takes = (function.get("parameters") or {}).get("properties")
    if takes is None:
        return step
    return replace(step, arguments={name: value for name, value in step.arguments.items() if name in takes})


def _plan(ask: Ask, evidence: Evidence) -> Plan:
    if ask.first:
        yield from _article(ask.first, evidence)
    yield from PLANS[ask.kind](ask, evidence)


def _search(part: Part) -> Step:
    return Step("search_articles", {"query": part.query}, f"I will search the articles for “{part.query}”.", part)


def _list_step(part: Part, topic: str) -> Step:
    about = f" about {topic}" if topic else ""
    return Step("list_articles", {"topic": topic} if topic else {}, f"I will list the articles{about}.", part)


def _read_step(slug: str, part: Part, section: str = "") -> Step:
    if section:
        why = f"I will read the section “{section}” of {slug}."
        return Step("read_article", {"slug": slug, "section": section}, why, part)
    return Step("read_article", {"slug": slug}, f"I will read the article {slug}.", part)


def _rest(slug: str, part: Part, evidence: Evidence) -> Plan:
    """The next page of an article of which a page is in view."""
    pages = [page for page in evidence.view.page(slug) if not page.section]
    last = max((page.page for page in pages), default=0)
    if pages and last < pages[-1].pages:
        why = f"I will read on in {slug}: page {last + 1} of {pages[-1].pages}."
        yield Step("read_article", {"slug": slug, "page": last + 1}, why, part)


def _read_now(slug: str, evidence: Evidence) -> bool:
    """Whether the article was read for this question; what was found there stays in the reader's own words."""
    acts = (act for act in evidence.view.acts if act.current and act.name == "read_article")
    return any(act.text("slug") == slug for act in acts)


def _chat(ask: Ask, evidence: Evidence) -> Plan:
    yield from ()


def _fact(ask: Ask, evidence: Evidence) -> Plan:
    for part in ask.parts:
        if part.told:
            if not evidence.ranked(part):
                yield from _notes(ask, evidence)
            continue
        if part.of_files and not (part.sure and part.focus):
            yield from _in_files(part, evidence)
        known = evidence.answers(part, SURE) or _answered_in_file(part, evidence) or _answered_in_focus(part, evidence)
        if not (part.lost or part.in_files or known):
            yield from _in_articles(part, evidence, whole=len(ask.parts) == 1)
        if part.words and not part.focus and len(ask.parts) == 1 and not evidence.best(part, GOOD):
            yield from _in_files(part, evidence)


def _in_articles(part: Part, evidence: Evidence, whole: bool) -> Plan:
    """The article that is meant, or else what search finds: its best sections, then perhaps the best article whole."""
    if part.sure and part.focus:
        for slug in part.focus:
            yield _read_step(slug, part)
            if not evidence.answers(part, GOOD):
                yield from _rest(slug, part, evidence)
        return
    yield _search(part)
    if evidence.answers(part, CLEAR):
        return
    near = evidence.near(part)
    for slug, section in near[:3]:
        yield _read_step(slug, part, section)
        if evidence.answers(part, GOOD):
            return
    for one in evidence.ranked(part)[: int(whole)]:
        if any(slug == one.sentence.source for slug, _ in near):
            yield _read_step(one.sentence.source, part)


def _answered_in_focus(part: Part, evidence: Evidence) -> bool:
    best = evidence.best(part, GOOD)
    return best is not None and best.sentence.source in part.focus


def _answered_in_file(part: Part, evidence: Evidence) -> bool:
    best = evidence.best(part, GOOD)
    return best is not None and best.sentence.in_file


def _in_files(part: Part, evidence: Evidence) -> Plan:
    """The files that are named, then the lines nearest to the question, then what stands around the best of them."""
    acts = evidence.view.acts
    files = [entry.slug for act in acts if act.shows.form == "files" for entry in act.shows.entries]
    for path in part.paths:
        whole = next((file for file in files if file == path or file.endswith(f"/{path}")), path)
        yield Step("read_file", {"path": whole}, f"I will read the file {whole}.", part)
        if not any(act.shows.form == "lines" and act.text("path") == whole for act in acts):
            yield Step("list_files", {}, "I will look which files there are.", part)
    enough = SURE if part.of_files else GOOD
    if not part.words or evidence.best(part, enough):
        return
    yield Step("search_files", {"query": part.query}, f"I will look for “{part.query}” in the files.", part)
    if evidence.best(part, enough):
        return
    if dated := _dated_file(part, evidence):
        yield Step("read_file", {"path": dated}, f"I will read the file {dated}.", part)
    for one in evidence.ranked(part)[: 2 if part.of_files else 1]:
        path, _, line = one.sentence.source.rpartition(":")
        if path and line.isdigit():
            around = {"path": path, "start": max(1, int(line) - AROUND), "lines": 2 * AROUND}
            yield Step("read_file", around, f"I will read around line {line} of {path}.", part)


def _dated_file(part: Part, evidence: Evidence) -> str:
    """The file that was found and has a date of the question in its name."""
    found = dict.fromkeys(one.sentence.title for one in evidence.ranked(part) if one.sentence.in_file)
    return next((path for path in found if (day := _day(path)) and day <= part.terms), "")


def _day(path: str) -> frozenset[str]:
    """Day and month of the date in a path, as the words of a question."""
    dates = ISO_DATE.findall(path)
    return terms(" ".join(spelled_dates(dates[0]).split()[1:3])) if dates else frozenset()


def _read(ask: Ask, evidence: Evidence) -> Plan:
    part = ask.part
    if part.paths:
        yield from _in_files(part, evidence)
    elif not part.lost:
        yield from _article(part, evidence, by_section="section" in ask.text.lower())


def _article(part: Part, evidence: Evidence, by_section: bool = False) -> Plan:
    """The article that is meant: found by its subject, else by what it says; then read, to its last page."""
    if by_section:
        yield _search(part)
    slug = article(part, evidence)
    if not slug and part.words:
        yield replace(_list_step(part, part.topic), why=f"I will look for an article about {part.topic}.")
        yield _search(part)
    if slug and not _read_now(slug, evidence):
        section = next((section for near, section in evidence.near(part) if near == slug), "") if by_section else ""
        yield _read_step(slug, part, section)
    elif slug:
        yield from _rest(slug, part, evidence)


def _more(ask: Ask, evidence: Evidence) -> Plan:
    """The next page of what was read last, or the article again where its text is gone: one reading."""
    slugs = ask.part.focus or (() if ask.part.words else evidence.view.read[-1:])
    if not slugs and ask.part.words:
        yield from _read(ask, evidence)
    for slug in slugs[:1]:
        if not _read_now(slug, evidence):
            yield from _rest(slug, ask.part, evidence)
            yield _read_step(slug, ask.part)


def _compare(ask: Ask, evidence: Evidence) -> Plan:
    """Each side's article, read now: its text is in view, or was in this exchange and its findings are.

    Where the sides are not the subjects of two articles, the passages that speak of both.
    """
    for part in ask.parts:
        if part.words and not side(ask, part, evidence):
            yield replace(_list_step(part, part.topic), why=f"I will look for an article about {part.topic}.")
    slugs = [side(ask, part, evidence) for part in ask.parts]
    if "" in slugs or len(set(slugs)) < len(slugs):
        yield _search(ask.whole)
        for slug, section in evidence.near(ask.whole)[:2]:
            if not all(evidence.answers(part, CLEAR) for part in ask.parts):
                yield _read_step(slug, ask.whole, section)
        return
    for part, slug in zip(ask.parts, slugs, strict=True):
        if not evidence.view.page(slug) and not (_read_now(slug, evidence) and evidence.of(slug)):
            yield _read_step(slug, part)


def _list(ask: Ask, evidence: Evidence) -> Plan:
    part = ask.part
    if not part.words:
        yield _list_step(part, "")
        return
    for topic in part.topics:
        yield _list_step(part, topic)
        if any(len(shown.entries) >= FEW for shown in evidence.lists(part)):
            return
    if not any(shown.entries for shown in evidence.lists(part)):
        yield _search(part)


def _mention(ask: Ask, evidence: Evidence) -> Plan:
    yield replace(_search(ask.part), arguments={"query": ask.part.query, "limit": 10})


def _files(ask: Ask, evidence: Evidence) -> Plan:
    yield Step("list_files", {}, "I will list the files.", ask.part)


def _notes(ask: Ask, evidence: Evidence) -> Plan:
    yield Step("get_notes", {}, "I will look at the notes.", ask.part)


def _note(ask: Ask, evidence: Evidence) -> Plan:
    """What is to be noted, where it is not said in the request or in view already; then the note."""
    if any(act.current and act.name == "save_note" for act in evidence.view.acts):
        return
    if not note_text(ask, evidence):
        yield from _read(ask, evidence)
    if text := note_text(ask, evidence):
        title = (ask.first or ask.part).topic or " ".join(text.split()[:6]).rstrip(".,;:")
        yield Step("save_note", {"title": title[:80], "text": text}, "I will save that as a note.", ask.part)


PLANS: Mapping[str, Callable[[Ask, Evidence], Plan]] = {
    "told": _chat,
    "chat": _chat,
    "fact": _fact,
    "read": _read,
    "summarise": _read,
    "more": _more,
    "compare": _compare,
    "list": _list,
    "count": _list,
    "mention": _mention,
    "files": _files,
    "notes": _notes,
    "note": _note,
}
