"""The view as the reader sees it: the question, the calls made so far, and what their results still show."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent.messages import Message, ToolCall
from agent.prompts import CLOSING, SUMMARY_TAG
from corpus.markdown import sentences
from models.reader.lines import Lines
from models.reader.references import read_back
from models.reader.results import CITED, NAMED, USER, Entry, Result, Said, own, result_of

GONE = Result("gone", whole=False)
ASKS = re.compile(
    r"\?|\b(?:how|what|which|who|whose|when|where|why|whether|should|could|can|please|tell|show|give|explain|read|find|"
    r"list|compare|summari[sz]e|search|note|remember|let['’]?s|any (?:way|idea)|worth)\b"
    r"|[.!,;:]\s+(?:is|are|do|does|did|has|have|will|would)\b",
    re.IGNORECASE,
)
REQUESTS = re.compile(
    r".*\?|\W*(?:(?:and|now|then|next|first|please|ok|okay|also|so|can you|could you)\W+)*(?:how|what|which|"
    r"who|when|where|why|tell|show|give|explain|read|find|list|compare|summari[sz]e|search|note|remember|let['’]?s|"
    r"one more|back to)\b",
    re.IGNORECASE,
)
"""A sentence that asks for something."""
CANNOT = "I cannot"
"""How an answer begins that declines."""
TOLD = re.compile(r"^(?:Those were lines [\d,]+ to|That was line) (?P<last>[\d,]{1,11}) of ", re.MULTILINE)
"""What an answer says of the lines that it quotes."""
STATEMENT = re.compile(r"^\W*(?:(?:\w+,? ){0,4}?)(?:i|we|my|our)\b", re.IGNORECASE)
"""The beginning of what users say of themselves."""


@dataclass(frozen=True, slots=True)
class Act:
    """A call that is in view, with what its result shows now. `current` is one made for the current question."""

    name: str
    arguments: Mapping[str, Any]
    shows: Result
    current: bool

    def text(self, argument: str) -> str:
        """An argument as text, "" where it is missing."""
        return str(self.arguments.get(argument, "")).strip()


@dataclass(frozen=True, slots=True)
class View:
    """What one call of the reader knows; it goes by nothing else.

    `told` is what the user stated, `own` what the reader said before; `entries` every article that is named, by slug.
    `listed` are the slugs of the newest list that the user was shown, in its order, and `read` those of the articles
    read, as often as they were read, both from before the question. `file` is the file that the newest answer with a
    source quotes, up to `line`; "" where that is an article. `thoughts` is what the reader said since the question.
    `fresh` are the results that no reply followed yet.
    """

    question: str
    earlier: tuple[str, ...]
    acts: tuple[Act, ...]
    told: tuple[Said, ...]
    own: tuple[Said, ...]
    entries: Mapping[str, Entry]
    listed: tuple[str, ...]
    read: tuple[str, ...]
    at_hand: str
    file: str
    line: int
    thoughts: tuple[Said, ...]
    fresh: tuple[Result, ...]

    def current(self, *names: str) -> list[Act]:
        """The calls of these tools that were made for the current question."""
        return [act for act in self.acts if act.current and act.name in names]

    def hidden(self, *names: str) -> bool:
        """Whether a call of these tools was made for the current question, and nothing that it gave is shown."""
        return any(not self.result(act.name, act.arguments) for act in self.current(*names))

    def reads(self, path: str) -> list[Act]:
        """The calls that read a file, the newest first."""
        return [act for act in reversed(self.acts) if act.name == "read_file" and act.text("path") == path]

    def page(self, path: str, line: int) -> Act | None:
        """The newest call whose result shows this line of a file, or the page where it would stand."""
        return next((act for act in self.reads(path) if act.shows.has(line)), None)

    def start(self, path: str, lines: Lines) -> int:
        """The first of these lines of a file; 0 where that hangs on its length, which nothing in view says."""
        if lines.start > 0:
            return lines.start
        if not lines.start:
            return self.line + 1 if path == self.file else 1
        length = max((act.shows.of for act in self.reads(path)), default=0)
        return length and max(1, length + lines.start + 1)

    def pages(self, slug: str) -> list[Result]:
        """What is still shown of an article."""
        return [act.shows for act in self.acts if act.shows.form == "page" and act.shows.entries[0].slug == slug]

    def made(self, name: str, arguments: Mapping[str, Any]) -> Iterator[Result]:
        """What the calls of just this tool with just these arguments show, the newest first."""
        return (act.shows for act in reversed(self.acts) if (act.name, dict(act.arguments)) == (name, dict(arguments)))

    def result(self, name: str, arguments: Mapping[str, Any]) -> Result | None:
        """What such a call shows, if anything of it is still shown."""
        return next((shows for shows in self.made(name, arguments) if shows.form != "gone"), None)

    def more(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The id by which `recall` shows all that such a call gave; "" if all is shown, or nothing says how."""
        last = (shows for shows in self.made(name, arguments) if shows.more or shows.form != "gone")
        return next(last, Result("gone")).more


def real_question(message: Message) -> bool:
    """Whether a message is the user's own words, and not a nudge or an inserted summary."""
    if message.role != "user" or is_summary(message):
        return False
    return CLOSING not in message.content and bool(message.content.strip())


def is_summary(message: Message) -> bool:
    """Whether a strategy put a message in: a summary or a recital."""
    return bool(message.why) and message.content.startswith(SUMMARY_TAG)


def states(text: str) -> bool:
    """Whether the words tell something of the user and ask nothing."""
    return bool(STATEMENT.match(text)) and not ASKS.search(text)


def look(messages: Sequence[Message]) -> View:
    """Everything that can be known from the messages."""
    messages = read_back(messages)
    asked = [index for index, message in enumerate(messages) if real_question(message)]
    start = asked[-1] if asked else len(messages)
    last = max((index for index, message in enumerate(messages) if message.role == "assistant"), default=0)
    spoken = [m for m in messages[:start] if m.role == "assistant" or is_summary(m)]
    answers = [m for m in spoken if not m.calls and not m.content.startswith(CANNOT)]
    told_before = (message.content for message in spoken if not message.content.startswith(CANNOT))
    own_words = tuple(dict.fromkeys(one for content in told_before for one in own(content)))
    slugs = tuple(slug for message in messages[:start] for slug in _read(message))
    file, line = _at(answers)
    return View(
        question=messages[start].content.strip() if asked else "",
        earlier=tuple(messages[index].content.strip() for index in asked[:-1]),
        acts=tuple(_acts(messages, start)),
        told=tuple(dict.fromkeys(_told(messages[:start]))),
        own=own_words,
        entries=_entries(messages),
        listed=_listed(messages[:start]),
        read=slugs or tuple(one.source for one in own_words if ":" not in one.source),
        at_hand=_at_hand(answers),
        file=file,
        line=line,
        thoughts=tuple(one for m in messages[start:] if m.role == "assistant" for one in own(m.content)),
        fresh=tuple(result_of(message) for message in messages[last:] if message.role == "tool"),
    )


def _acts(messages: Sequence[Message], start: int) -> Iterator[Act]:
    """Each call with its result: by id, and by position where ids are missing or doubled.

    A result that is recalled is that of the call which it came from.
    """
    copies: dict[str, Act] = {}
    for index, message in enumerate(messages):
        results = _results(messages, index) if message.calls else []
        for position, call in enumerate(message.calls):
            by_id = [result for result in results if call.id and result.call_id == call.id]
            found = by_id or results[position : position + 1]
            arguments, current = _arguments(call), index > start
            of = copies.get(str(arguments.get("id", ""))) if call.name == "recall" else None
            read_as = of or Act(call.name, arguments, Result("gone"), current)
            shows = result_of(found[0], read_as.name, read_as.text("path")) if found else GONE
            if call.name == "recall":
                shows = replace(shows, more="")  # to recall what was recalled brings nothing else
            if of and shows.form != "error":
                yield replace(of, shows=shows, current=current)
                shows = Result("gone", whole=shows.whole)
            act = Act(call.name, arguments, shows, current)
            if shows.more:
                copies[shows.more] = act
            yield act


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


def _told(messages: Sequence[Message]) -> Iterator[Said]:
    """What the user stated, in their own words or in a summary that has kept them."""
    for message in messages:
        if message.role == "user" and CLOSING not in message.content:
            for line in message.content.split("\n"):
                said = sentences(line.strip().removeprefix("- "))
                ours = any(STATEMENT.match(sentence) for sentence in said)
                yield from (Said(sentence, USER) for sentence in said if ours and not REQUESTS.match(sentence))


def _entries(messages: Sequence[Message]) -> dict[str, Entry]:
    """The articles by slug: with the titles that are shown, or the words of the slug where none is."""
    named: dict[str, Entry] = {}
    for message in messages:
        for slug in _read(message):
            named.setdefault(slug, Entry(slug, slug.replace("-", " ")))
        shown = result_of(message) if message.role == "tool" else Result("text")
        for entry in shown.entries if shown.form in ("page", "hits", "listing", "nothing") else ():
            named[entry.slug] = entry
        if message.role != "tool":
            named |= {one["slug"]: Entry(one["slug"], one["title"]) for one in NAMED.finditer(message.content)}
    return named


def _listed(messages: Sequence[Message]) -> tuple[str, ...]:
    """The articles of the newest list of two or more that the user was shown, or else that a tool gave."""
    for message in reversed(messages):
        if message.role == "assistant" or is_summary(message):
            slugs = [one["slug"] for one in NAMED.finditer(message.content)]
        else:
            shown = result_of(message) if message.role == "tool" else Result("text")
            slugs = [entry.slug for entry in shown.entries] if shown.form == "listing" else []
        if len(set(slugs)) > 1:
            return tuple(dict.fromkeys(slugs))
    return ()


def _at_hand(answers: Sequence[Message]) -> str:
    cited = (one for message in answers[-1:] for one in CITED.findall(message.content))
    return next((source for source in cited if ":" not in source), "")


def _at(answers: Sequence[Message]) -> tuple[str, int]:
    """The file that the newest answer with a source quotes, and the last of its lines there."""
    for message in reversed(answers):
        if cited := CITED.findall(message.content):
            path, _, line = cited[-1].rpartition(":")
            told = [*TOLD.finditer(message.content)]
            return path, int(told[-1]["last"].replace(",", "")) if told else int(line) if path else 0
    return "", 0


def _read(message: Message) -> list[str]:
    """The slugs of the articles that an assistant message asks to read, or that a summary names as read."""
    if is_summary(message):
        return [one["slug"] for one in reversed([*NAMED.finditer(message.content)])]
    calls = (_arguments(call) for call in message.calls if call.name == "read_article")
    return [str(arguments["slug"]).strip() for arguments in calls if arguments.get("slug")]
