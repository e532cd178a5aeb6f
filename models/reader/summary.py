"""Summaries: what a strategy asks for when it folds old turns. Sentences are chosen for each section, not rewritten."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from agent.messages import Message, Schema
from agent.prompts import SUMMARY_TAG
from models.reader.results import Said, first_sentences
from models.reader.view import CANNOT, View, is_summary, look, real_question

HEADING = re.compile(r"^(?:#+ )?\**(?P<name>[A-Z][\w ,/&-]{0,40}?)\**:\**\s*(?P<rest>.*)$")
KINDS = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("asked", r"\b(?:ask|task|question|goal|aim|request|user|intent|want)"),
        ("open", r"\b(?:open|error|problem|pending|to ?do|next|unanswered|fail|wrong|missing|block)"),
        ("read", r"\b(?:read|source|article|file|material|visited|seen|document)"),
        ("found", r"\b(?:found|finding|fact|result|answer|learn|key|value|know|insight|conclusion|progress|done)"),
    )
)
PENDING, LISTED = "not answered yet: ", "listed only: "


@dataclass(frozen=True, slots=True)
class Wanted:
    """A summary as it is asked for: section names with what belongs there, and the most words it may have."""

    sections: tuple[tuple[str, str], ...]
    words: int


@dataclass
class Points:
    """The points for each kind of section, the most important first."""

    asked: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)


def asked_summary(messages: Sequence[Message], tools: Sequence[Schema]) -> Wanted | None:
    """What the last message asks for, when it asks for a summary in sections."""
    if tools or not messages or messages[-1].role != "user":
        return None
    _, line, rest = messages[-1].content.replace("\r\n", "\n").partition("\nSections:\n")
    names = re.findall(r"^- ([^:\n]+):[ \t]*(.*)$", rest, re.MULTILINE)
    if not line or not names:
        return None
    most = re.search(r"\bat most ([\d,]+) words\b", messages[-1].content)
    return Wanted(tuple(names), int(most[1].replace(",", "")) if most else 250)


def summary(messages: Sequence[Message], wanted: Wanted) -> str:
    """An extractive summary of the messages with just these sections, within the limit of words."""
    points = _points(messages)
    kinds = [_kind(name) or _kind(about) or "found" for name, about in wanted.sections]
    waiting = {kind: iter(getattr(points, kind)) for kind in kinds}
    chosen: list[list[str]] = [[] for _ in kinds]
    left = wanted.words - sum(len(name.split()) for name, _ in wanted.sections)
    for turn in range(2 * max(len(getattr(points, kind)) for kind in kinds)):
        for at, kind in enumerate(kinds):
            # Findings are what a summary is for: they get two places where the others get one.
            if kind == "found" or turn % 2 == 0:
                point = _within(next(waiting[kind], ""), left - 1, wanted.words)
                chosen[at] += [point] if point else []
                left -= len(point.split()) + 1 if point else 0
    return _laid_out(wanted, chosen, left)


def _laid_out(wanted: Wanted, chosen: Sequence[Sequence[str]], left: int) -> str:
    lines: list[str] = []
    for (name, _), points in zip(wanted.sections, chosen, strict=True):
        lines.append(f"{name}:")
        lines += [f"- {point}" for point in points]
        if not points and left >= 2:
            lines.append("- none")
            left -= 2
    return "\n".join(lines)


def _within(point: str, left: int, limit: int) -> str:
    """The point when it fits; a question or an uncited point may be cut, a citation never comes off its sentence."""
    words = point.split()
    if len(words) <= min(left, limit // 2):
        return point
    most = min(left, limit // 4)
    return " ".join(words[: most - 1]) + " …" if most > 4 and not point.endswith("]") else ""


def _kind(text: str) -> str:
    return next((kind for kind, pattern in KINDS if pattern.search(text)), "")


def _points(messages: Sequence[Message]) -> Points:
    """The newest points and those of an earlier summary by turns, so that neither crowds out the other."""
    view, earlier = look(messages), _earlier(messages)
    read_before = [point for point in earlier.read if not point.startswith(LISTED)]
    asked = list(dict.fromkeys(_line(message.content) for message in messages if real_question(message)))
    said = list(dict.fromkeys(_cited(sentence) for sentence in reversed(view.own)))
    return Points(
        asked=_by_turns([*asked[-1:], *asked[:1], *reversed(asked[1:-1])], earlier.asked),
        found=[*_by_turns(said, earlier.found), *(_cited(sentence) for sentence in _unsaid(view))],
        read=[*_by_turns([*_read(view), *_notes(messages)], read_before), *_listed(view, earlier.read)],
        open=_by_turns(_open(messages), earlier.open),
    )


def _by_turns(new: Sequence[str], old: Sequence[str]) -> list[str]:
    pairs = zip_longest(new, old)
    return list(dict.fromkeys(point for pair in pairs for point in pair if point))


def _earlier(messages: Sequence[Message]) -> Points:
    """The points of a summary that stands in the material, each with its kind."""
    points = Points()
    answered = any(message.role == "assistant" and not message.calls for message in messages)
    for message in messages:
        if is_summary(message):
            kind = "found"
            for line in message.content.removeprefix(SUMMARY_TAG).split("\n"):
                if heading := HEADING.match(line):
                    kind = _kind(heading["name"]) or "found"
                    line = heading["rest"]
                point = line.strip().removeprefix("- ").strip()
                if point and point != "none" and not (answered and point.startswith(PENDING)):
                    getattr(points, kind).append(point)
    return points


def _unsaid(view: View) -> list[Said]:
    """How each section begins that was read and not yet spoken of."""
    shown = [one for act in view.acts for one in act.shows.said if one.source]
    first = {(one.source, one.section): one for one in reversed(shown)}
    begun = dict.fromkeys(Said(first_sentences(first[place].text, 1), place[0]) for place in reversed(first))
    return [one for one in begun if not any(one.text in told.text for told in view.own)]


def _read(view: View) -> list[str]:
    """The articles and files that were read, the newest first."""
    titles = [f"“{view.entries[slug].title}” [{slug}]" for slug in reversed(_slugs(view)) if slug in view.entries]
    files = [act.text("path") for act in view.acts if act.name == "read_file"]
    return [*titles, *dict.fromkeys(filter(None, files))]


def _slugs(view: View) -> list[str]:
    """The articles read, before the newest question and since, in the order in which they were first read."""
    since = (act.text("slug") for act in view.acts if act.current and act.name == "read_article")
    return list(dict.fromkeys((*view.read, *since)))


def _listed(view: View, earlier: Sequence[str]) -> list[str]:
    """In one point the articles that were listed and not read."""
    before = (slug for point in earlier if point.startswith(LISTED) for slug in point.removeprefix(LISTED).split(", "))
    slugs = [slug for slug in dict.fromkeys((*before, *view.entries)) if slug not in _slugs(view)]
    return [LISTED + ", ".join(slugs)] if slugs else []


def _notes(messages: Sequence[Message]) -> list[str]:
    return [_line(m.content) for m in messages if m.role == "tool" and m.content.startswith("Saved note ")]


def _open(messages: Sequence[Message]) -> list[str]:
    """The question that has no answer yet, what could not be answered, and what went wrong."""
    found = []
    waiting = ""
    for message in messages:
        if real_question(message):
            waiting = message.content
        elif message.role == "assistant" and not message.calls:
            found += [f"not answered: {_line(waiting)}"] if waiting and message.content.startswith(CANNOT) else []
            waiting = ""
        elif message.role == "tool" and message.content.startswith("Error: "):
            found.append(_line(message.content.split("\n")[0]))
    return [*([f"{PENDING}{_line(waiting)}"] if waiting else []), *reversed(found)]


def _cited(sentence: Said) -> str:
    return f"{sentence.text} [{sentence.source}]"


def _line(text: str) -> str:
    return " ".join(text.split())
