"""Summaries: what a strategy asks for when it folds old turns. Sentences are chosen for each section, not rewritten."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from thimble.agent.messages import Message, Schema
from thimble.agent.prompts import SUMMARY_TAG
from thimble.corpus.markdown import first_sentences
from thimble.corpus.observations import Quote
from thimble.models.reader.evidence import cite
from thimble.models.reader.view import I_CANNOT, ReaderView, is_summary, look, real_question

SUMMARY_HEADING = re.compile(r"^(?:#+ )?\**(?P<name>[A-Z][\w ,/&-]{0,40}?)\**:\**\s*(?P<rest>.*)$")
SECTION_KINDS = {
    "asked": re.compile(r"\b(?:ask|task|question|goal|aim|request|user|intent|want)", re.IGNORECASE),
    "open": re.compile(
        r"\b(?:open|error|problem|pending|to ?do|next|unanswered|fail|wrong|missing|block)", re.IGNORECASE
    ),
    "read": re.compile(r"\b(?:read|source|article|file|material|visited|seen|document)", re.IGNORECASE),
    "found": re.compile(
        r"\b(?:found|finding|fact|result|answer|learn|key|value|know|insight|progress|done)", re.IGNORECASE
    ),
}
"""What belongs into a section, by words of its name or of what is said of it."""
PENDING = "not answered yet: "

Points = dict[str, list[str]]
"""The points of each kind, the most important first."""


def asked_summary(messages: Sequence[Message], tools: Sequence[Schema]) -> tuple[list[tuple[str, str]], int] | None:
    """The sections of the summary that the last message asks for, each with what belongs there, and its most words."""
    if tools or not messages or messages[-1].role != "user":
        return None
    _, line, rest = messages[-1].content.replace("\r\n", "\n").partition("\nSections:\n")
    names = re.findall(r"^- ([^:\n]+):[ \t]*(.*)$", rest, re.MULTILINE)
    if not line or not names:
        return None
    most = re.search(r"\bat most ([\d,]+) words\b", messages[-1].content)
    return names, int(most[1].replace(",", "")) if most else 250


def summary(messages: Sequence[Message], sections: Sequence[tuple[str, str]], most: int) -> str:
    """An extractive summary of the messages with just these sections, within the limit of words."""
    points = _points(messages)
    kinds = [_kind(name) or _kind(about) or "found" for name, about in sections]
    waiting = {kind: iter(points[kind]) for kind in kinds}
    chosen: list[list[str]] = [[] for _ in kinds]
    left = most - sum(len(name.split()) for name, _ in sections)
    for turn in range(2 * max(map(len, points.values()))):
        for at, kind in enumerate(kinds):
            # Findings are what a summary is for: they get two places where the others get one.
            if kind == "found" or turn % 2 == 0:
                point = _within(next(waiting[kind], ""), left - 1, most)
                chosen[at] += [point] if point else []
                left -= len(point.split()) + 1 if point else 0
    lines: list[str] = []
    for (name, _), said in zip(sections, chosen, strict=True):
        none = ["- none"] if not said and left >= 2 else []
        lines += [f"{name}:", *(f"- {point}" for point in said), *none]
        left -= 2 * len(none)
    return "\n".join(lines)


def _within(point: str, left: int, limit: int) -> str:
    """The point when it fits; a question or an uncited point may be cut, a citation never comes off its sentence."""
    words = point.split()
    if len(words) <= min(left, limit // 2):
        return point
    most = min(left, limit // 4)
    return " ".join(words[: most - 1]) + " …" if most > 4 and not point.endswith("]") else ""


def _kind(text: str) -> str:
    return next((kind for kind, pattern in SECTION_KINDS.items() if pattern.search(text)), "")


def _points(messages: Sequence[Message]) -> Points:
    """The points of the messages and of an earlier summary among them."""
    view, earlier = look(messages), _earlier(messages)
    asked = [_line(message.content) for message in messages if real_question(message)]
    said = [cite([one]) for one in reversed([*view.own, *view.thoughts])]
    points = {
        "asked": [*asked[-1:], *asked[:1], *reversed(asked[1:-1]), *earlier["asked"]],
        "found": [*_by_turns(said, earlier["found"]), *(cite([one]) for one in _unsaid(view)), *_listed(view)],
        "read": [*_read(view), *earlier["read"]],
        "open": [*_open(messages), *earlier["open"]],
    }
    return {kind: list(dict.fromkeys(said)) for kind, said in points.items()}


def _by_turns(new: Sequence[str], old: Sequence[str]) -> Iterator[str]:
    """One of each in turn, so that neither crowds out the other."""
    return (point for pair in zip_longest(new, old) for point in pair if point)


def _earlier(messages: Sequence[Message]) -> Points:
    """The points of a summary that stands in the material."""
    points: Points = {kind: [] for kind in SECTION_KINDS}
    answered = any(message.role == "assistant" and not message.calls for message in messages)
    for message in filter(is_summary, messages):
        kind = "found"
        for line in message.content.removeprefix(SUMMARY_TAG).split("\n"):
            if heading := SUMMARY_HEADING.match(line):
                kind, line = _kind(heading["name"]) or "found", heading["rest"]
            point = line.strip().removeprefix("- ").strip()
            if point and point != "none" and not (answered and point.startswith(PENDING)):
                points[kind].append(point)
    return points


def _unsaid(view: ReaderView) -> list[Quote]:
    """How each section begins that is in view and was not yet spoken of."""
    shown = [one for act in view.acts for one in act.shows.said if one.source]
    first = {(one.source, one.section): one for one in reversed(shown)}
    begun = [Quote(first_sentences(one.text, 1), one.source) for one in reversed(first.values())]
    return [one for one in begun if not any(one.text in told.text for told in (*view.own, *view.thoughts))]


def _listed(view: ReaderView) -> Iterator[str]:
    """What each list in view names, the newest first."""
    for act in reversed(view.acts):
        names = [entry.slug for entry in act.shows.entries] or [one.text.split(" ")[0] for one in act.shows.said[1:]]
        if act.shows.form in ("listing", "list") and names:
            yield f"listed: {', '.join(names)}"


def _read(view: ReaderView) -> list[str]:
    """The articles and files that were read, the newest first."""
    slugs = dict.fromkeys(act.text("slug") for act in view.acts if act.name == "read_article")
    titles = [f"“{view.title(slug)}” [{slug}]" for slug in reversed(slugs) if slug in view.titles]
    files = [act.text("path") or act.text("name") for act in view.acts if act.shows.form == "lines"]
    return [*titles, *filter(None, files)]


def _open(messages: Sequence[Message]) -> list[str]:
    """The question that has no answer yet, what could not be answered, and what went wrong."""
    found = []
    waiting = ""
    for message in messages:
        if real_question(message):
            waiting = message.content
        elif message.role == "assistant" and not message.calls:
            found += [f"not answered: {_line(waiting)}"] if waiting and message.content.startswith(I_CANNOT) else []
            waiting = ""
        elif message.role == "tool" and message.content.startswith("Error: "):
            found.append(_line(message.content.split("\n")[0]))
    return [*([f"{PENDING}{_line(waiting)}"] if waiting else []), *reversed(found)]


def _line(text: str) -> str:
    return " ".join(text.split())
