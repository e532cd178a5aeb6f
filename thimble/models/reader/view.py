"""The view as the reader sees it: the question, the calls made so far, and what their results still show."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import Any

from thimble.agent.messages import Message, ToolCall
from thimble.agent.prompts import CLOSING, SUMMARY_TAG
from thimble.corpus.markdown import sentences
from thimble.corpus.observations import SLUG, USER, Quote, Result, read

I_CANNOT = "I cannot"
"""How an answer begins that declines."""
CLOSEST_PASSAGES = "I am no language model; the closest passages are:"
"""How a reply begins that shows passages instead of an answer."""
NOTHING_SHOWN = Result("gone", whole=False)
LEAD = (
    r"^\W*(?:(?:and|now|then|next|first|please|ok|okay|also|so|well|hi|hello|can you|could you|would you|i want you to|"
    r"i['’]d like you to|let us|let['’]s)\W+)*"
)
"""What may stand before a request."""
ASKS = re.compile(
    rf"\?|{LEAD}(?:how|what|which|who|when|where|why|tell|show|give|explain|read|find|list|compare|summari[sz]e|search|"
    r"note|remember|define|describe|back to|is|are|am|do|does|did|can|could|will|would|has|have)\b"
    r"|\b(?:how|what|which|whether|why|should|please|any (?:way|idea)|worth)\b"
    r"|\b(?:want|need|like) to (?:know|learn|understand|see)\b|[.!,;:]\s+(?:is|are|do|does|did|has|have|will|would)\b",
    re.IGNORECASE,
)
"""A sentence that asks for something."""
USER_STATES = re.compile(r"^\W*(?:(?:\w+,? ){0,4}?)(?:i|we|my|our)\b", re.IGNORECASE)
"""The beginning of what users say of themselves."""
CITATION = re.compile(rf"(?<!\w)\[({SLUG}|[^\[\]\s:]+:\d{{1,9}})\]")
"""What stands after a word without a blank is no citation: `web[2]`."""
NAMED_ARTICLE = re.compile(rf"“(?P<title>[^“”]+)” \[(?P<slug>{SLUG})\]")
"""An article as the reader names it."""
LED_IN = re.compile(r"^(?:(?:[-*•]|\d+[.)])\s+|Found: |Perhaps: )?(?:“[^“”]+”(?: — [^\[\]:]{0,200})?(?:: |$))?")
"""What stands before a quotation: the sign of a list, or its title."""


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines from `start` on, where 0 goes on after what was shown; `many` of them, or 0 where nothing says how many."""

    start: int = 1
    many: int = 0


@dataclass(frozen=True, slots=True)
class Act:
    """A call that is in view, with what its result shows now.

    `current` is one made for the newest question, `fresh` one whose result no reply followed yet.
    """

    name: str
    arguments: Mapping[str, Any]
    shows: Result
    current: bool
    fresh: bool = False

    def text(self, argument: str) -> str:
        """An argument as text, "" where it is missing."""
        return str(self.arguments.get(argument, "")).strip()


@dataclass(frozen=True, slots=True)
class ReaderView:
    """What one call of the reader knows; it goes by nothing else.

    `earlier` are the questions before `question`, `told` what the user stated in them. `own` is what the reader quoted
    before the newest question, `thoughts` what it quoted since. `titles` are those of the articles that are named, by
    slug. `at_hand` is the article that the newest answer cites, `file` the file that it quotes, up to `line`; "" where
    there is none.
    """

    question: str
    earlier: tuple[str, ...]
    acts: tuple[Act, ...]
    told: tuple[Quote, ...]
    own: tuple[Quote, ...]
    thoughts: tuple[Quote, ...]
    titles: Mapping[str, str]
    at_hand: str
    file: str
    line: int

    def current(self, *names: str) -> list[Act]:
        """The calls of these tools that were made for the newest question."""
        return [act for act in self.acts if act.current and act.name in names]

    def hidden(self, *names: str) -> bool:
        """Whether a call of these tools was made for the newest question, and nothing that it gave is shown."""
        return any(not self.result(act.name, act.arguments) for act in self.current(*names))

    def title(self, slug: str) -> str:
        """The title of an article; its slug where none is in view."""
        return self.titles.get(slug, slug)

    def page(self, path: str, line: int) -> Act | None:
        """The newest call whose result shows this line of a file, or the page where it would stand."""
        reads = (act for act in reversed(self.acts) if path in (act.text("path"), act.shows.head))
        return next((act for act in reads if act.shows.has(line)), None)

    def start(self, path: str, lines: LineRange) -> int:
        """The first of these lines of a file."""
        return lines.start or (self.line + 1 if path == self.file else 1)

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
        return next(last, NOTHING_SHOWN).more


def real_question(message: Message) -> bool:
    """Whether a message is the user's own words, and not a nudge or an inserted summary."""
    asked = message.role == "user" and not is_summary(message) and CLOSING not in message.content
    return asked and bool(message.content.strip())


def is_summary(message: Message) -> bool:
    """Whether a strategy put a message in: a summary or a recital."""
    return bool(message.why) and message.content.startswith(SUMMARY_TAG)


def states(text: str) -> bool:
    """Whether the words tell something of the user and ask nothing."""
    return bool(USER_STATES.match(text)) and not ASKS.search(text)


def look(messages: Sequence[Message]) -> ReaderView:
    """Everything that can be known from the messages."""
    asked = [index for index, message in enumerate(messages) if real_question(message)]
    start = asked[-1] if asked else len(messages)
    acts = tuple(_acts(messages, start))
    spoken = [m for m in messages[:start] if m.role == "assistant" or is_summary(m)]
    spoken = [message for message in spoken if not message.content.startswith(I_CANNOT)]
    quoted = tuple(dict.fromkeys(one for message in spoken for one in own(message.content)))
    cited = [message.content for message in spoken if not message.calls and CITATION.search(message.content)]
    sources = CITATION.findall(cited[-1]) if cited else [""]
    file, _, line = sources[-1].rpartition(":")
    return ReaderView(
        question=messages[asked[-1]].content.strip() if asked else "",
        earlier=tuple(messages[index].content.strip() for index in asked[:-1]),
        acts=acts,
        told=tuple(dict.fromkeys(_told(messages[:start]))),
        own=quoted,
        thoughts=tuple(one for m in messages[start:] if m.role == "assistant" for one in own(m.content)),
        titles=_titles(messages, acts),
        at_hand=next((source for source in sources if ":" not in source), ""),
        file=file,
        line=int(line) if file else 0,
    )


def _acts(messages: Sequence[Message], start: int) -> Iterator[Act]:
    """Each call with its result: by id, and by position where ids are missing or doubled.

    A result that is recalled is that of the call which it came from.
    """
    copies: dict[str, Act] = {}
    last = max((index for index, message in enumerate(messages) if message.role == "assistant"), default=0)
    for index, message in enumerate(messages):
        results = [*takewhile(lambda one: one.role == "tool", messages[index + 1 :])] if message.calls else []
        for position, call in enumerate(message.calls):
            by_id = [result for result in results if call.id and result.call_id == call.id]
            found = by_id or results[position : position + 1]
            act = Act(call.name, _arguments(call), NOTHING_SHOWN, index > start, index == last)
            of = copies.get(act.text("id")) if call.name == "recall" else None
            shows = _shown(found[0], of or act) if found else NOTHING_SHOWN
            if call.name == "recall":
                shows = replace(shows, more="")  # to recall what was recalled brings nothing else
            if of and shows.form != "error":
                yield replace(of, shows=shows, current=act.current, fresh=act.fresh)
                shows = replace(NOTHING_SHOWN, whole=shows.whole)
            act = replace(act, shows=shows)
            if shows.more:
                copies[shows.more] = act
            yield act


def _shown(message: Message, act: Act) -> Result:
    return read(message.content, act.name, act.text("path"), message.id if message.why else "")


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _told(messages: Sequence[Message]) -> Iterator[Quote]:
    """What the user stated, in their own words or in a summary that has kept them."""
    for message in messages:
        if message.role == "user" and CLOSING not in message.content:
            for line in message.content.split("\n"):
                said = sentences(line.strip().removeprefix("- "))
                ours = any(USER_STATES.match(sentence) for sentence in said)
                yield from (Quote(sentence, USER) for sentence in said if ours and not ASKS.search(sentence))


def _titles(messages: Sequence[Message], acts: Sequence[Act]) -> dict[str, str]:
    """The titles of the articles that are shown, by slug."""
    words = (message.content for message in messages if message.role != "tool")
    named = {one["slug"]: one["title"] for text in words for one in NAMED_ARTICLE.finditer(text)}
    shown = (act.shows.entries for act in acts if act.shows.form in ("page", "hits", "listing"))
    return named | {entry.slug: entry.title for entries in shown for entry in entries}


@lru_cache(maxsize=512)
def own(text: str) -> tuple[Quote, ...]:
    """What earlier words of the assistant, or a summary of them, still say: each run of sentences with its citation."""
    said: list[Quote] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        start = 0
        for cite in CITATION.finditer(line):
            run = LED_IN.sub("", line[start : cite.start()].lstrip(" .;,").rstrip(" ;,"))
            start = cite.end()
            said += [Quote(run, cite[1])] if run else []
    return tuple(said)
