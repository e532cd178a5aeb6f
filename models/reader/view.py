"""The view as the reader sees it: the question, the calls made so far, and every sentence that is still there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.messages import Message, ToolCall
from agent.prompts import CLOSING, SUMMARY_TAG
from corpus.markdown import sentences
from models.reader.language import stems
from models.reader.observation import TOLD, Entry, Observation, Sentence, observe, own_words
from models.reader.wording import STATEMENT


@dataclass(frozen=True, slots=True)
class Act:
    """A call that is in view, with what its result shows now. `current` is one made for the current question."""

    name: str
    arguments: Mapping[str, Any]
    shows: Observation
    current: bool

    def text(self, argument: str) -> str:
        """An argument as text, "" where it is missing."""
        return str(self.arguments.get(argument, "")).strip()


@dataclass(frozen=True, slots=True)
class View:
    """What one call of the reader knows; nothing else does it go by.

    `sentences` holds each sentence once, what the user stated among them; `own` what was said before; `entries` every
    article that is named, by slug. From before the question come `listed`, the newest list that the user was told, in
    its order; `found`, the newest that a tool gave; and `read`, the slugs of what was read, as often as it was read.
    `fresh` are the results that no reply has followed yet.
    """

    question: str
    earlier: tuple[str, ...]
    acts: tuple[Act, ...]
    sentences: tuple[Sentence, ...]
    own: tuple[Sentence, ...]
    entries: Mapping[str, Entry]
    listed: tuple[str, ...]
    found: tuple[str, ...]
    read: tuple[str, ...]
    fresh: tuple[Observation, ...]

    def page(self, slug: str) -> list[Observation]:
        """What is still shown of an article."""
        shown = (act.shows for act in self.acts if act.shows.form == "page")
        return [page for page in shown if page.entries[0].slug == slug]

    def asked_for(self, name: str, arguments: Mapping[str, Any]) -> list[Act]:
        """The calls of this exchange, and those still shown of others, with just this name and these arguments."""
        same = [act for act in self.acts if (act.name, dict(act.arguments)) == (name, dict(arguments))]
        return [act for act in same if act.current or act.shows.form != "gone"]


def real_question(message: Message) -> bool:
    """Whether a message is the user's own words, and not a nudge or an inserted summary."""
    if message.role != "user" or message.content.startswith(SUMMARY_TAG):
        return False
    return CLOSING not in message.content and bool(message.content.strip())


def look(messages: Sequence[Message]) -> View:
    """Everything that can be known from the messages."""
    asked = [index for index, message in enumerate(messages) if real_question(message)]
    start = asked[-1] if asked else len(messages)
    shown = [_shown(message) for message in messages]
    last = max((index for index, message in enumerate(messages) if message.role == "assistant"), default=0)
    return View(
        question=messages[start].content.strip() if asked else "",
        earlier=tuple(messages[index].content.strip() for index in asked[:-1]),
        acts=tuple(_acts(messages, start)),
        sentences=(*_distinct(shown), *_told(messages[:start])),
        own=tuple(sentence for one in shown if one.form == "own" for sentence in one.sentences),
        entries=_entries(messages, shown),
        listed=_list(shown[:start], "own"),
        found=_list(shown[:start], "listing", "hits"),
        read=tuple(slug for message in messages[:start] for slug in _read(message)) or _cited(shown[:start]),
        fresh=tuple(found for found, said in zip(shown[last:], messages[last:], strict=True) if said.role == "tool"),
    )


def _acts(messages: Sequence[Message], start: int) -> Iterator[Act]:
    """Each call with its result: by id, and by position where ids are missing or doubled."""
    for index, message in enumerate(messages):
        results = _results(messages, index) if message.calls else []
        for position, call in enumerate(message.calls):
            by_id = [result for result in results if call.id and result.call_id == call.id]
            found = by_id or results[position : position + 1]
            shows = observe(found[0].content) if found else Observation("gone")
            yield Act(call.name, _arguments(call), shows, index > start)


def _results(messages: Sequence[Message], index: int) -> list[Message]:
    found = []
    for message in messages[index + 1 :]:
        if message.role != "tool":
            break
        found.append(message)
    return found


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _shown(message: Message) -> Observation:
    if message.role == "tool":
        return observe(message.content)
    if message.role == "assistant" or message.content.startswith(SUMMARY_TAG):
        return own_words(message.content)
    return Observation("gone")


def _distinct(shown: Sequence[Observation]) -> tuple[Sentence, ...]:
    """Every sentence once; where it is shown twice, as it stands in the article, with its section."""
    known: dict[tuple[str, tuple[str, ...]], Sentence] = {}
    rank = {"listing": 0, "page": 1}
    for observation in sorted(shown, key=lambda one: rank.get(one.form, 2)):
        for sentence in observation.sentences:
            known.setdefault((sentence.source, stems(sentence.text)), sentence)
    return tuple(known.values())


def _told(messages: Sequence[Message]) -> Iterator[Sentence]:
    """What the user stated, in their own words or in a summary that has kept them."""
    texts = (message.content for message in messages if message.role == "user" and CLOSING not in message.content)
    lines = dict.fromkeys(line.strip().removeprefix("- ") for text in texts for line in text.split("\n"))
    for block, line in enumerate(lines):
        whole = STATEMENT.match(line)
        for sentence in sentences(line):
            if whole or STATEMENT.match(sentence):
                yield Sentence(sentence, section=TOLD, block=block)


def _entries(messages: Sequence[Message], shown: Sequence[Observation]) -> dict[str, Entry]:
    """The articles by slug: with the titles that are shown, or the words of the slug where none is."""
    slugs = (slug for message in messages for slug in _read(message))
    named = {slug: Entry(slug, slug.replace("-", " ")) for slug in slugs}
    for observation in shown:
        if observation.form in ("page", "hits", "listing", "own"):
            for entry in observation.entries:
                gist = entry.gist if observation.form != "hits" else ""
                old = named.get(entry.slug, entry)
                named[entry.slug] = Entry(entry.slug, entry.title, gist or old.gist)
    return named


def _list(shown: Sequence[Observation], *forms: str) -> tuple[str, ...]:
    """The newest list of two or more articles in one of these forms."""
    for observation in reversed(shown):
        slugs = tuple(dict.fromkeys(entry.slug for entry in observation.entries))
        if observation.form in forms and len(slugs) > 1:
            return slugs
    return ()


def _cited(shown: Sequence[Observation]) -> tuple[str, ...]:
    """The articles that were spoken of, for where no reading is in view any more."""
    spoken = (sentence.source for one in shown if one.form == "own" for sentence in one.sentences)
    return tuple(source for source in spoken if ":" not in source)


def _read(message: Message) -> list[str]:
    """The slugs of the articles that an assistant message asks to read, or that a summary names as read."""
    if message.content.startswith(SUMMARY_TAG):
        return [entry.slug for entry in reversed(own_words(message.content).entries)]
    calls = (_arguments(call) for call in message.calls if call.name == "read_article")
    return [str(arguments["slug"]).strip() for arguments in calls if arguments.get("slug")]
