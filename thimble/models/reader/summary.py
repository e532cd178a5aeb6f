"""Summaries for strategies that fold old turns: sentences are selected for each section, not rewritten."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from thimble.agent.messages import Message, Schema
from thimble.agent.prompts import SUMMARY_TAG
from thimble.corpus.markdown import first_sentences
from thimble.corpus.observations import Quote
from thimble.models.reader.evidence import cite_passages
from thimble.models.reader.view import I_CANNOT, ReaderView, is_summary, read_view, real_question

SUMMARY_HEADING = re.compile(r"^(?:#+ )?\**(?P<name>[A-Z][\w ,/&-]{0,40}?)\**:\**\s*(?P<rest>.*)$")
SECTION_KINDS = {
    "asked": r"(?i)\b(?:ask|task|question|goal|aim|request|user|intent|want)",
    "open": r"(?i)\b(?:open|error|problem|pending|state|to ?do|next|unanswered|fail|wrong|missing|block)",
    "read": r"(?i)\b(?:read|source|article|file|material|visited|seen|document)",
}
"""The kind of points in a section, by words of its name; by default `found`."""
PENDING = "not answered yet: "
POINT_WORDS = 60
"""Maximum words of a question or an error."""
Points = dict[str, list[str]]
"""The points of each kind, the most important first."""


def asked_summary(messages: Sequence[Message], tools: Sequence[Schema]) -> tuple[list[str], int] | None:
    """The names of the sections of the summary that the last message asks for, and its limit in words."""
    if tools or not messages or messages[-1].role != "user":
        return None
    asked, _, rest = messages[-1].content.replace("\r\n", "\n").partition("\nSections:\n")
    names = re.findall(r"^- ([^:\n]+):", rest, re.MULTILINE)
    most = re.search(r"\bat most ([\d,]+) words\b", asked)
    return (names, int(most[1].replace(",", "")) if most else 250) if names else None


def summarise(messages: Sequence[Message], sections: Sequence[str], most: int) -> str:
    """An extractive summary of the messages with just these sections, within the limit of words."""
    points = _points(messages)
    waiting = {kind: iter(said) for kind, said in points.items()}
    chosen: Points = {name: [] for name in sections}
    left = most - sum(len(name.split()) for name in sections)
    for turn in range(2 * max(map(len, points.values()))):
        for name, kind in zip(sections, map(_kind, sections), strict=True):
            # Findings matter most in a summary: they get two places for one of each other kind.
            point = next(waiting[kind], "") if kind == "found" or turn % 2 == 0 else ""
            if point and len(point.split()) < left:
                chosen[name].append(point)
                left -= len(point.split()) + 1
    lines: list[str] = []
    for name, said in chosen.items():
        none = ["none"] * (not said and left >= 2)
        lines += [f"{name}:", *(f"- {point}" for point in said or none)]
        left -= 2 * len(none)
    return "\n".join(lines)


def _kind(text: str) -> str:
    return next((kind for kind, pattern in SECTION_KINDS.items() if re.search(pattern, text)), "found")


def _points(messages: Sequence[Message]) -> Points:
    """The points of the messages and of an earlier summary among them."""
    view, earlier = read_view(messages), _earlier(messages)
    asked = [_line(message.content) for message in messages if real_question(message)]
    said = [cite_passages([one]) for one in reversed((*view.own, *view.thoughts))]
    both = filter(None, chain.from_iterable(zip_longest(said, earlier["found"])))  # neither crowds out the other
    points = {
        "asked": [*asked[-1:], *asked[:1], *reversed(asked[1:-1]), *earlier["asked"]],
        "found": [*both, *(cite_passages([one]) for one in _unquoted_openings(view)), *_listed(view)],
        "read": [*_read(view), *earlier["read"]],
        "open": [*_open(messages), *earlier["open"]],
    }
    return {kind: list(dict.fromkeys(said)) for kind, said in points.items()}


def _earlier(messages: Sequence[Message]) -> Points:
    """The points of the summaries among the messages."""
    points: Points = {kind: [] for kind in (*SECTION_KINDS, "found")}
    answered = any(message.role == "assistant" and not message.calls for message in messages)
    for message in filter(is_summary, messages):
        kind = "found"
        for line in message.content.removeprefix(SUMMARY_TAG).split("\n"):
            if heading := SUMMARY_HEADING.match(line):
                kind, line = _kind(heading["name"]), heading["rest"]
            point = line.strip().removeprefix("- ").strip()
            points[kind] += [point] * (point not in ("", "none") and not (answered and point.startswith(PENDING)))
    return points


def _unquoted_openings(view: ReaderView) -> list[Quote]:
    """The first sentence of each section in view that was not quoted yet."""
    shown = [one for act in view.acts for one in act.shows.said if one.source]
    first = {(one.source, one.section): one for one in reversed(shown)}
    begun = [Quote(first_sentences(one.text, 1), one.source) for one in reversed(first.values())]
    return [one for one in begun if not any(one.text in told.text for told in (*view.own, *view.thoughts))]


def _listed(view: ReaderView) -> Iterator[str]:
    """The names in each list in view, the newest first."""
    for act in reversed(view.acts):
        names = [one.slug for one in act.shows.entries] or [one.text.split(" ")[0] for one in act.shows.said[1:]]
        if act.shows.form in ("listing", "list") and names:
            yield f"listed: {', '.join(names)}"


def _read(view: ReaderView) -> list[str]:
    """The articles and files that were read, the newest first."""
    acts = [act for act in reversed(view.acts) if not act.name.startswith("search")]
    read = dict.fromkeys(one.path or one.source for act in acts for one in act.shows.said)
    return [f"“{view.titles[name]}” [{name}]" if name in view.titles else name for name in read if name]


def _open(messages: Sequence[Message]) -> list[str]:
    """The question without an answer yet, questions that could not be answered, and errors."""
    found, waiting = list[str](), ""
    for message in messages:
        text = _line(message.content)
        if real_question(message):
            waiting = text
        elif message.role == "tool" and text.startswith("Error: "):
            found.append(text)
        elif message.role == "assistant" and not message.calls and waiting:
            found += [f"not answered: {waiting}"] * text.startswith(I_CANNOT)
            waiting = ""
    return [*[f"{PENDING}{waiting}"] * bool(waiting), *reversed(found)]


def _line(text: str) -> str:
    """The text in one line, cut if it is long."""
    words = text.split()
    return " ".join(words[:POINT_WORDS]) + " …" * (len(words) > POINT_WORDS)
